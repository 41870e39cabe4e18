import Foundation
import LogSyncFormat
import LogSyncModel
import Testing

/// What a snapshot says of values that its author has lost.
@Suite struct SnapshotLostTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    private static let lost: Set = [
        ColumnName("note", "stars"), ColumnName("note", "title"), ColumnName("album", "id"), ColumnName("Ärger", "ß"),
    ]

    private static func manifest(
        _ lost: Set<ColumnName>, marks: Bool = false, of manifest: SnapshotManifest = SnapshotFormatTests.manifest
    ) -> SnapshotManifest {
        var manifest = manifest
        manifest.lost = lost
        if marks {
            manifest.marks = [.init(peer: .b, first: 40, marks: [ChainMark(rawValue: 5), ChainMark(rawValue: 6)])]
        }
        return manifest
    }

    @Test(arguments: [false, true])
    func `a snapshot names the columns that its author has lost`(marks: Bool) throws {
        let manifest = Self.manifest(Self.lost, marks: marks)
        let bytes = try snapshot(manifest, SnapshotFormatTests.rows).bytes
        let read = try readSnapshot(bytes)
        #expect(read.manifest == manifest && read.manifest.lost == Self.lost)
        #expect(read.rows == SnapshotFormatTests.rows)
        #expect(try !SnapshotReader(MemorySource(bytes)).header.isPartial, "readers judge for themselves")
        // The same columns are the same bytes.
        let again = Self.manifest(Set(Self.lost.sorted().reversed()), marks: marks)
        #expect(try snapshot(again, SnapshotFormatTests.rows).bytes == bytes)
        // Where nothing was lost, nothing says so.
        let without = try snapshot(Self.manifest([], marks: marks), SnapshotFormatTests.rows).bytes
        #expect(try readSnapshot(without).manifest.lost.isEmpty)
        let plain = SnapshotFormatTests.blocks(of: without)[0].payload
        let listed = SnapshotFormatTests.blocks(of: bytes)[0].payload
        #expect(listed.starts(with: plain))
        let list = [3] + Self.text("album") + [1] + Self.text("id") + Self.text("note") + [2] + Self.text("stars")
        #expect(
            Array(listed[plain.count...]) == (marks ? [] : [0, 0]) + list + Self.text("title") + Self.text("Ärger") + [
                1
            ]
                + Self.text("ß"))
    }

    @Test func `a list of lost columns that cannot be is damage, and what comes after it is passed over`() throws {
        let bytes = try bytes()
        let header = Array(bytes.prefix(SnapshotFormatTests.headerLength(bytes)))
        let blocks = SnapshotFormatTests.blocks(of: bytes)
        func read(_ list: [UInt8]) throws -> Set<ColumnName> {
            let manifest = (type: blocks[0].type, payload: blocks[0].payload + [0, 0] + list)
            let file = SnapshotFormatTests.assembled(header, [manifest] + blocks.dropFirst())
            return try readSnapshot(file).manifest.lost
        }
        func reading(_ list: [UInt8]) throws -> Verdict { try verdict { _ = try read(list) } }
        let (a, b) = (Self.text("a"), Self.text("b"))
        #expect(try read([]) == [] && read([0]) == [])
        let two: [UInt8] = [2] + a + [1] + b + b + [2] + a + b
        #expect(try read(two) == [ColumnName("a", "b"), ColumnName("b", "a"), ColumnName("b", "b")])
        #expect(try read(two + [1, 2, 3]).count == 3, "a later version adds something")
        let huge: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]
        #expect(try reading(huge) == .damaged, "a count of tables")
        #expect(try reading([1] + huge) == .damaged, "a name's length")
        #expect(try reading([1] + a + huge) == .damaged, "a count of columns")
        #expect(try reading([1] + a + [0, 0, 0]) == .damaged, "a table without columns")
        #expect(try reading([1] + a + [1, 0, 0]) == .damaged, "a column without name")
        #expect(try reading([1] + a + [1, 1, 0]) == .damaged, "a NUL in a name")
        #expect(try reading([1] + a + [1, 1, 0xFF]) == .damaged, "no UTF-8")
        #expect(try reading([1] + a + [2] + b) == .damaged, "a column too few")
        #expect(try reading([1] + a + [2] + b + b) == .damaged, "a column twice")
        #expect(try reading([1] + a + [2] + b + a) == .damaged, "columns in another order")
        #expect(try reading([2] + a + [1] + b + a + [1] + b) == .damaged, "a table twice")
        #expect(try reading([2] + b + [1] + a + a + [1] + b) == .damaged, "tables in another order")
        for count in 1..<two.count { #expect(try reading(Array(two[..<count])) == .damaged, "\(count) bytes") }
    }

    @Test(arguments: 1...20)
    func `lists that were tampered with and hashed again do no more than throw`(seed: Int) throws {
        var generator = SnapshotGenerator(seed: UInt64(seed))
        let bytes = try snapshot(Self.manifest(Self.lost, marks: true), []).bytes
        let header = Array(bytes.prefix(SnapshotFormatTests.headerLength(bytes)))
        let blocks = SnapshotFormatTests.blocks(of: bytes)
        let start = blocks[0].payload.count - 40
        for _ in 0..<200 {
            var changed = blocks
            for _ in 0..<1 + generator.random.below(3) {
                let position = start + generator.random.below(max(changed[0].payload.count - start, 1))
                guard changed[0].payload.indices.contains(position) else { continue }
                switch generator.random.below(3) {
                case 0: changed[0].payload[position] = UInt8.random(in: 0...255, using: &generator.random)
                case 1: changed[0].payload[position] = generator.random.pick([0, 1, 2, 0x7F, 0x80, 0xFF])
                default: changed[0].payload.remove(at: position)
                }
            }
            let tampered = SnapshotFormatTests.assembled(header, changed)
            guard try verdict({ try readSnapshot(tampered) }) == .sound else { continue }
            // What is accepted can be written again.
            let manifest = try readSnapshot(tampered).manifest
            #expect(try readSnapshot(try snapshot(manifest, []).bytes).manifest == manifest)
        }
    }

    @Test func `no more columns are lost than a snapshot can say`() throws {
        let bytes = try bytes()
        let header = Array(bytes.prefix(SnapshotFormatTests.headerLength(bytes)))
        let blocks = SnapshotFormatTests.blocks(of: bytes)
        func error(_ count: [UInt8]) throws -> LogFileError {
            // As many bytes as so many names take at least.
            let names = [UInt8](repeating: 1, count: 2 * (SnapshotManifest.maximumLost + 1))
            let payload = blocks[0].payload + [0, 0, 1] + Self.text("a") + count + names
            var file = header
            for start in stride(from: 0, to: payload.count, by: 1 << 20) {
                let end = min(start + 1 << 20, payload.count)
                file += block(type: 1, flags: end < payload.count ? 1 : 0, Array(payload[start..<end]))
            }
            file += littleEndian(UInt64(file.count + 48))
            file += sha256(file) + header.prefix(8).reversed()
            return try #require(throws: LogFileError.self) { try SnapshotReader(MemorySource(file)) }
        }
        #expect(SnapshotManifest.maximumLost == 1 << 20)
        #expect("\(try error([0x81, 0x80, 0x40]))".contains("1048577 lost columns"))
        #expect("\(try error([0x80, 0x80, 0x40]))".contains("a lost column cannot stand here"), "as many as may be")
    }

    @Test func `a snapshot from before there were lists says in one byte that it is partial`() throws {
        let whole = try bytes()
        #expect(try !SnapshotReader(MemorySource(whole)).header.isPartial)
        let end = 41 + "notes".utf8.count
        #expect(SnapshotFormatTests.headerLength(whole) == end + 8, "it is not written any more")
        for (added, isPartial) in [([0], false), ([1], true), ([3, 7, 7], true), ([2], false)] as [([UInt8], Bool)] {
            var header = Array(whole[..<end]) + added
            let length = header.count + 8
            header[12] = UInt8(length)
            header += sha256(header).prefix(8)
            #expect(try SnapshotHeader.parse(prefix: header + [0]).isPartial == isPartial)
            #expect(try SnapshotHeader.parse(prefix: header).headerLength == length)
            let file = SnapshotFormatTests.assembled(header, SnapshotFormatTests.blocks(of: whole))
            #expect(try readSnapshot(file).rows == SnapshotFormatTests.rows)
            #expect(try readSnapshot(file).manifest.lost.isEmpty)
        }
    }

    @Test func `the golden snapshot with lost columns says what it always said`() throws {
        let url = Self.root.appending(path: "Fixtures/snapshot-format-1/lost-columns.snap")
        let written = Self.manifest(Self.lost, marks: true, of: SnapshotFormatTests.golden.manifest)
        let today = try snapshot(written, SnapshotFormatTests.golden.rows).bytes
        if ProcessInfo.processInfo.environment["LOGSYNC_WRITE_FIXTURES"] != nil,
            !FileManager.default.fileExists(atPath: url.path)
        {
            try Data(today).write(to: url)
        }
        let golden = [UInt8](try Data(contentsOf: url))
        try SnapshotFormatTests.expectSame(today, golden)
        let read = try readSnapshot(golden)
        #expect(read.manifest == Self.manifest(Self.lost, marks: true))
        #expect(read.rows == SnapshotFormatTests.rows)
    }

    /// One in which nothing is lost.
    private func bytes() throws -> [UInt8] { try snapshot(Self.manifest([]), SnapshotFormatTests.rows).bytes }

    private static func text(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + Array(text.utf8) }
}
