import Crypto
import Foundation
import Testing

/// Values too large for a log (over 256 KiB) travel as files of their own.
@Suite(.turn) struct BlobTests {
    private static let schema = "CREATE TABLE file (name TEXT PRIMARY KEY, content BLOB, note TEXT);"
    private static let content = "SELECT name || '=' || coalesce(length(content), 0) FROM file ORDER BY 1;"

    /// A value of 300,000 bytes that says which it is.
    private static func large(_ number: Int) -> String { "CAST(printf('%0300000d', \(number)) AS BLOB)" }

    private func blobs(_ sandbox: Sandbox, _ peer: Peer) async throws -> [URL] {
        let folder = sandbox.contentFolder.appendingPathComponent(
            "peers/\(try await peer.identifier())/blobs", isDirectory: true)
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
            .map { folder.appendingPathComponent($0) }
    }

    @Test func `a blob that comes late holds its transaction and what depends on it, and nothing else`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(sql: Self.schema)
            let three = try await sandbox.clone("three")
            try await exchange(one, two, three)
            try await one.write("INSERT INTO file VALUES ('big', \(Self.large(1)), NULL);")
            try await one.logsync(["export", one.path])
            try await one.write("INSERT INTO file VALUES ('after', 'small', NULL);")
            try await one.logsync(["export", one.path])
            let file = try #require(try await blobs(sandbox, one).first)
            let aside = sandbox.folder("output").appendingPathComponent("aside")
            try FileManager.default.moveItem(at: file, to: aside)
            try await three.write("INSERT INTO file VALUES ('of three', 'small', NULL);")
            try await three.logsync(["export", three.path])

            try await two.sync(exits: [3])
            #expect(try await two.rows(Self.content) == ["of three=5"])
            let held = try await two.held()
            let author = try await one.identifier()
            #expect(held.map(\.reason) == ["missing-blob"] && held.map(\.peer) == [author])
            #expect(held.map(\.file) == [file.lastPathComponent])
            try FileManager.default.moveItem(at: aside, to: file)
            try await two.sync()
            try await exchange(one, two, three)
            try await sandbox.expect(.equal, [one, two, three])
            #expect(try await two.rows(Self.content) == ["after=5", "big=300000", "of three=5"])
        }
    }

    @Test func `a damaged blob is never imported, and its owner writes it again`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(sql: Self.schema)
            try await one.write("INSERT INTO file VALUES ('big', \(Self.large(1)), NULL);")
            try await one.sync()
            let file = try #require(try await blobs(sandbox, one).first)
            var bytes = [UInt8](try Data(contentsOf: file))
            bytes[123_456] ^= 1
            try Data(bytes).write(to: file)
            try await two.sync(exits: [4])
            #expect(try await two.count("file") == 0)
            #expect(try await two.held().map(\.reason) == ["damaged"])
            try await one.sync()
            try await two.sync()
            try await sandbox.expect(.equal, [one, two])
            let digest = SHA256.hash(data: try Data(contentsOf: file)).prefix(16)
            #expect(digest.map { String(format: "%02x", $0) }.joined() == file.lastPathComponent)
        }
    }

    @Test func `the same bytes in a thousand rows are one file`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(sql: Self.schema)
            try await one.write(
                """
                WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 1000)
                INSERT INTO file SELECT printf('f%04d', value), \(Self.large(7)), NULL FROM n;
                """)
            try await exchange(one, two)
            #expect(try await blobs(sandbox, one).count == 1)
            #expect(try await two.value("SELECT count(*), count(DISTINCT content) FROM file;") == "1000|1")
            let folder = sandbox.contentFolder.path
            let sizes = sandbox.listing(sandbox.contentFolder).values.compactMap { Int($0.prefix { $0 != " " }) }
            #expect(sizes.reduce(0, +) < 500_000, "\(folder) holds the bytes once")
        }
    }

    @Test func `what is overwritten before the container is there again is published as it was`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(sql: Self.schema)
            let away = sandbox.container.path + "-away"
            try FileManager.default.moveItem(atPath: sandbox.container.path, toPath: away)
            for number in 1...3 {
                try await one.write("REPLACE INTO file VALUES ('big', \(Self.large(number)), 'version \(number)');")
                try await one.sync(exits: [69])
            }
            try await one.write("UPDATE file SET content = 'small' WHERE name = 'big';")
            try FileManager.default.moveItem(atPath: away, toPath: sandbox.container.path)
            try await one.sync()
            #expect(try await blobs(sandbox, one).count == 3)
            #expect(try await one.value("SELECT count(*) FROM logsync_blob_part;") == "0", "nothing is kept for ever")
            try await two.sync()
            #expect(try await two.held().isEmpty)
            try await sandbox.expect(.equal, [one, two])
            #expect(try await two.transactions().count >= 5)
        }
    }

    @Test func `a clone has the same large values, of a snapshot or of logs, as texts and as BLOBs`() async throws {
        try await withSandbox { sandbox in
            let one = try await sandbox.database("one", sql: Self.schema)
            try await one.write(
                """
                WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 12)
                INSERT INTO file SELECT printf('f%d', value), printf('%0300000d', value),
                    CASE value % 3 WHEN 0 THEN printf('%0400000d', value) WHEN 1 THEN 'small' END FROM n;
                """)
            try await one.initialize()
            let two = try await sandbox.clone("two")
            try await exchange(one, two)
            try await one.logsync(["snapshot", one.path])
            for file in try await sandbox.logFiles(of: one) { try FileManager.default.removeItem(at: file) }
            let three = try await sandbox.clone("three")
            try await exchange(one, two, three)
            try await sandbox.expect(.equal, [one, two, three])
            #expect(try await three.value("SELECT count(*) FROM file WHERE typeof(content) = 'text';") == "12")
            // Who takes a snapshot needs nobody else's folder.
            try await three.logsync(["snapshot", three.path])
            #expect(
                try await blobs(sandbox, three).map(\.lastPathComponent)
                    == blobs(sandbox, one).map(\.lastPathComponent))
            try await three.logsync(["verify", three.path])
        }
    }

    @Test func `compacting keeps what a snapshot needs and removes what nothing names`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(sql: Self.schema)
            try await one.write(
                "INSERT INTO file VALUES ('stays', \(Self.large(1)), NULL), ('goes', \(Self.large(2)), NULL);")
            try await exchange(one, two)
            try await one.write("DELETE FROM file WHERE name = 'goes';")
            try await exchange(one, two)
            #expect(try await blobs(sandbox, one).count == 2)
            let dry = try await one.logsync(["compact", one.path, "--grace", "0", "--dry-run", "--json"]).json
            #expect(dry["files"].array.filter { $0["reason"].string == "named" }.count == 2)
            for _ in 1...3 {
                for peer in [one, two] { try await peer.logsync(["compact", peer.path, "--grace", "0"]) }
                try await exchange(one, two)
            }
            #expect(try await blobs(sandbox, one).count == 1)
            let three = try await sandbox.clone("three")
            try await exchange(one, two, three)
            try await sandbox.expect(.equal, [one, two, three])
            #expect(try await three.rows(Self.content) == ["stays=300000"])
            try await one.logsync(["doctor", sandbox.container.path])
        }
    }

    @Test func `concurrent versions that are blobs are listed, and settled by hand`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(sql: Self.schema)
            try await one.write("INSERT INTO file VALUES ('big', \(Self.large(1)), NULL);")
            try await exchange(one, two)
            try await one.write("UPDATE file SET content = \(Self.large(2));")
            try await two.write("UPDATE file SET content = \(Self.large(3));")
            try await exchange(one, two, one)
            try await sandbox.expect(.equal, [one, two])
            let conflicts = try await one.logsync(["conflicts", "list", one.path, "--json"]).json["conflicts"]
            let versions = conflicts[0]["versions"].array
            #expect(Set(versions.map { $0["value"]["base64"].string?.count ?? 0 }) == [400_000] && versions.count == 2)
            let author = try await one.identifier()
            let version = try #require(versions.first { $0["peer"]["id"].string == author })
            try await two.logsync(
                [
                    "conflicts", "take", two.path, "file", "'big'", "content",
                    "\(author):\(try #require(version["sequence"].int))",
                ])
            try await exchange(two, one)
            try await sandbox.expect(.equal, [one, two])
            #expect(try await one.value("SELECT content = \(Self.large(2)) FROM file;") == "1")
            let left = try await one.logsync(["conflicts", "list", one.path, "--json"]).json["conflicts"]
            #expect(left.array.isEmpty)
        }
    }

    @Test(.enabled(if: KillPoint.isPossible, "strace is not installed or not permitted here"))
    func `a sync killed anywhere while it publishes blobs is completed by the next`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(sql: Self.schema)
            func write(_ round: Int) async throws {
                try await one.write("REPLACE INTO file VALUES ('big', \(Self.large(round * 2)), \(round));")
                try await one.write("REPLACE INTO file VALUES ('more', \(Self.large(round * 2 + 1)), \(round));")
            }
            try await write(0)
            let points = try await KillPoint.watching(["sync", one.path], of: one, limit: Scale.choose(20, long: 2000))
            var struck = 0
            for (round, point) in points.enumerated() {
                try await write(round + 1)
                if try await point.strike(["sync", one.path], of: one) { struck += 1 }
                // Whatever is there can be read: a log never comes before its blobs.
                try await two.sync()
                #expect(try await two.held().isEmpty, "killed before \(point)")
                try await one.write("UPDATE file SET content = 'small' WHERE name = 'more';")
                try await one.sync()
                try await two.sync()
                try await sandbox.expect(.equal, [one, two], "killed before \(point)")
            }
            #expect(try await one.value("SELECT count(*) FROM logsync_blob_part;") == "0")
            #expect(struck > points.count / 2)
        }
    }
}
