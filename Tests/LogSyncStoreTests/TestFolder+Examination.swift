import LogSyncSQLite

@testable import LogSyncStore

extension TestFolder {
    /// What `init` would say of a database that a program has made so.
    func examine(
        _ sql: String, in name: String = "app", _ change: (inout InitializePlan) -> Void = { _ in }
    ) throws -> FoundingReport {
        let path = path + "/\(name).db"
        let app = try TestPeer.open(path)
        defer { TestPeer.close(app) }
        try app.execute(sql)
        var plan = InitializePlan(content: "test", container: "/nowhere", peerName: "a")
        change(&plan)
        return try Store.examine(path, plan: plan, configuration: StoreConfiguration())
    }
}
