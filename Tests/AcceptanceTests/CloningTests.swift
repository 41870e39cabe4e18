import Testing

@Suite(.turn) struct CloningTests {
    @Test(arguments: ["music", "trading", "kinds"])
    func `a clone equals its original row for row, integers, indexes and views included`(schema: String) async throws {
        try await withSandbox { sandbox in
            let one = try await sandbox.database("one", schema: schema, rows: Scale.choose(40, long: 1000))
            try await one.write("PRAGMA user_version = 7; PRAGMA application_id = 1234;")
            let before = try await one.copy("before")
            try await one.initialize()
            try await sandbox.expect(.equal, [before, one], "init changed the app's rows or schema")
            let two = try await sandbox.clone("two")
            try await sandbox.expect(.equal, [one, two])
            let again = try await two.sync()
            #expect(again["imported"].int == 0 || again["imported"].array.isEmpty, "a clone has everything: \(again)")
        }
    }

    @Test func `gaps in the integers, the greatest integer and spent AUTOINCREMENT numbers survive cloning`()
        async throws
    {
        try await withSandbox { sandbox in
            let one = try await sandbox.database("one", schema: "kinds", rows: 3)
            try await one.write(
                """
                INSERT INTO plain VALUES (9000, 'gap'), (-5, 'below zero'), (0, 'zero'), (9007199254740992, 'large');
                INSERT INTO ticket (id, title) VALUES (500, 'spent'), (501, 'kept');
                DELETE FROM ticket WHERE id >= 500;
                """)
            try await one.initialize()
            let two = try await sandbox.clone("two")
            try await sandbox.expect(.equal, [one, two])
            #expect(
                try await two.value("SELECT seq FROM sqlite_sequence WHERE name = 'ticket';") == "501",
                "AUTOINCREMENT would give a number again")
        }
    }

    @Test(arguments: ["UTF-16le", "UTF-16be", "UTF-8"])
    func `Encoding, page size and auto_vacuum are the clone's too`(encoding: String) async throws {
        try await withSandbox { sandbox in
            let one = try await sandbox.database(
                "one",
                sql: """
                    PRAGMA encoding = '\(encoding)'; PRAGMA page_size = 8192; PRAGMA auto_vacuum = 2;
                    CREATE TABLE word (word TEXT PRIMARY KEY, meaning TEXT);
                    INSERT INTO word VALUES ('naïve', 'ingénu 📗'), ('', 'empty'), (x'61', 'a blob in a text column');
                    """)
            try await one.initialize()
            let two = try await sandbox.clone("two")
            try await sandbox.expect(.equal, [one, two])
            try await two.write("UPDATE word SET meaning = 'Größe' WHERE word = 'naïve';")
            try await exchange(two, one)
            try await sandbox.expect(.equal, [one, two])
        }
    }

    @Test(arguments: ["music", "kinds"])
    func `an empty database with a schema is cloned, and what comes into it later arrives`(schema: String) async throws
    {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: schema, rows: 0)
            try await sandbox.expect(.equal, [one, two])
            try await one.add(rows: 5, tag: "later")
            try await exchange(one, two)
            try await sandbox.expect(.meaning, [one, two])
            #expect(try await two.count(schema == "music" ? "Track" : "plain") == 5)
        }
    }

    @Test(arguments: ["music", "trading"])
    func `what Python writes here and the shell writes there makes both stores equal again`(schema: String) async throws
    {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: schema, rows: 20)
            let edits =
                schema == "music"
                ? [
                    "UPDATE Track SET UnitPrice = UnitPrice + 1 WHERE TrackId % 2 = 0;",
                    "DELETE FROM InvoiceLine WHERE InvoiceLineId <= 3; UPDATE Employee SET ReportsTo = 1 WHERE EmployeeId = 2;",
                    "DELETE FROM PlaylistTrack; INSERT INTO Artist (Name) VALUES ('made by the shell');",
                ]
                : [
                    "UPDATE Products SET UnitPrice = UnitPrice * 2, Discontinued = '1' WHERE ProductID % 2 = 0;",
                    "DELETE FROM \"Order Details\" WHERE Quantity % 2 = 0; UPDATE Customers SET City = 'Zürich' WHERE Country = 'unknown';",
                    "INSERT INTO Customers (CustomerID, CompanyName) VALUES ('NEWCO', 'made by the shell'); UPDATE Employees SET ReportsTo = NULL;",
                ]
            try await one.add(rows: 3, tag: "python")
            try await one.write(edits[0], with: .python)
            try await two.write(edits[1], with: .shell)
            try await two.write(edits[2], with: .shell)
            try await exchange(one, two)
            try await sandbox.expect(.meaning, [one, two])
            try await two.write(edits[0], with: .python)
            try await exchange(two, one)
            try await sandbox.expect(.meaning, [one, two])
            let (here, there) = (try await one.status(), try await two.status())
            #expect(here["vector"] == there["vector"])
            #expect(here["digest"] == there["digest"] && !here["digest"].isNull)
            #expect(here["outbox"].int == 0 && here["pending"].int == 0, "\(here)")
        }
    }

    @Test func `init says the same again without harm, and joins a content that exists`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: "music", rows: 5)
            let before = try await one.status()["vector"]
            try await one.initialize()
            #expect(try await one.status()["vector"] == before)

            // A third database with the same packaged rows joins: they come once.
            let three = try await sandbox.database("three", schema: "music", rows: 5)
            try await three.initialize()
            try await exchange(three, one, two)
            try await sandbox.expect(.meaning, [one, two, three])
            #expect(try await one.count("Artist") == 5)
        }
    }
}
