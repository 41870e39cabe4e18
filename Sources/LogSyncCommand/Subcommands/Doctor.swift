import ArgumentParser
import LogSync

/// Explains what is wrong and what to run.
struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Explain what is wrong with a store or a folder, and what to run.",
        discussion: """
            Looks at the database, at what logsync keeps in it, and at every file in the folder, and changes nothing.
            Ends with 0 where nothing is wrong, with 3 where something waits or wants to be done, with 4 where something is
            damaged.

            EXAMPLE
              logsync doctor music.db
            """)

    @Argument(help: "The store; or a container, or a content folder in it.")
    var path: String

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { session in
            let report = try await Progress.show("Examining", in: session) { _ in
                try await Replicator.doctor(path, configuration: session.configuration())
            }
            try session.answer(report) { lines(report) }
            return ExitStatus(report.outcome)
        }
    }

    private func lines(_ report: DoctorReport) -> [String] {
        let isWell = report.outcome == .complete
        return (isWell ? [Terminal.printable("\(report.path): nothing is wrong.")] : [])
            + report.findings.flatMap(\.lines)
    }
}

extension Finding {
    /// For people: what, where, why, and what helps.
    var lines: [String] {
        let style: Terminal.Style = severity == .damage ? .red : severity == .trouble ? .yellow : .dim
        let head = Terminal.styled("\(severity.rawValue):", style)
        var lines = ["\(head) \(Terminal.printable(what))", "  where: \(Terminal.printable(place))"]
        lines.append("  why:   \(Terminal.printable(why))")
        if let help { lines.append("  help:  \(Terminal.printable(help))") }
        return lines
    }
}
