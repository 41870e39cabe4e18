import ArgumentParser
import LogSync
import LogSyncModel

/// Brings a packaged database's rows in.
struct Seed: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "seed",
        abstract: "Bring the rows of a packaged database in, once for all peers.",
        discussion: """
            The same file seeded on several peers is one transaction, so its rows come once. They are older than everything
            else: no edit is beaten by them. Published with the next sync.

            EXAMPLE
              logsync seed music.db --from catalogue.db
            """)

    @Argument(help: "The store.", completion: .file())
    var store: String

    @Option(
        help: ArgumentHelp("The database to take the rows from; it is only read.", valueName: "file"),
        completion: .file())
    var from: String

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { session in
            let report = try await Progress.show("Seeding", in: session) { _ in
                try await session.open(store).seed(from: from)
            }
            try session.report(report) { lines(report) }
            return .done
        }
    }

    private func lines(_ report: SeedReport) -> [String] {
        let rows = report.rows.filter { $0.value > 0 }.sorted { $0.key < $1.key }
        let what = rows.map { "\($0.value.counted("row")) of \($0.key)" }.joined(separator: ", ")
        let line =
            if report.alreadySeeded {
                "The rows of \(report.from) are here already, as \(report.peer.name)."
            } else if what.isEmpty {
                "Seeded nothing from \(report.from): it has no rows for this store."
            } else {
                "Seeded \(what) from \(report.from), as \(report.peer.name)."
            }
        return [Terminal.printable(line)]
    }
}
