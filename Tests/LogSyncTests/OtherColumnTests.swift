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

    /// Where a program had written too few rows since for them to say anything, what the other peer has said is followed.
    @Test(
        "is told where its values had said that it was renamed, and others' had not",
        arguments: [(true, 8), (true, 7), (true, 1), (false, 1)])
    func told(isChanged: Bool, rows: Int) async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, note TEXT, v TEXT);"
                + (1...rows).map { "INSERT INTO t VALUES('a\($0)', 'n\($0)', 'v');" }.joined())
        try await a.initialize()
        let b = try await world.clone("b")
        try b.execute(Self.rebuild + "INSERT INTO t VALUES('b', 'by b', 'v')")
        try await b.sync()
        try a.execute(Self.rebuild + (isChanged ? "UPDATE t SET text = 'other'" : ""))
        try await settle(a, b)
        let findings = try await Replicator.doctor(b.path, configuration: b.configuration).findings
        let other = findings.filter { $0.severity != .note }
        let isOther = isChanged && rows > 7
        #expect(other.map(\.code) == (isOther ? ["other-column"] : []))
        #expect(other.allSatisfy { $0.place.hasSuffix(": t.text") })
        let shown = try a.strings("SELECT text FROM t WHERE k = 'b' AND text IS NOT NULL")
        #expect(shown == (isOther ? [] : ["by b"]))
    }
}
