import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// Foreign keys that are not enforced, because no log says what a generated column holds.
@Suite struct GeneratedForeignKeyTests {
    @Test func keysWithGeneratedColumnsAreNamed() throws {
        let folder = try TestFolder()
        let peer = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE thing(id INTEGER PRIMARY KEY, type TEXT NOT NULL, UNIQUE(id, type));
                CREATE TABLE car(
                    sid INTEGER, type TEXT AS ('car') STORED, FOREIGN KEY(sid, type) REFERENCES thing(id, type));
                CREATE TABLE page(
                    doc TEXT, thing INTEGER AS (json_extract(doc, '$.thing')) REFERENCES thing,
                    plain INTEGER REFERENCES thing);
                """)
        let keys = try peer.store.health().generatedKeys.sorted { $0.child < $1.child }
        #expect(keys.map(\.child) == ["car", "page"])
        #expect(keys.map(\.generated) == [["type"], ["thing"]])
        #expect(keys.map(\.namesIntegers) == [false, true])

        let path = folder.path + "/again.db"
        let app = try TestPeer.open(path)
        defer { TestPeer.close(app) }
        for row in try peer.app.rows("SELECT sql FROM sqlite_master WHERE name IN ('thing', 'car', 'page')") {
            try app.execute(String(text: row[0]))
        }
        let plan = InitializePlan(content: "test", container: "/nowhere", peerName: "a")
        let warnings = try Store.examine(path, plan: plan, configuration: TestPeer.configuration(1)).warnings
        for key in keys {
            #expect(warnings.contains { $0.hasPrefix(key.child) && $0.contains(key.complaint) }, "\(warnings)")
        }
    }
}
