import ArgumentParser
import LogSync

/// One step of replication for each of several stores: what `sync`, `import` and `export` have in common.
struct StepOptions: ParsableArguments {
    @Argument(help: "The stores.", completion: .file())
    var stores: [String]

    @OptionGroup var common: CommonOptions

    func run(_ title: String, _ step: @escaping @Sendable (Replicator) async throws -> SyncResult) async throws {
        let stores = stores
        try await common.run { session in
            let (results, status) = try await session.forEach(of: stores) { store in
                let result = try await Progress.show("\(title) \(store)", in: session) { _ in
                    try await step(session.open(store))
                }
                return (result, ExitStatus(result.outcome))
            }
            try session.report(SyncReport(stores: results)) { Self.lines(results) }
            return status
        }
    }

    private static func lines(_ results: [SyncResult]) -> [String] {
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
}
