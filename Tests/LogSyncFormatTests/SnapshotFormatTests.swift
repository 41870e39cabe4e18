import Foundation
import LogSyncFormat
import LogSyncModel
import Testing

/// Writes a snapshot into memory.
func snapshot(
    _ manifest: SnapshotManifest, _ rows: [SnapshotRows], content: String = "notes"
) throws -> (bytes: [UInt8], hash: FileHash) {
    let sink = Sink()
    let writer = try SnapshotWriter(content: content, peer: .a, manifest: manifest) { sink.bytes += $0 }
    for rows in rows { try writer.append(rows) }
    let hash = try writer.finish()
    return (sink.bytes, hash)
}

/// Everything that a snapshot says; checks all that a reader can.
@discardableResult
func readSnapshot(_ bytes: [UInt8]) throws -> (manifest: SnapshotManifest, rows: [SnapshotRows]) {
    let reader = try SnapshotReader(MemorySource(bytes))
    _ = try reader.verify()
    var all: [SnapshotRows] = []
    while let rows = try reader.next() { all.append(rows) }
    return (reader.manifest, all)
}

@Suite struct SnapshotFormatTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    private static let time = HybridTime(milliseconds: 1_700_000_000_000, counter: 3)

    static let manifest = makeManifest(sequences: ["note": 12])

    /// - Parameter sequences: the golden file has one besides that no reader makes use of.
    private static func makeManifest(sequences: [String: Int64]) -> SnapshotManifest {
        SnapshotManifest(
            taken: 1_700_000_000_500, digest: 0x0123_4567_89AB_CDEF,
            schema: fingerprint,
            schemaText: "CREATE TABLE note(id TEXT PRIMARY KEY, title);\n",
            peers: [
                .init(
                    id: .b, sequence: 41, chain: ChainHash(bytes: [UInt8](repeating: 2, count: 32)) ?? .zero,
                    dependencies: VersionVector([.a: 5])),
                .init(
                    id: .a, sequence: 7, chain: ChainHash(bytes: [UInt8](repeating: 1, count: 32)) ?? .zero,
                    dependencies: VersionVector([.b: 40])),
            ], sequences: sequences)
    }

    private static let fingerprint: SchemaFingerprint = {
        guard let fingerprint = SchemaFingerprint(bytes: [UInt8](repeating: 7, count: 16)) else {
            preconditionFailure("16 bytes are a fingerprint")
        }
        return fingerprint
    }()

    /// Every kind of rows, stamps and entries.
    static let rows = makeRows(integer: nil)

    /// - Parameter integer: of one row; the golden file has one that no reader takes over.
    private static func makeRows(integer: Int64?) -> [SnapshotRows] {
        func key(_ text: String) -> RowIdentity { RowIdentity(natural: [.text(Array(text.utf8)[...])]) }
        let first = EntryStamp(peer: 0, sequence: 1, time: .zero)
        let second = EntryStamp(peer: 1, sequence: 41, time: time)
        let third = EntryStamp(peer: 0, sequence: 7, time: time.successor)
        let surrogates = (UInt8(1)...3).map { RowIdentity(surrogate: [UInt8](repeating: 0xC0, count: 15) + [$0]) }
        return [
            .plain(
                PlainRows(
                    table: "note", identities: [key("k1"), key("k2")], stamps: [first, first],
                    columns: [
                        .init(name: "id", values: [.text("k1"), .text("k2")]),
                        .init(name: "title", values: [.text("Tea"), .null]),
                    ])),
            .plain(
                PlainRows(
                    table: "album", identities: surrogates, integers: [3, -1, integer], stamps: [first, second, third],
                    columns: [
                        .init(name: "artist", values: surrogates.map { .reference($0) }),
                        .init(
                            name: "title", values: [.text(""), .blob([0]), .real(-0.0)],
                            exceptions: [.init(row: 0, stamp: third), .init(row: 2, stamp: second)]),
                        .init(name: "gone", values: nil, exceptions: [.init(row: 1, stamp: third)]),
                    ])),
            .spelled(
                SpelledRows(
                    table: "note",
                    rows: [
                        .init(
                            identity: key("k3"), integer: 9, inserts: [first, second], deletes: [],
                            cells: [
                                .init(
                                    column: "title",
                                    versions: [
                                        .init(stamp: first, value: .text("one")), .init(stamp: third, value: nil),
                                    ],
                                    additions: [
                                        .init(
                                            basePeer: 1, baseSequence: 3, stamp: second, cumulative: .real(0.5))
                                    ]),
                                .init(column: "stars", versions: [.init(stamp: second, value: .null)]),
                            ]),
                        .init(
                            identity: surrogates[0], inserts: [], deletes: [third],
                            cells: [.init(column: "stars", versions: [.init(stamp: second, value: .integer(5))])]),
                        .init(identity: key("k4"), inserts: [third]),
                    ])),
        ]
    }

    /// What the golden files were written from.
    static let golden = (
        manifest: makeManifest(sequences: ["note": 12, "album": .max]), rows: makeRows(integer: .max)
    )

    @Test func `what is written is read back, and the hash is the file's`() throws {
        let (bytes, hash) = try snapshot(Self.manifest, Self.rows)
        let read = try readSnapshot(bytes)
        #expect(read.manifest == Self.manifest)
        #expect(read.rows == Self.rows)
        #expect(try SnapshotReader(MemorySource(bytes)).verify() == hash)
        #expect(hash.bytes == sha256(bytes))
        let reader = try SnapshotReader(MemorySource(bytes))
        #expect(reader.header.content == "notes" && reader.header.peer == .a && reader.header.sequence == 7)
        #expect(reader.manifest.vector == VersionVector([.a: 7, .b: 41]))
        try reader.skip(2)
        #expect(try reader.next() == Self.rows[2])
        #expect(try reader.next() == nil)
        #expect(try readSnapshot(try snapshot(Self.manifest, []).bytes).rows.isEmpty)
    }

    @Test(.timeLimit(.minutes(1))) func `passing over more frames than there are ends at the end`() throws {
        let reader = try SnapshotReader(MemorySource(try snapshot(Self.manifest, Self.rows).bytes))
        try reader.skip(.max)
        #expect(reader.frame == Self.rows.count)
        #expect(try reader.next() == nil)
    }

    @Test(arguments: 1...20)
    func `random rows are read back`(seed: Int) throws {
        var generator = SnapshotGenerator(seed: UInt64(seed))
        let rows = (0..<5).map { _ in generator.rows(Self.manifest) }
        #expect(try readSnapshot(try snapshot(Self.manifest, rows).bytes).rows == rows)
    }

    @Test func `a row larger than a block takes several`() throws {
        let big = Value.blob((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 13) }[...])
        let rows = PlainRows(
            table: "file", identities: [RowIdentity(natural: [.integer(1)])],
            stamps: [EntryStamp(peer: 0, sequence: 1, time: .zero)], columns: [.init(name: "content", values: [big])])
        #expect(try readSnapshot(try snapshot(Self.manifest, [.plain(rows)]).bytes).rows == [.plain(rows)])
    }

    @Test func `every truncation is incomplete, and bytes after the end are noticed`() throws {
        let bytes = try snapshot(Self.manifest, Self.rows).bytes
        for count in bytes.indices {
            #expect(try verdict { try readSnapshot(Array(bytes[..<count])) } == .incomplete, "\(count) bytes")
        }
        #expect(try verdict { try readSnapshot(bytes + [0]) } != .sound)
        #expect(try verdict { try readSnapshot(bytes + bytes) } == .damaged)
        #expect(try verdict { try readSnapshot([0]) } == .damaged)
        #expect(try verdict { try readSnapshot(try file(smallTransactions()).bytes) } == .damaged)
    }

    @Test func `every flipped bit is detected by verifying alone`() throws {
        let bytes = try snapshot(Self.manifest, Self.rows).bytes
        for position in bytes.indices {
            for bit in 0..<8 {
                var flipped = bytes
                flipped[position] ^= 1 << bit
                let verdict = try verdict { _ = try SnapshotReader(MemorySource(flipped)).verify() }
                #expect(verdict == .damaged || verdict == .incomplete, "bit \(bit) of byte \(position)")
            }
        }
    }

    @Test(arguments: 1...40)
    func `payloads that were tampered with and hashed again do no more than throw`(seed: Int) throws {
        var generator = SnapshotGenerator(seed: UInt64(seed))
        let bytes = try snapshot(Self.manifest, Self.rows).bytes
        let blocks = Self.blocks(of: bytes)
        for _ in 0..<150 {
            var changed = blocks
            let block = generator.random.below(blocks.count)
            for _ in 0..<1 + generator.random.below(3) {
                let position = generator.random.below(max(changed[block].payload.count, 1))
                guard changed[block].payload.indices.contains(position) else { continue }
                switch generator.random.below(3) {
                case 0: changed[block].payload[position] = UInt8.random(in: 0...255, using: &generator.random)
                case 1: changed[block].payload[position] = generator.random.pick([0, 1, 0x7F, 0x80, 0xFF])
                default: changed[block].payload.remove(at: position)
                }
            }
            let tampered = Self.assembled(Array(bytes[..<Self.headerLength(bytes)]), changed)
            let read = try verdict { try readSnapshot(tampered) }
            guard read == .sound else { continue }
            // What is accepted can be written again.
            let (manifest, rows) = try readSnapshot(tampered)
            #expect(try readSnapshot(try snapshot(manifest, rows).bytes).rows == rows)
        }
    }

    @Test func `what contradicts itself is damage, and what is unknown a newer format`() throws {
        let bytes = try snapshot(Self.manifest, Self.rows).bytes
        let blocks = Self.blocks(of: bytes)
        let header = Array(bytes[..<Self.headerLength(bytes)])
        func read(_ blocks: [(type: UInt8, payload: [UInt8])]) throws -> Verdict {
            try verdict { try readSnapshot(Self.assembled(header, blocks)) }
        }
        #expect(try read(blocks) == .sound)
        #expect(try read(blocks.dropLast()) == .damaged, "no end")
        #expect(try read(blocks + [blocks[1]]) == .damaged, "rows after the end")
        #expect(try read([blocks[0]] + blocks) == .damaged, "two manifests")
        #expect(try read(Array(blocks.dropFirst())) == .damaged, "no manifest")
        #expect(try read([blocks[0], blocks[1], blocks[3], blocks[4]]) == .damaged, "a frame is missing")
        func frame(_ payload: [UInt8]) throws -> Verdict { try read([blocks[0], (2, payload), blocks[4]]) }
        let huge: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]
        #expect(try frame([3, 0, 1, 0x74]) == .newerFormat, "a kind of rows")
        #expect(try frame([1, 2, 1, 0x74]) == .newerFormat, "a flag")
        #expect(try frame([1, 0] + huge) == .damaged, "a name's length")
        #expect(try frame([1, 0, 1, 0x74] + huge) == .damaged, "a count of rows")
        #expect(try frame([1, 0, 1, 0x74, 0]) == .damaged, "no rows")
        let row: [UInt8] = [1, 0, 1, 0x74, 1, 2, 1, 1, 2]
        #expect(try frame(row + [3]) == .newerFormat, "an encoding of stamps")
        #expect(try frame(row + [0, 2, 1, 0, 0]) == .damaged, "a peer beyond the last")
        #expect(try frame(row + [0, 0, 8, 0, 0]) == .damaged, "a sequence beyond the vector")
        #expect(try frame(row + [0, 0, 0, 0, 0]) == .damaged, "no sequence")
        #expect(try frame(row + [0, 0, 1, 0] + huge) == .damaged, "a count of columns")
        #expect(try frame(row + [0, 0, 1, 0, 1, 1, 0x63, 4]) == .newerFormat, "a column's flag")
        #expect(try frame(row + [0, 0, 1, 0, 1, 1, 0x63, 3] + huge) == .damaged, "a count of exceptions")
        #expect(try frame(row + [0, 0, 1, 0, 1, 1, 0x63, 3, 1, 1, 0, 0, 1, 0]) == .damaged, "an exception's row")
        let spelled: [UInt8] = [2, 0, 1, 0x74, 1, 2, 1, 1, 2]
        #expect(try frame(spelled + [8, 0]) == .damaged, "a part of a key that stands alone")
        #expect(try frame(spelled + [0] + huge) == .damaged, "a count of columns")
        #expect(try frame(spelled + [0, 0] + huge) == .damaged, "a count of inserts")
        #expect(try frame(spelled + [0, 0, 0, 0, 1, 0, 0, 0]) == .damaged, "a cell of no column")
        #expect(try frame(spelled + [0, 1, 1, 0x63, 0, 0, 1, 0, 0, 0]) == .damaged, "a cell without entries")
        #expect(try frame(spelled + [0, 1, 1, 0x63, 0, 0, 1, 0] + huge + [0]) == .damaged, "a count of versions")
    }

    /// Two branches of a's history, of which each may go off from the other.
    @Test(arguments: [(1, 3, true), (3, 1, false), (3, 3, false), (2, nil, false)] as [(UInt64, UInt64?, Bool)])
    func `a branch goes off from its origin, or from a branch that begins earlier`(
        start: UInt64, later: UInt64?, isSound: Bool
    ) throws {
        let marks = [ChainMark(rawValue: 20), ChainMark(rawValue: 30)]
        let ids = marks.map { Branch.id(of: $0, origin: .a) }
        func branch(_ index: Int, start: UInt64, from parent: PeerID) -> Branch {
            Branch(origin: .a, start: start, mark: marks[index], parent: parent, kept: ChainMark(rawValue: 1))
        }
        var manifest = Self.manifest
        manifest.branches =
            if let later {
                [branch(0, start: start, from: .a), branch(1, start: later, from: ids[0])]
            } else { [branch(0, start: start, from: ids[0])] }
        manifest.branches.sort { $0.id < $1.id }
        let written = try snapshot(manifest, []).bytes
        if isSound {
            #expect(try readSnapshot(written).manifest.branches == manifest.branches)
        } else {
            #expect(throws: LogFileError.self) { try readSnapshot(written) }
        }
    }

    @Test func `rows that cost nothing cannot fill the memory of who reads them`() throws {
        let bytes = try snapshot(Self.manifest, Self.rows).bytes
        let blocks = Self.blocks(of: bytes)
        let rows = 200_000
        var payload: [UInt8] = [1, 0, 1, 0x74, 0xC0, 0x9A, 0x0C, 2, 1, 1]
        payload += [UInt8](repeating: 2, count: rows) + [0, 0, 1, 0, 100]
        for column in UInt8(0)..<100 { payload += [2, 0x61 + column / 26, 0x61 + column % 26, 2] }
        let error = try #require(throws: LogFileError.self) {
            try readSnapshot(
                Self.assembled(Array(bytes[..<Self.headerLength(bytes)]), [blocks[0], (2, payload), blocks[4]]))
        }
        #expect("\(error)".contains("cells"))
    }

    @Test func `the golden snapshot of version 1 says what it always said`() throws {
        let url = Self.root.appending(path: "Fixtures/snapshot-format-1/every-entry.snap")
        if ProcessInfo.processInfo.environment["LOGSYNC_WRITE_FIXTURES"] != nil,
            !FileManager.default.fileExists(atPath: url.path)
        {
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(try snapshot(Self.golden.manifest, Self.golden.rows, content: "golden").bytes).write(to: url)
        }
        let golden = [UInt8](try Data(contentsOf: url))
        let read = try readSnapshot(golden)
        #expect(read.manifest == Self.manifest)
        #expect(read.rows == Self.rows)
        #expect(try SnapshotReader(MemorySource(golden)).header.content == "golden")
        try Self.expectSame(try snapshot(Self.golden.manifest, Self.golden.rows, content: "golden").bytes, golden)
    }

    /// Expects two files to be the same but for what compressing made of them.
    static func expectSame(_ a: [UInt8], _ b: [UInt8]) throws {
        #expect(a[..<headerLength(a)] == b[..<headerLength(b)])
        let (left, right) = (blocks(of: a), blocks(of: b))
        #expect(left.map(\.type) == right.map(\.type) && left.map(\.payload) == right.map(\.payload))
    }

    // MARK: Taking files apart

    static func headerLength(_ bytes: [UInt8]) -> Int {
        Int(bytes[12..<16].reversed().reduce(0 as UInt32) { $0 << 8 | UInt32($1) })
    }

    /// The raw payloads of blocks that are stored as they are.
    static func blocks(of bytes: [UInt8]) -> [(type: UInt8, payload: [UInt8])] {
        var blocks: [(type: UInt8, payload: [UInt8])] = []
        var offset = headerLength(bytes)
        while offset < bytes.count - 48 {
            let stored = Int(
                bytes[(offset + 7)..<(offset + 11)].reversed().reduce(0 as UInt32) { $0 << 8 | UInt32($1) })
            let payload = Array(bytes[(offset + 19)..<(offset + 19 + stored)])
            let raw = Int(bytes[(offset + 3)..<(offset + 7)].reversed().reduce(0 as UInt32) { $0 << 8 | UInt32($1) })
            blocks.append((bytes[offset], bytes[offset + 1] == 0 ? payload : decompress(payload, raw)))
            offset += 19 + stored
        }
        return blocks
    }

    /// A file of such blocks, every hash right.
    static func assembled(_ header: [UInt8], _ blocks: [(type: UInt8, payload: [UInt8])]) -> [UInt8] {
        var bytes = header
        for (type, payload) in blocks { bytes += block(type: type, payload) }
        bytes += littleEndian(UInt64(bytes.count + 48))
        return bytes + sha256(bytes) + header.prefix(8).reversed()
    }
}

/// Random rows that reach every encoding.
struct SnapshotGenerator {
    var generator: Generator
    var random: SeededGenerator {
        get { generator.random }
        set { generator.random = newValue }
    }

    init(seed: UInt64) { generator = Generator(seed: seed) }

    mutating func stamp(_ manifest: SnapshotManifest) -> EntryStamp {
        let peer = random.below(manifest.peers.count)
        return EntryStamp(
            peer: peer, sequence: 1 + random.next() % manifest.peers[peer].sequence, time: generator.time())
    }

    mutating func stamps(_ count: Int, _ manifest: SnapshotManifest) -> [EntryStamp] {
        let constant = stamp(manifest)
        return random.chance(2)
            ? Array(repeating: constant, count: count) : (0..<count).map { _ in stamp(manifest) }
    }

    mutating func rows(_ manifest: SnapshotManifest) -> SnapshotRows {
        let count = 1 + random.below(20)
        let identities = generator.identities(count)
        if random.chance(2) {
            var rows = PlainRows(table: "t", identities: identities, stamps: stamps(count, manifest))
            if random.chance(2) { rows.integers = (0..<count).map { _ in generator.rowNumber() } }
            for index in 0..<random.below(5) {
                var column = PlainRows.Column(name: "column \(index)")
                column.values = random.chance(6) ? nil : (0..<count).map { _ in generator.value() }
                let changed = (0..<count).filter { _ in random.chance(4) }
                column.exceptions = changed.map { PlainRows.Exception(row: $0, stamp: stamp(manifest)) }
                rows.columns.append(column)
            }
            return .plain(rows)
        }
        return .spelled(SpelledRows(table: "t", rows: identities.map { row($0, manifest) }))
    }

    private mutating func row(_ identity: RowIdentity, _ manifest: SnapshotManifest) -> SpelledRows.Row {
        var row = SpelledRows.Row(identity: identity)
        if random.chance(2) { row.integer = generator.rowNumber() }
        row.inserts = stamps(random.below(3), manifest)
        row.deletes = stamps(random.below(2), manifest)
        for index in 0..<random.below(4) {
            var cell = SpelledRows.Cell(column: "column \(index)")
            for stamp in stamps(1 + random.below(2), manifest) {
                cell.versions.append(.init(stamp: stamp, value: random.chance(5) ? nil : generator.value()))
            }
            if random.chance(3) {
                cell.additions.append(
                    .init(
                        basePeer: random.below(2), baseSequence: generator.sequence(), stamp: stamp(manifest),
                        cumulative: random.chance(2) ? .integer(generator.integer()) : .real(0.25)))
            }
            row.cells.append(cell)
        }
        return row
    }
}
