import Testing

/// Two machines give the same integer to different rows.
@Suite(.turn) struct IntegerTests {
    @Test(arguments: ["music", "trading", "kinds"])
    func
        `rows made on both sides with the same integers are all kept, and every reference points where its author meant`(
            schema: String
        ) async throws
    {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: schema, rows: 6)
            let base = try await one.copy("base")
            try await one.add(rows: 5, tag: "left")
            try await two.add(rows: 7, tag: "right")
            let left = try await one.copy("left")
            let right = try await two.copy("right")
            try await exchange(one, two)
            // Both count tickets by a trigger: that cell is a conflict by right.
            try await sandbox.expect(.union, [one, base, left, right], options: ["--skip", "counter"])
            try await sandbox.expect(.meaning, [one, two])
        }
    }

    @Test func `Children, grandchildren, join rows and self-references of colliding rows follow their own`()
        async throws
    {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: "music", rows: 1)
            for (peer, who) in [(one, "left"), (two, "right")] {
                try await peer.write(
                    """
                    INSERT INTO Artist VALUES (2, '\(who)');
                    INSERT INTO Album VALUES (2, 'album of \(who)', 2);
                    INSERT INTO Track (TrackId, Name, AlbumId, MediaTypeId, Milliseconds, UnitPrice) VALUES (2, 'track of \(who)', 2, 1, 1, 1);
                    INSERT INTO Playlist VALUES (2, 'playlist of \(who)');
                    INSERT INTO PlaylistTrack VALUES (2, 2), (1, 2);
                    INSERT INTO Employee (EmployeeId, LastName, FirstName, ReportsTo) VALUES (2, 'boss', '\(who)', 2);
                    INSERT INTO Employee (EmployeeId, LastName, FirstName, ReportsTo) VALUES (3, 'worker', '\(who)', 2);
                    """)
            }
            try await exchange(one, two)
            try await sandbox.expect(.meaning, [one, two])
            for peer in [one, two] {
                let tracks = try await peer.rows(
                    """
                    SELECT p.Name, t.Name, al.Title, ar.Name FROM PlaylistTrack pt JOIN Playlist p USING (PlaylistId)
                    JOIN Track t USING (TrackId) JOIN Album al USING (AlbumId) JOIN Artist ar USING (ArtistId)
                    WHERE p.Name LIKE 'playlist of %' AND ar.Name IN ('left', 'right') ORDER BY 1;
                    """)
                #expect(
                    tracks == [
                        "playlist of left|track of left|album of left|left",
                        "playlist of right|track of right|album of right|right",
                    ])
                let reports = try await peer.rows(
                    "SELECT w.LastName, w.FirstName, b.LastName, b.FirstName FROM Employee w JOIN Employee b ON b.EmployeeId = w.ReportsTo WHERE w.FirstName IN ('left', 'right') ORDER BY 2, 1;"
                )
                #expect(
                    reports == [
                        "boss|left|boss|left", "worker|left|boss|left", "boss|right|boss|right",
                        "worker|right|boss|right",
                    ])
                #expect(try await peer.count("PlaylistTrack", where: "PlaylistId = 1 AND TrackId > 1") == 2)
            }
        }
    }

    @Test func `collisions that repeat do not drift apart`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: "music", rows: 3)
            for round in 1...Scale.choose(3, long: 12) {
                let base = try await one.copy("base\(round)")
                try await one.add(rows: 2, tag: "left\(round)", seed: round)
                try await two.add(rows: 2, tag: "right\(round)", seed: round)
                let left = try await one.copy("left\(round)")
                let right = try await two.copy("right\(round)")
                try await exchange(one, two)
                try await sandbox.expect(.union, [one, base, left, right], "round \(round)")
                try await sandbox.expect(.meaning, [one, two], "round \(round)")
            }
        }
    }

    @Test func `a row that got another integer here can be edited and deleted here, and there it is the same row`()
        async throws
    {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: "music", rows: 1)
            try await one.write("INSERT INTO Artist VALUES (2, 'left'), (3, 'left too');")
            try await two.write("INSERT INTO Artist VALUES (2, 'right'), (3, 'right too');")
            try await exchange(one, two)
            try await one.write(
                "UPDATE Artist SET Name = 'right, edited' WHERE Name = 'right'; DELETE FROM Artist WHERE Name = 'right too';"
            )
            try await two.write("UPDATE Artist SET Name = 'left, edited' WHERE Name = 'left';")
            try await exchange(one, two)
            try await sandbox.expect(.meaning, [one, two])
            let expected = ["left too", "left, edited", "right, edited"]
            #expect(try await one.rows("SELECT Name FROM Artist WHERE ArtistId > 1 ORDER BY 1;") == expected)
            #expect(try await two.rows("SELECT Name FROM Artist WHERE ArtistId > 1 ORDER BY 1;") == expected)
        }
    }

    @Test func `an undeclared reference is translated when init is told of it`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(
                sql: """
                    CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT);
                    CREATE TABLE book (id INTEGER PRIMARY KEY, title TEXT, author_id INTEGER);
                    """, options: ["--reference", "book.author_id=author"])
            for (peer, who) in [(one, "left"), (two, "right")] {
                try await peer.write(
                    "INSERT INTO author VALUES (1, '\(who)'); INSERT INTO book VALUES (1, '\(who)', 1);")
            }
            try await exchange(one, two)
            try await sandbox.expect(.meaning, [one, two], options: ["--reference", "book.author_id=author"])
            #expect(
                try await two.rows("SELECT title, name FROM book JOIN author ON author.id = author_id ORDER BY 1;")
                    == ["left|left", "right|right"])
        }
    }

    @Test func `a table whose integers mean the same everywhere is merged by them`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(
                sql:
                    "CREATE TABLE year (number INTEGER PRIMARY KEY, motto TEXT, colour TEXT); INSERT INTO year VALUES (2000, 'a', 'red');",
                options: ["--identity", "year=natural"])
            try await one.write(
                "INSERT INTO year VALUES (2001, 'left', 'red'); UPDATE year SET motto = 'b' WHERE number = 2000;")
            try await two.write(
                "UPDATE year SET colour = 'blue' WHERE number = 2000; INSERT INTO year VALUES (2002, 'right', 'red');")
            try await exchange(one, two)
            try await sandbox.expect(.equal, [one, two])
            #expect(
                try await one.rows("SELECT * FROM year ORDER BY 1;") == [
                    "2000|b|blue", "2001|left|red", "2002|right|red",
                ])
        }
    }
}
