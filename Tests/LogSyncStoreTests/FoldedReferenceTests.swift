import Testing

@testable import LogSyncStore

/// References to rows that were folded into others.
extension ConstraintTests {
    @Test(arguments: 1...4) func aKeyThatNobodyEnforcesFollowsAFoldedRowToo(seed: UInt64) throws {
        let folder = try TestFolder()
        let sql = """
            PRAGMA foreign_keys=OFF;
            CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            CREATE TABLE tagging(
                post TEXT NOT NULL, tag INTEGER NOT NULL REFERENCES tag ON DELETE CASCADE, PRIMARY KEY(post, tag));
            """
        let policy: (inout InitializePlan) -> Void = { $0.policies = [("tag", "unique-merge")] }
        let rows = ["INSERT INTO tagging VALUES('one', 1)", "INSERT INTO tagging VALUES('two', 3)"]
        let peers = try rows.enumerated().map { number, row in
            try TestPeer(
                folder, "\(number)", sql: sql + "INSERT INTO tag(name) VALUES('tag \(number)'), ('same');" + row,
                seed: number == 0 ? seed : 5 - seed, plan: policy)
        }
        // It is the second that breaks the key, and so ends its enforcement, in the transaction that brings its tag.
        try peers[0].write("UPDATE tagging SET tag = 2")
        let last = try TestPeer(folder, "last", sql: sql, seed: 9, plan: policy)
        for peer in peers { try last.pull(from: peer) }
        #expect(try last.store.summary().unenforced == ["tagging.tag"])
        #expect(
            try last.strings("SELECT post, name FROM tagging LEFT JOIN tag ON tag.id = tag ORDER BY post")
                == ["one|same", "two|NULL"])
        #expect(try last.store.audit().problems == [])
    }

    @Test(arguments: [1, 3]) func aKeyThatNobodyEnforcesFollowsARowThatIsFoldedAsItComes(seed: UInt64) throws {
        let folder = try TestFolder()
        let sql = """
            PRAGMA foreign_keys=OFF;
            CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            CREATE TABLE label(id INTEGER PRIMARY KEY, tag INTEGER REFERENCES tag ON DELETE SET NULL);
            """
        let policy: (inout InitializePlan) -> Void = { $0.policies = [("tag", "unique-merge")] }
        let a = try TestPeer(folder, "a", sql: sql + "INSERT INTO label VALUES(1, 5)", seed: seed, plan: policy)
        let b = try TestPeer(
            folder, "b", sql: sql + "INSERT INTO tag VALUES(1, 'same')", seed: 4 - seed, plan: policy)
        try b.pull(from: a)
        #expect(try b.store.summary().unenforced == ["label.tag"])
        // What the label has always meant comes, and is folded at once.
        try a.write("INSERT INTO tag VALUES(5, 'same')")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.store.audit().problems == [])
            #expect(try peer.strings("SELECT name FROM label JOIN tag ON tag.id = tag") == ["same"])
        }
    }

    @Test(
        arguments: [
            ("login TEXT PRIMARY KEY NOT NULL", "NOT NULL REFERENCES user"),
            ("login TEXT PRIMARY KEY NOT NULL", "REFERENCES user(login) ON DELETE SET NULL"),
            ("login TEXT COLLATE NOCASE PRIMARY KEY NOT NULL", "NOT NULL REFERENCES user"),
            ("login PRIMARY KEY NOT NULL", "REFERENCES user ON DELETE CASCADE"),
        ], [true, false])
    func aReferenceByKeyShowsTheOlderRow(columns: (key: String, reference: String), comesFirst: Bool) throws {
        let (folder, a, b) = try pair(
            """
            CREATE TABLE user(\(columns.key), email TEXT UNIQUE);
            CREATE TABLE post(id TEXT PRIMARY KEY NOT NULL, author \(columns.reference), body TEXT);
            """
        ) { $0.policies = [("user", "unique-merge")] }
        try a.write("INSERT INTO user VALUES ('Ann', 'a@b.c')")
        try record(a)
        try b.write("INSERT INTO user VALUES ('anna', 'a@b.c'); INSERT INTO post VALUES ('p', 'anna', 'one')")
        let c = try TestPeer(folder, "c", cloning: a, clock: clock)
        for peer in comesFirst ? [a, b] : [b, a] { try c.pull(from: peer) }
        try settle(a, b, c)
        let posts = "SELECT post.id, author, login, body FROM post LEFT JOIN user ON author = login"
        for peer in [a, b, c] { #expect(try peer.strings(posts) == ["p|Ann|Ann|one"]) }
        // What the author's own peer writes is not taken for another author.
        try b.write("UPDATE post SET body = 'two'")
        try record(b)
        try settle(a, b, c)
        for peer in [a, b, c] { #expect(try peer.strings(posts) == ["p|Ann|Ann|two"]) }
        try a.write("UPDATE user SET email = 'd@e.f'")
        try record(a)
        try settle(a, b, c)
        for peer in [a, b, c] { #expect(try peer.strings(posts) == ["p|anna|anna|two"]) }
    }

    @Test(arguments: ["PRIMARY KEY(tag, item)", "UNIQUE(tag, item)"])
    func aRowThatOnlyAFoldedReferenceMadeEqualComesBack(key: String) throws {
        let (folder, a, b) = try pair(
            """
            CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            CREATE TABLE link(\(key.hasPrefix("U") ? "id INTEGER PRIMARY KEY, " : "")tag REFERENCES tag, item TEXT, \(key));
            """
        ) { $0.policies = [("tag", "unique-merge")] }
        for peer in [a, b] {
            try peer.write("INSERT INTO tag(name) VALUES ('red'); INSERT INTO link(tag, item) VALUES (1, 'i')")
            try record(peer)
        }
        try settle(a, b)
        let links = "SELECT name, item FROM link JOIN tag ON tag = tag.id ORDER BY name"
        for peer in [a, b] { #expect(try peer.strings(links) == ["red|i"]) }
        try b.write("UPDATE tag SET name = 'crimson'")
        try record(b)
        try settle(a, b)
        let c = try TestPeer(folder, "c", cloning: a, clock: clock)
        try settle(a, b, c)
        for peer in [a, b, c] {
            #expect(try peer.strings(links) == ["crimson|i", "red|i"])
            #expect(try peer.store.parkedRows(table: nil).isEmpty)
        }
    }

    @Test func aRowThatComesTakesTheIntegerOfTheOneThatIsFoldedIntoIt() throws {
        let folder = try TestFolder()
        let sql = """
            CREATE TABLE room(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, opened INTEGER);
            CREATE TABLE guest(name TEXT PRIMARY KEY, room INTEGER NOT NULL REFERENCES room(id));
            CREATE TRIGGER enter AFTER INSERT ON room WHEN NEW.id > 0
                BEGIN INSERT INTO guest VALUES('of ' || NEW.name, 0); END;
            """
        let policy: (inout InitializePlan) -> Void = { $0.policies = [("room", "unique-merge")] }
        let younger = try TestPeer(
            folder, "younger", sql: sql + "INSERT INTO room VALUES(0, 'hall', 5); INSERT INTO room VALUES(1, 'den', 7)",
            seed: 9, plan: policy)
        let older = try TestPeer(
            folder, "older", sql: sql + "INSERT INTO room VALUES(0, 'hall', 4); INSERT INTO room VALUES(1, 'attic', 7)",
            seed: 1, plan: policy)
        try converge(younger, older)
        let guests = "SELECT guest.name, room.name, opened FROM guest JOIN room ON room = id ORDER BY guest.name"
        for peer in [younger, older] {
            #expect(try peer.strings("SELECT name, opened FROM room WHERE id = 0") == ["hall|4"])
            #expect(try peer.strings(guests) == ["of attic|hall|4", "of den|hall|4"])
            // The program's own statements go on meaning the same room.
            try peer.write("INSERT INTO room(name) VALUES('of \(peer.name)')")
        }
        try converge(younger, older)
        for peer in [younger, older] {
            #expect(try peer.strings("SELECT count(*) FROM guest JOIN room ON room = id WHERE opened = 4") == ["4"])
            #expect(try peer.store.audit().problems == [])
        }
        // What was folded comes out again, with the guests that are its own.
        try older.write("UPDATE room SET name = 'foyer' WHERE id = 0")
        try converge(younger, older)
        for peer in [younger, older] {
            #expect(
                try peer.strings(guests).prefix(2) == ["of attic|foyer|4", "of den|hall|5"])
            #expect(try peer.store.audit().problems == [])
        }
    }

    @Test func aReferenceByKeyShowsTheOlderRowAsItIsSpelled() throws {
        let (_, a, b) = try pair(
            """
            CREATE TABLE user(login TEXT COLLATE NOCASE PRIMARY KEY NOT NULL, email TEXT UNIQUE);
            CREATE TABLE post(id TEXT PRIMARY KEY NOT NULL, author TEXT REFERENCES user);
            """
        ) { $0.policies = [("user", "unique-merge")] }
        try a.write("INSERT INTO user VALUES ('ann', 'a@b.c')")
        try record(a)
        try b.write("INSERT INTO user VALUES ('anna', 'a@b.c'); INSERT INTO post VALUES ('p', 'anna')")
        try settle(a, b)
        try a.write("UPDATE user SET login = 'ANN'")
        try record(a)
        try settle(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT author FROM post") == ["ANN"]) }
    }

    @Test func aReferenceByAKeyOfTwoColumnsFollowsAFoldedRow() throws {
        let (_, a, b) = try pair(
            """
            CREATE TABLE room(house TEXT NOT NULL, number INTEGER NOT NULL, name TEXT UNIQUE, PRIMARY KEY(house, number));
            CREATE TABLE bed(
                id TEXT PRIMARY KEY NOT NULL, n INTEGER, h TEXT, FOREIGN KEY(n, h) REFERENCES room(number, house));
            """
        ) { $0.policies = [("room", "unique-merge")] }
        try a.write("INSERT INTO room VALUES ('north', 1, 'blue')")
        try record(a)
        try b.write("INSERT INTO room VALUES ('south', 2, 'blue'); INSERT INTO bed VALUES ('b', 2, 'south')")
        try settle(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT n, h FROM bed") == ["1|north"]) }
        try a.write("DELETE FROM bed; DELETE FROM room")
        try settle(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT count(*) FROM room") == ["0"]) }
    }
}
