import ArgumentParser
import LogSync

/// One step of replication for each of several stores: what `sync`, `import` and `export` have in common.
///
/// Each declares its options itself: where the argument parser is built for debugging, it makes a group within a group sixteen
/// times for each time that it is asked for, which took more than half of what a `sync` did.
protocol StepCommand: AsyncParsableCommand {
    var stores: [String] { get }
    var common: CommonOptions { get }
}

extension StepCommand {
    func run(_ title: String, _ step: @escaping @Sendable (Replicator) async throws -> SyncResult) async throws {
        let stores = stores
        try await common.run { session in
            let (results, status) = try await session.forEach(of: stores) { store in
                let result = try await Progress.show("\(title) \(store)", in: session) { _ in
                    try await step(session.open(store))
                }
                return (result, ExitStatus(result.outcome))
            }
            try session.report(SyncReport(stores: results)) { stepLines(results) }
            return status
        }
    }
}

private func stepLines(_ results: [SyncResult]) -> [String] {
    guard !results.isEmpty else { return [] }
    var table = TextTable(
        ("STORE", .left), ("RECORDED", .right), ("PUBLISHED", .right), ("IMPORTED", .right), ("HELD", .right))
    for result in results {
        table.add(
            result.store, String(result.recorded), String(result.published), String(result.imported),
            String(result.held.count))
    }
    return table.lines + results.flatMap { $0.held.map(\.line) }
}
