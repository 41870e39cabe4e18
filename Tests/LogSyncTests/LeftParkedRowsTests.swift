import Foundation
import LogSync
import LogSyncModel
import Testing

/// What programs have committed and no table has, when a store leaves.
@Suite("Parked rows of a store that leaves")
struct LeftParkedRowsTests {
    private func parked() async throws -> Machine {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, tag TEXT UNIQUE, n INTEGER, b BLOB);
            CREATE TABLE c(id INTEGER PRIMARY KEY, t INTEGER REFERENCES t(id), x TEXT)
            """)
        try await a.initialize()
        let b = try await world.clone("b")
        try a.execute("INSERT INTO t(tag, n) VALUES('k', 1)")
        try await a.sync()
        try b.execute(
            "INSERT INTO t(tag, n, b) VALUES('k', 2, x'00ff'); INSERT INTO c(t, x) SELECT id, 'child' FROM t WHERE tag = 'k'"
        )
        try await settle(b, a, b)
        try #require(try b.strings("SELECT x FROM c").isEmpty)
        return b
    }

    private func rows(_ path: String) throws -> [String: [String: Any]] {
        let document = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path)))
        let parked = try #require((document as? [String: Any])?["parked"] as? [[String: Any]])
        return Dictionary(
            uniqueKeysWithValues: parked.compactMap { row in
                (row["table"] as? String).flatMap { table in (row["row"] as? [String: Any]).map { (table, $0) } }
            })
    }

    @Test("are in a file beside the database, which nothing takes the place of")
    func file() async throws {
        let b = try await parked()
        let path = b.path + "-parked.json"
        let other = Data("another file".utf8)
        try other.write(to: URL(fileURLWithPath: path))
        let prospect = try await b.with { try await $0.leave(dryRun: true) }
        #expect(prospect.parked == 2)
        #expect(prospect.parkedFile == b.path + "-parked-2.json")
        #expect(!FileManager.default.fileExists(atPath: b.path + "-parked-2.json"))
        let report = try await b.with { try await $0.leave() }
        #expect(report.parkedFile == b.path + "-parked-2.json")
        let rows = try rows(try #require(report.parkedFile))
        #expect(rows["t"]?["tag"] as? String == "k")
        #expect(rows["t"]?["n"] as? Int == 2)
        #expect(rows["t"]?["b"] as? [String: String] == ["base64": "AP8="])
        #expect(rows["c"]?["x"] as? String == "child")
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == other)
        #expect(try b.strings("SELECT n || '' FROM t") == ["1"])
    }

    @Test("keep the store from leaving where they can be kept nowhere")
    func noRoom() async throws {
        let b = try await parked()
        // It would be written there first.
        try FileManager.default.createDirectory(
            atPath: b.path + "-parked.json.tmp", withIntermediateDirectories: true)
        await #expect {
            try await b.with { _ = try await $0.leave() }
        } throws: { error in
            (error as? LogSyncError)?.code == .ioError
        }
        #expect(try await b.status().parked == 2)
        try FileManager.default.removeItem(atPath: b.path + "-parked.json.tmp")
        #expect(try await b.with { try await $0.leave() }.parkedFile == b.path + "-parked.json")
    }
}
