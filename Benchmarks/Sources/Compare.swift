import ArgumentParser
import Foundation

/// Measures plain SQLite, its session extension and logsync in turns, then folders, peers and daemons.
struct Compare: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measures plain SQLite, its session extension and logsync side by side.",
        discussion:
            "Example: Benchmarks/run --rows 20000 --rounds 3 --json. Ends with 1 where what was written is wrong.")

    enum Part: String, CaseIterable, ExpressibleByArgument { case rows, files, peers, watch, embedding }

    @Option(help: "How many rows.") var rows = 100_000
    @Option(help: "How many transactions of a single row.") var transactions = 10_000
    @Option(help: "How many rounds to take the median of.") var rounds = 5
    @Option(help: "How many files a quiet folder has.") var files = 100_000
    @Option(help: "How many peers a folder has of which two are active.") var peers = 1_000
    @Option(help: "For how many seconds to write at each rate while daemons run.") var seconds = 10.0
    @Option(help: "For how many seconds daemons idle.") var idle = 30.0
    @Option(help: "The logsync to run as a daemon.") var tool = ".build-bench/release/logsync"
    @Option(help: "Where to make the databases; a temporary folder where it is not given.") var folder: String?
    @Option(help: "Only this part; may be repeated.") var only: [Part] = []
    @Flag(help: "One JSON document instead of a table.") var json = false

    func validate() throws {
        guard rows >= 10, transactions >= 1, rounds >= 1, files >= 100, peers >= 2, seconds > 0, idle > 0 else {
            throw ValidationError(
                "There have to be at least 10 rows, 1 transaction, 1 round, 100 files, 2 peers and some seconds.")
        }
    }

    func run() async throws {
        var ledger = Ledger()
        if does(.rows) { try await compareRows(&ledger) }
        if does(.files) {
            say("A quiet folder of \(files) files")
            ledger.findings += try await withFolder(in: folder) {
                try await QuietFolder(files: files, folder: $0).run()
            }
        }
        if does(.peers) {
            say("\(peers) peers of which 2 are active")
            ledger.findings += try await withFolder(in: folder) {
                try await ManyPeers.compare(
                    peers, transactions: max(transactions / 5, 1), tool: tool, folder: $0)
            }
        }
        if does(.watch) {
            say("Two daemons")
            ledger.findings += try await withFolder(in: folder) {
                try WatchRound(tool: tool, folder: $0, seconds: seconds, idle: idle).run()
            }
        }
        if does(.embedding) {
            say("A program that embeds the library")
            ledger.findings += try await withFolder(in: folder) {
                try await EmbeddingRound(folder: $0, transactions: max(transactions / 10, 1)).run()
            }
        }
        let report = Report(ledger, rows: rows, transactions: transactions, rounds: rounds)
        print(try json ? report.json() : report.table(), terminator: json ? "\n" : "")
    }

    private func does(_ part: Part) -> Bool { only.isEmpty || only.contains(part) }

    private func compareRows(_ ledger: inout Ledger) async throws {
        let workload = Workload(rows: rows, transactions: transactions)
        for round in 1...rounds {
            say("Round \(round) of \(rounds)")
            var found = ledger
            try await withFolder(in: folder) { try ItemsRound(workload, folder: $0).run(&found) }
            try await withFolder(in: folder) { try KeysRound(rows: rows, folder: $0).run(&found) }
            try await withFolder(in: folder) { try ContestRound(workload, folder: $0).run(&found) }
            try await withFolder(in: folder) { try MixedRound(workload, folder: $0).run(&found) }
            ledger = found
        }
    }
}
