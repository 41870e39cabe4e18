import Testing

@Suite(.turn) struct ValueTests {
    /// Python source of a list of SQL expressions, each one value.
    private static let values = """
        ["NULL", "''", "x''", "'a' || char(0) || 'b'", "char(0)", "1", "1.0", "'1'", "'1.0'", "x'31'", "'007'", "' 12 '",
         "0.0", "-0.0", "0", "9e999", "-9e999", "9223372036854775807", "-9223372036854775808", "9007199254740993",
         "-9007199254740993", "9007199254740993.0", "1e15", "1e16", "123456789012345678", "0.1", "1e-320",
         "2.2250738585072014e-308", "1.7976931348623157e308", "4294967296", "-1", "127", "128", "-128", "-129", "32768",
         "CAST(x'ff' AS TEXT)", "CAST(x'c328' AS TEXT)", "CAST(x'eda080' AS TEXT)", "CAST(x'00ff00' AS TEXT)",
         "'é'", "'e' || char(769)", "char(65279)", "'📗'", "'''\\"'", "char(10) || char(13)", "x'00'", "x'ff00ff'",
         "randomblob(3000000)", "zeroblob(70000)", "CAST(randomblob(5000) AS TEXT)", "printf('%.*c', 200000, 'x')",
         "'{\\"json\\": [1, 2]}'"]
        """

    @Test
    func
        `every value arrives bit for bit, in columns of every affinity and in a first recording, an insert and an update`()
        async throws
    {
        try await withSandbox { sandbox in
            let one = try await sandbox.database("one", schema: "kinds", rows: 1)
            let write = """
                values = \(Self.values)
                for n, v in enumerate(values):
                    for column in ("value", "number", "float", "whole", "words", "bytes"):
                        if sys.argv[2] == "insert":
                            db.execute(f"INSERT INTO anything (id, {column}) VALUES ('{sys.argv[3]}{column}{n}', {v})")
                        else:
                            db.execute(f"UPDATE anything SET {column} = {v} WHERE id = '{sys.argv[3]}{column}{(n + 1) % len(values)}'")

                """
            try await one.python("db.execute('BEGIN')\n" + write + "db.execute('COMMIT')", "insert", "found")
            try await one.initialize()
            let two = try await sandbox.clone("two")
            try await sandbox.expect(.equal, [one, two], "found by init")
            try await one.python("db.execute('BEGIN')\n" + write + "db.execute('COMMIT')", "insert", "new")
            try await exchange(one, two)
            try await sandbox.expect(.meaning, [one, two], "inserted")
            try await two.python("db.execute('BEGIN')\n" + write + "db.execute('COMMIT')", "update", "new")
            try await exchange(two, one)
            try await sandbox.expect(.meaning, [one, two], "updated")
            // And nothing of it looks changed afterwards.
            let vector = try await one.status()["vector"]
            try await exchange(one, two)
            #expect(try await one.status()["vector"] == vector)
        }
    }

    @Test func `strict tables keep every type, and ANY keeps what it was given`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: "kinds", rows: 1)
            try await one.write(
                """
                INSERT INTO strict_types (code, i, r, t, b, a) VALUES
                    ('int', 1, 1, '1', x'31', 1), ('real', 2, 2.5, '2.5', x'', 1.0), ('text', NULL, NULL, '', NULL, '1'),
                    ('blob', 9223372036854775807, -0.0, '0', x'00', x'31'), ('zero', 0, 9e999, char(0), x'ff', -0.0);
                """)
            try await exchange(one, two)
            try await sandbox.expect(.equal, [one, two])
            try await two.write(
                "UPDATE strict_types SET a = CASE typeof(a) WHEN 'integer' THEN 1.0 WHEN 'real' THEN 1 ELSE '1' END;")
            try await exchange(two, one)
            try await sandbox.expect(.equal, [one, two])
        }
    }

    @Test func `keys of every value are told apart, and equal ones are not`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: "kinds", rows: 1)
            try await one.write(
                """
                DELETE FROM loose_key;
                INSERT INTO loose_key VALUES (1, 'integer'), ('1', 'text'), (x'31', 'blob'), (1.5, 'real'), ('', 'empty text'),
                    (x'', 'empty blob'), ('a' || char(0) || 'b', 'with NUL'), ('a', 'without'), (CAST(x'ff' AS TEXT), 'not UTF-8'),
                    (x'ff', 'its bytes'), (9e999, 'infinite'), (-9e999, 'below'), (9223372036854775807, 'largest'),
                    (9223372036854775808.0, 'beyond'), (9007199254740993, 'odd'), (9007199254740992.0, 'even'), (0, 'zero');
                """)
            try await exchange(one, two)
            try await sandbox.expect(.equal, [one, two])
            try await two.write("UPDATE loose_key SET note = note || ' edited';")
            try await one.write("DELETE FROM loose_key WHERE id IN ('', x'', 1.5, CAST(x'ff' AS TEXT));")
            try await exchange(one, two)
            try await sandbox.expect(.equal, [one, two])
            // 1 and 1.0 are one key.
            try await one.write("INSERT INTO loose_key VALUES (77, 'left');")
            try await two.write("INSERT INTO loose_key VALUES (77.0, 'right');")
            try await exchange(one, two)
            try await sandbox.expect(.equal, [one, two])
            #expect(try await one.count("loose_key", where: "id = 77") == 1)
        }
    }

    @Test func `a blob of three megabytes is replaced, shortened and emptied`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: "trading", rows: 2)
            for picture in ["randomblob(3000000)", "randomblob(3000001)", "x''", "NULL", "zeroblob(3000000)"] {
                try await one.write("UPDATE Categories SET Picture = \(picture) WHERE CategoryID = 1;")
                try await exchange(one, two)
                try await sandbox.expect(.equal, [one, two], picture)
            }
        }
    }
}
