import Testing

@Suite(.turn) struct LeaveTests {
    @Test(arguments: ["delete", "truncate", "wal"], ["music", "kinds"])
    func `leave removes every trace and no row, and puts the journal mode back`(journal: String, schema: String)
        async throws
    {
        try await withSandbox { sandbox in
            let one = try await sandbox.database("one", schema: schema, rows: 8)
            try await one.write("PRAGMA journal_mode = \(journal);")
            try await one.initialize()
            #expect(try await one.value("PRAGMA journal_mode;") == "wal")
            let two = try await sandbox.clone("two")
            try await two.add(rows: 3, tag: "right")
            try await one.add(rows: 3, tag: "left")
            try await exchange(one, two)
            let before = try await one.copy("before")
            try await one.logsync(["leave", one.path])

            #expect(
                try await one.value(
                    "SELECT count(*) FROM sqlite_master WHERE name LIKE 'logsync%' OR tbl_name LIKE 'logsync%' OR sql LIKE '%logsync_%';"
                ) == "0")
            #expect(try await one.value("SELECT count(*) FROM sqlite_master WHERE name LIKE 'sqlite_stat%';") == "0")
            // Truncation is a property of a connection, not of the file.
            #expect(try await one.value("PRAGMA journal_mode;") == (journal == "wal" ? "wal" : "delete"))
            try await sandbox.expect(.equal, [before, one], options: [])
            try await one.write("DELETE FROM \(schema == "music" ? "PlaylistTrack" : "plain");")
            try await one.logsync(["sync", one.path], exits: [66])
            try await one.logsync(["leave", one.path], exits: [66])
            // The other goes on alone, and nothing of what the first did afterwards reaches it.
            try await two.sync()
            #expect(try await two.count(schema == "music" ? "PlaylistTrack" : "plain") > 0)
        }
    }

    @Test func `a store that left can join again, and the rows are the same rows`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: "trading", rows: 6)
            try await one.logsync(["leave", one.path])
            try await two.write("UPDATE Customers SET City = 'Bern';")
            try await two.sync()
            let again = sandbox.peer("again", at: one.path)
            try await again.initialize()
            try await exchange(again, two)
            try await sandbox.expect(.meaning, [again, two])
            #expect(try await two.count("Customers") == 6)
        }
    }
}
