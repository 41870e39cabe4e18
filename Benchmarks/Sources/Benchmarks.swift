import ArgumentParser
import Foundation

/// Measures plain SQLite, its session extension and logsync in turns, and checks what they wrote.
@main
struct Benchmarks: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logsync-benchmarks",
        abstract: "Measures plain SQLite, its session extension and logsync side by side.",
        discussion:
            "Example: Benchmarks/run --rows 20000 --rounds 3 --json. Ends with 1 where what was written is wrong.")

    @Option(help: "How many rows.") var rows = 100_000
    @Option(help: "How many transactions of a single row.") var transactions = 10_000
    @Option(help: "How many rounds to take the median of.") var rounds = 5
    @Option(help: "Where to make the databases; a temporary folder where it is not given.") var folder: String?
    @Flag(help: "One JSON document instead of a table.") var json = false

    func validate() throws {
        guard rows >= 10, transactions >= 1, rounds >= 1 else {
            throw ValidationError("There have to be at least 10 rows, 1 transaction and 1 round.")
        }
    }

    func run() throws {
        let workload = Workload(rows: rows, transactions: transactions)
        var ledger = Ledger()
        for round in 1...rounds {
            FileHandle.standardError.write(Data("Round \(round) of \(rounds)\n".utf8))
            try withFolder { try ItemsRound(workload, folder: $0).run(&ledger) }
            try withFolder { try KeysRound(rows: rows, folder: $0).run(&ledger) }
        }
        let report = Report(ledger, rows: rows, transactions: transactions, rounds: rounds)
        print(try json ? report.json() : report.table(), terminator: json ? "\n" : "")
    }

    private func withFolder(_ body: (String) throws -> Void) throws {
        let path = (folder ?? NSTemporaryDirectory()) + "/logsync-bench-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(path)
    }
}
