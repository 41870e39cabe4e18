import LogSyncModel
import Testing

@testable import LogSyncStore

/// Names without a letter, or of letters that no rule of words knows: what is made of words has to do without any.
@Suite struct OddNameTests {
    private static let names = [
        "#", "%", " ", "_", "-", "😀", "数", "名前", "1", "_1", "1_", "id", "_id", "ID#", "#id", "É", "İ",
    ]

    private static func quoted(_ name: String) -> String { "\"\(name)\"" }

    @Test("Any name of a column or a table does, beside any other", arguments: names)
    func anywhere(name: String) throws {
        let folder = try TestFolder()
        for (index, other) in ["#", "_", "id", "数"].enumerated() where other != name {
            let (one, two) = (Self.quoted(name), Self.quoted(other))
            let peer = try TestPeer(
                folder, "peer\(index)",
                sql: """
                    CREATE TABLE \(one)("key" INTEGER PRIMARY KEY, \(one) INTEGER, \(two) REAL, t_id INTEGER);
                    CREATE TABLE q(k INTEGER PRIMARY KEY, \(two) INTEGER, \(one) TEXT);
                    CREATE TABLE r(\(one) TEXT PRIMARY KEY, \(two) INTEGER REFERENCES q(k));
                    CREATE TRIGGER g AFTER INSERT ON r BEGIN UPDATE q SET \(two) = \(two) + 1 WHERE k = new.\(two); END;
                    INSERT INTO \(one) VALUES(1, 1, 1.5, 1), (2, 1, 2, 2);
                    INSERT INTO q VALUES(1, 1, 'a'), (2, 2, 'b');
                    INSERT INTO r VALUES('x', 1)
                    """)
            try peer.write(
                """
                ALTER TABLE q ADD COLUMN "\(name)\(other)" INTEGER; INSERT INTO q(k, \(two)) VALUES(3, 1);
                CREATE TABLE s(k INTEGER PRIMARY KEY, \(one) INTEGER, \(two) INTEGER); INSERT INTO s VALUES(1, 1, 1)
                """)
            try peer.record()
            #expect(try peer.store.audit().problems == [])
        }
    }
}
