import ArgumentParser
import LogSync
import LogSyncModel

/// Explains what is wrong and what to run.
struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Explain what is wrong with a store or a folder, and what to run.",
        discussion: """
            Looks at the database, at what logsync keeps in it, and at every file in the folder, and changes nothing.
            Ends with 0 where nothing is wrong, with 3 where something waits or wants to be done, with 4 where something is
            damaged. With --repair it does what the findings advise as far as that can lose nothing (a rescan, a sync, putting
            conflict copies in the place of files that are missing or damaged, deleting those of sound ones), tells each first,
            and looks again.

            EXAMPLE
              logsync doctor music.db
            """)

    @Argument(help: "The store; or a container, or a content folder in it.", completion: .file())
    var path: String

    @Flag(help: "Do what the findings advise, each told first.")
    var repair = false

    @Flag(help: "Of --repair: only say what would be done.")
    var dryRun = false

    @OptionGroup var common: CommonOptions

    func validate() throws {
        if dryRun, !repair {
            throw ValidationError("--dry-run goes with --repair; without it nothing is changed anyway.")
        }
    }

    func run() async throws {
        try await common.run { session in
            if repair { return try await repair(session) }
            let report = try await Progress.show("Examining", in: session) { _ in
                try await Replicator.doctor(path, configuration: session.configuration())
            }
            try session.answer(report) { lines(report) }
            return ExitStatus(report.outcome)
        }
    }

    private func repair(_ session: Session) async throws -> ExitStatus {
        let report = try await Replicator.repair(
            path, dryRun: dryRun, configuration: session.configuration()
        ) { repair in
            guard !session.isJSON, !session.isQuiet else { return }
            try Terminal.print(Terminal.printable(line(repair)))
        }
        try session.answer(report) { lines(report) }
        return ExitStatus(report.outcome)
    }

    private func line(_ repair: DoctorReport.Repair) -> String {
        let deed =
            switch repair.action {
            case .rescan: "logsync rescan \(repair.place.asShellArgument)"
            case .sync: "logsync sync \(repair.place.asShellArgument)"
            case .restore: "put \(repair.place) in the place of its original"
            case .remove: "delete \(repair.place)"
            }
        return "\(dryRun ? "would repair" : "repair"): \(deed) (\(repair.findings.joined(separator: ", ")))"
    }

    private func lines(_ report: DoctorReport) -> [String] {
        let isWell = report.outcome == .complete
        return (isWell ? [Terminal.printable("\(report.path): nothing is wrong.")] : [])
            + Finding.lines(report.findings)
    }
}

extension Finding {
    /// How many places are named of which the same is to be said.
    private static let places = 5

    /// For people: what, where, why, and what helps. What is true of many places is said once.
    static func lines(_ findings: [Finding]) -> [String] {
        let alike = Dictionary(grouping: findings, by: \.remark)
        var isSaid: Set<[String?]> = []
        return findings.flatMap { finding in
            guard let all = alike[finding.remark], all.count > places else { return finding.lines([finding.place]) }
            return isSaid.insert(finding.remark).inserted ? finding.lines(all.map(\.place)) : []
        }
    }

    /// All but the place.
    private var remark: [String?] { [code, severity.rawValue, what, why, help] }

    private func lines(_ found: [String]) -> [String] {
        let style: Terminal.Style = severity == .damage ? .red : severity == .trouble ? .yellow : .dim
        let head = Terminal.styled("\(severity.rawValue):", style)
        var lines = ["\(head) \(Terminal.printable(what))"]
        lines += found.prefix(Self.places).map { "  where: \(Terminal.printable($0))" }
        if found.count > Self.places {
            lines.append("         and \(found.count - Self.places) more, which --json lists")
        }
        lines.append("  why:   \(Terminal.printable(why))")
        if let help { lines.append("  help:  \(Terminal.printable(help))") }
        return lines
    }
}
