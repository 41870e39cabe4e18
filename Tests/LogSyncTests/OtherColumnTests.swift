import LogSync
import LogSyncModel
import Testing

/// Two peers that have followed one migration to different columns of one name.
@Suite("A column that is another one to other peers")
struct OtherColumnTests {
    private static let rebuild = """
        CREATE TABLE n(k TEXT PRIMARY KEY NOT NULL, text TEXT, v TEXT); INSERT INTO n SELECT k, note, v FROM t; DROP TABLE t;
        ALTER TABLE n RENAME TO t;
        """

    @Test("is told where its values had said that it was renamed, and others' had not", arguments: [true, false])
    func told(isChanged: Bool) async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, note TEXT, v TEXT); INSERT INTO t VALUES('1', 'n', 'v')")
        try await a.initialize()
        let b = try await world.clone("b")
        try b.execute(Self.rebuild + "INSERT INTO t VALUES('2', 'by b', 'v')")
        try await b.sync()
        try a.execute(Self.rebuild + (isChanged ? "UPDATE t SET text = 'other'" : ""))
        try await settle(a, b)
        let findings = try await Replicator.doctor(b.path, configuration: b.configuration).findings
        let other = findings.filter { $0.severity != .note }
        #expect(other.map(\.code) == (isChanged ? ["other-column"] : []))
        #expect(other.allSatisfy { $0.place.hasSuffix(": t.text") })
        let shown = try a.strings("SELECT text FROM t WHERE k = '2' AND text IS NOT NULL")
        #expect(shown == (isChanged ? [] : ["by b"]))
    }
}
