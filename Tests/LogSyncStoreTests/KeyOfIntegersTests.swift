import LogSyncModel
import Testing

@testable import LogSyncStore

/// Tables whose integers were each peer's own, and that are made anew so that their integers are keys.
@Suite struct KeyOfIntegersTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    struct Form: CustomTestStringConvertible {
        var reference: String
        var isSetting = false
        var table = "(id INTEGER PRIMARY KEY, n TEXT) WITHOUT ROWID"
        var testDescription: String { reference + table }

        var migration: String {
            """
            BEGIN; CREATE TABLE n\(table); INSERT INTO n SELECT * FROM p; DROP TABLE p; ALTER TABLE n RENAME TO p; COMMIT;
            """
        }
    }

    private static let forms = [
        Form(reference: "REFERENCES p"), Form(reference: "REFERENCES p(id)"), Form(reference: "", isSetting: true),
        Form(reference: "REFERENCES p", table: "(id BIGINT NOT NULL PRIMARY KEY, n TEXT)"),
    ]

    private func named(_ peer: TestPeer) throws -> [String] {
        try peer.strings("SELECT x, p.n FROM t LEFT JOIN p ON p.id = t.p ORDER BY 1")
    }

    /// On each of the two, a row has got an integer that is another row's on the other.
    private func pair(_ reference: String, isSetting: Bool) throws -> (TestPeer, TestPeer) {
        let schema = """
            CREATE TABLE p(id INTEGER PRIMARY KEY, n TEXT); CREATE TABLE t(id INTEGER PRIMARY KEY, p INTEGER \(reference), x);
            INSERT INTO p VALUES(1, 'one'), (2, 'two'); INSERT INTO t VALUES(1, 1, 'one'), (2, 2, 'two');
            """
        let a = try TestPeer(folder, "a", sql: schema) { plan in
            if isSetting { plan.references = [("t", "p", "p")] }
        }
        let b = try TestPeer(folder, "b", cloning: a)
        for peer in [a, b] {
            try peer.write(
                """
                INSERT INTO p(n) VALUES('\(peer.name)');
                INSERT INTO t(p, x) VALUES(last_insert_rowid(), '\(peer.name)')
                """)
        }
        try agree(a, b)
        #expect(try a.strings("SELECT id FROM p WHERE n = 'a'") != b.strings("SELECT id FROM p WHERE n = 'a'"))
        return (a, b)
    }

    @Test(arguments: forms, [true, false])
    func whatRefersToARowGoesOnDoingSo(form: Form, seesOther: Bool) throws {
        let (a, b) = try pair(form.reference, isSetting: form.isSetting)
        try a.write(form.migration)
        try a.write("INSERT INTO p VALUES(20, 'later a'); INSERT INTO t(p, x) VALUES(20, 'later a')")
        let ofB = "INSERT INTO p(n) VALUES('later b'); INSERT INTO t(p, x) VALUES(last_insert_rowid(), 'later b')"
        try b.write(ofB)
        if seesOther { try b.pull(from: a) } else { try b.record() }
        // A new peer has rows that were written before the migration.
        let c = try TestPeer(folder, "c", emptyLike: a)
        for peer in [b, a, b, a] { try c.pull(from: peer) }
        #expect(try named(c).filter { !$0.hasPrefix("later") } == ["a", "b", "one", "two"].map { "\($0)|\($0)" })
        try b.write(form.migration)
        try b.write("INSERT INTO p VALUES(30, 'last b'); INSERT INTO t(p, x) VALUES(30, 'last b')")
        try agree(a, b, c)
        let d = try TestPeer(folder, "d", emptyLike: b)
        try agree(a, b, c, d)
        for peer in [a, b, c, d] {
            let found = try named(peer)
            #expect(
                found == ["a", "b", "last b", "later a", "later b", "one", "two"].map { "\($0)|\($0)" },
                "\(peer.name)")
        }
        #expect(try a.strings("SELECT id, n FROM p ORDER BY 1") == b.strings("SELECT id, n FROM p ORDER BY 1"))
    }
}
