import ArgumentParser
import LogSync
import LogSyncModel

/// Merges small log files and deletes what may go.
struct Compact: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact",
        abstract: "Merge small log files, and delete those that nobody needs any more.",
        discussion: """
            A log file may go when a snapshot stands for it, every peer has said that it has it, in answer to having been
            asked, and it is older than the grace period. A peer that is silent keeps them: it is named, and 'logsync peers
            retire' does without it.

            EXAMPLE
              logsync compact music.db --dry-run
            """)

    @Argument(help: "The store.", completion: .file())
    var store: String

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How many days log files are kept at the least; 14 unless told.", valueName: "days"),
        transform: Days.parse)
    var grace = Days(14)

    @Flag(help: "Say what would be done, and do nothing.")
    var dryRun = false

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { session in
            let replicator = try await session.open(store)
            let report = try await replicator.compact(grace: .seconds(grace.days * 86400), dryRun: dryRun)
            if dryRun {
                try session.answer(report) { lines(report) }
            } else {
                try session.report(report) { lines(report) }
            }
            return .done
        }
    }

    private func lines(_ report: CompactReport) -> [String] {
        var table = TextTable(("ACTION", .left), ("FILE", .left), ("BYTES", .right), ("", .left))
        for file in report.files {
            table.add(file.action.rawValue, file.file, String(file.bytes), file.reason.sentence)
        }
        let verb = report.dryRun ? "would go" : "gone"
        let blocked = report.blockedBy.map {
            Terminal.styled("\(Terminal.printable($0.label)) has not said that it has everything.", .yellow)
        }
        return (report.files.isEmpty ? [] : table.lines) + blocked + report.lacks.lines
            + ["\(report.freed.counted("byte")) \(verb)."]
    }
}

extension CompactReport.Reason {
    /// For people.
    fileprivate var sentence: String {
        switch self {
        case .covered: "a snapshot stands for it, and everybody has it"
        case .contained: "a larger log file holds all of it"
        case .small: "there are many small ones"
        case .uncovered: "no snapshot stands for it"
        case .unacknowledged: "not everybody has said that it is there"
        case .young: "it is younger than the grace period"
        case .superseded: "a later snapshot has all of it"
        case .newest: "nothing else has all of it"
        case .spare: "should the newest come to harm"
        case .named: "a log, a snapshot or the outbox names it"
        case .unnamed: "nothing names it any more"
        case .needed: "log files are old enough to go"
        }
    }
}
