import LogSyncModel
import Testing

@testable import LogSyncContainer

@Suite struct NamesTests {
    static let hash = "0123456789abcdef0123456789abcdef"

    @Test(arguments: ["notes", "a", "0", "a.b-c_d", "9" + String(repeating: "x", count: 62)])
    func `A content name of the grammar is taken`(text: String) {
        #expect(ContentName(text)?.description == text)
    }

    @Test(arguments: [
        "", ".", "..", ".notes", "-notes", "_notes", "Notes", "no tes", "notes/", "../notes", "a/b", "notés", "a\0b",
        "a\n", "ａ", String(repeating: "x", count: 64),
    ])
    func `A content name outside the grammar is refused with its way out`(text: String) {
        #expect(ContentName(text) == nil)
        #expect { try ContentName(checking: text) } throws: { ($0 as? LogSyncError)?.code == .usage }
    }

    @Test func `A log file's name reads back as it was written`() throws {
        let hash = try #require(FileHash(Self.hash))
        for (first, last) in [(1, 1), (1, 2), (42, 4711), (1, LogFileName.maximumSequence)] as [(UInt64, UInt64)] {
            let name = try #require(LogFileName(first: first, last: last, fileHash: hash))
            #expect(LogFileName(name.description) == name)
            #expect(name.description.utf8.count == 63)
        }
        let example = LogFileName("000000000001-000000000012-\(Self.hash).tlog")
        #expect(example?.first == 1)
        #expect(example?.last == 12)
        #expect(example?.fileHash.description == Self.hash)
    }

    @Test(arguments: [
        "", ".tlog", "000000000001-000000000001.tlog",
        "000000000000-000000000001-0123456789abcdef0123456789abcdef.tlog",
        "000000000002-000000000001-0123456789abcdef0123456789abcdef.tlog",
        "00000000001-000000000001-0123456789abcdef0123456789abcdef.tlog",
        "0000000000001-000000000001-0123456789abcdef0123456789abcdef.tlog",
        "000000000001-000000000001-0123456789ABCDEF0123456789abcdef.tlog",
        "000000000001-000000000001-0123456789abcdef0123456789abcde.tlog",
        "000000000001-000000000001-0123456789abcdef0123456789abcdeg.tlog",
        "000000000001-000000000001-0123456789abcdef0123456789abcdef.TLOG",
        "000000000001-000000000001-0123456789abcdef0123456789abcdef.tlog ",
        "000000000001-000000000001-0123456789abcdef0123456789abcdef.tlog~",
        "000000000001-000000000001-0123456789abcdef0123456789abcdef.tlog.part",
        "000000000001-000000000001-0123456789abcdef0123456789abcdef.sync-conflict-20260101-000000-ABCDEFG.tlog",
        "000000000001-000000000001-0123456789abcdef0123456789abcdef (conflicted copy).tlog",
        ".syncthing.000000000001-000000000001-0123456789abcdef0123456789abcdef.tlog.tmp",
        "+00000000001-000000000001-0123456789abcdef0123456789abcdef.tlog",
        "-00000000001-000000000001-0123456789abcdef0123456789abcdef.tlog",
        "00000000000１-000000000001-0123456789abcdef0123456789ab.tlog",
        "000000000001_000000000001_0123456789abcdef0123456789abcdef.tlog",
        "000000000001-000000000001-0123456789abcdef0123456789abcdef\u{301}.tlog",
    ])
    func `A file outside the grammar is no log file`(name: String) {
        #expect(LogFileName(name) == nil)
    }

    @Test func `Snapshots, schemas and blobs have names of their own`() throws {
        #expect(SnapshotName("000000000007-\(Self.hash).snap")?.sequence == 7)
        #expect(SnapshotName("000000000007-\(Self.hash).snap")?.description == "000000000007-\(Self.hash).snap")
        #expect(SnapshotName("7-\(Self.hash).snap") == nil)
        #expect(SnapshotName("000000000007-\(Self.hash).tlog") == nil)
        #expect(SchemaFileName("\(Self.hash).sql")?.description == "\(Self.hash).sql")
        #expect(SchemaFileName("\(Self.hash.uppercased()).sql") == nil)
        #expect(SchemaFileName("\(Self.hash)") == nil)
        #expect(BlobName(Self.hash)?.description == Self.hash)
        #expect(BlobName("\(Self.hash)0") == nil)
    }

    @Test func `Every name is short, lower-case and free of anything a file system might mind`() throws {
        let hash = FileHash(high: .max, low: .max)
        let fingerprint = try #require(SchemaFingerprint(bytes: Array(repeating: 255, count: 16)))
        let most = LogFileName.maximumSequence
        let names = [
            LogFileName(first: most, last: most, fileHash: hash)?.description,
            SnapshotName(sequence: most, fileHash: hash)?.description, SchemaFileName(fingerprint).description,
            BlobName(hash).description, alice.description,
        ]
        for name in names {
            let name = try #require(name)
            #expect(name.utf8.count < 100)
            #expect(ContentName(name) != nil)
        }
    }
}
