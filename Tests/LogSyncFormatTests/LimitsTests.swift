import Forgery
import LogSyncFormat
import LogSyncModel
import Testing

/// What no logsync writes, with all its hashes right (Documentation/log-format.md, bounds).
@Suite struct LimitsTests {
    private let beyond = Limits.sequence + 1

    private func read(_ transactions: [ForgedTransaction], sequences: (UInt64, UInt64)? = nil) throws -> Verdict {
        let file = ForgedLogFile(transactions, sequences: sequences)
        return try verdict { try readAll(file.bytes) }
    }

    private func read(_ groups: ForgedGroup..., sequence: UInt64 = 1) throws -> Verdict {
        try read([ForgedTransaction(Dot(.a, sequence), groups: groups)])
    }

    private func decoded(_ group: ForgedGroup) throws -> RowGroup {
        let file = ForgedLogFile([ForgedTransaction(Dot(.a, 1), groups: [group])])
        return try #require(try readAll(file.bytes).first?.groups.first)
    }

    // MARK: Numbers

    @Test func `a forged file without fault is sound`() throws {
        let column = ForgedGroup.Column("title", ForgedValues.texts(["Tea"]))
        #expect(try read(ForgedGroup(.insert, "note", key: "k1", integer: 5, columns: [column])) == .sound)
        let largest = ForgedTransaction(
            Dot(.a, Limits.sequence), dependencies: [Dependency(Dot(.b, Limits.sequence))],
            groups: [ForgedGroup(.delete, "note", key: "k1")])
        #expect(try read([largest]) == .sound)
    }

    @Test func `no sequence is greater than a file's name can say`() throws {
        let group = ForgedGroup(.delete, "note", key: "k1")
        for sequence in [beyond, 1 << 63, .max] {
            #expect(try read([ForgedTransaction(Dot(.a, sequence), groups: [group])]) == .damaged)
            #expect(try read([ForgedTransaction(Dot(.a, sequence), groups: [group])], sequences: (1, 1)) == .damaged)
            #expect(try read([ForgedTransaction(Dot(.a, 1), groups: [group])], sequences: (1, sequence)) == .damaged)
            let dependent = ForgedTransaction(
                Dot(.a, 1), dependencies: [Dependency(Dot(.b, sequence))], groups: [group])
            #expect(try read([dependent]) == .damaged)
        }
    }

    @Test func `an amount is added to what some transaction gave, and none of the author's later ones`() throws {
        func group(_ base: Dot) -> ForgedGroup {
            let column = ForgedGroup.Column("stars", ForgedValues.integers([1]), operation: .add, bases: [base])
            return ForgedGroup(.update, "note", key: "k1", columns: [column])
        }
        #expect(try read(group(Dot(.b, Limits.sequence))) == .sound)
        #expect(try read(group(Dot(.b, beyond))) == .damaged)
        #expect(try read(group(Dot(.b, 1 << 63 + 5))) == .damaged)
        #expect(try read(group(Dot(.a, 3)), sequence: 3) == .sound)
        #expect(try read(group(Dot(.a, 4)), sequence: 3) == .damaged)
    }

    @Test func `a row's integer is a hint only within 2⁵³, and its row is read all the same`() throws {
        let integers: [Int64] = [5, .max, -5, .min, 1 << 53, 1 << 53 + 1, -(1 << 53), -(1 << 53) - 1]
        let identities = integers.indices.map { ForgedIdentity.natural("k\($0)") }
        let group = try decoded(ForgedGroup(.insert, "note", identities: identities, integers: integers))
        #expect(group.integers == [5, nil, -5, nil, 1 << 53, nil, -(1 << 53), nil])
        #expect(group.rowCount == integers.count)
        // And what was read so can be written again.
        let transaction = Transaction(header: TransactionHeader(dot: Dot(.a, 1), time: .zero), groups: [group])
        #expect(try readAll(try file([transaction]).bytes) == [transaction])
    }

    @Test func `what ends say of rows may be anything, and adds up`() throws {
        var transaction = ForgedTransaction(Dot(.a, 1), groups: [ForgedGroup(.delete, "note", key: "k1")])
        transaction.counts[0].deleted = 1 << 48
        #expect(try read([transaction]) == .damaged)
        var counts = ChangeCounts(inserted: .max, updated: 1, deleted: .max)
        counts += ChangeCounts(inserted: .max, updated: 2, deleted: 1)
        #expect(counts == ChangeCounts(inserted: .max, updated: 3, deleted: .max))
    }

    // MARK: Texts

    @Test func `of an author and a context no more is read than is of use`() throws {
        var forged = ForgedTransaction(Dot(.a, 1), author: String(repeating: "ä", count: 1 << 20))
        // A character stands across the bound.
        forged.context = "x" + String(repeating: "語", count: 1 << 20)
        let header = try #require(try readAll(ForgedLogFile([forged]).bytes).first?.header)
        #expect(header.author == String(repeating: "ä", count: 512))
        #expect(header.context == "x" + String(repeating: "語", count: (Limits.context - 1) / 3))
        forged.author = String(repeating: "a", count: Limits.author)
        forged.context = String(repeating: "c", count: Limits.context)
        let whole = try #require(try readAll(ForgedLogFile([forged]).bytes).first?.header)
        #expect(whole.author == forged.author && whole.context == forged.context)
    }

    @Test func `no longer author and no longer context is written`() throws {
        func written(author: String? = nil, context: String? = nil) -> LogSyncError.Code? {
            let header = TransactionHeader(dot: Dot(.a, 1), time: .zero, author: author, context: context)
            let error = #expect(throws: LogSyncError.self) { try encode(Transaction(header: header, groups: [])) }
            return error?.code
        }
        #expect(written(author: String(repeating: "a", count: Limits.author + 1)) == .usage)
        #expect(written(context: String(repeating: "c", count: Limits.context + 1)) == .usage)
        let header = TransactionHeader(
            dot: Dot(.a, 1), time: .zero, author: String(repeating: "a", count: Limits.author),
            context: String(repeating: "c", count: Limits.context))
        let transaction = Transaction(header: header, groups: [])
        #expect(try readAll(try file([transaction]).bytes) == [transaction])
    }

    // MARK: Identities and columns

    @Test func `identities nest so deeply in all, however they are encoded`() throws {
        func reference(_ list: [UInt8]) throws -> Verdict {
            try read(
                ForgedGroup(
                    .update, "note", key: "k1",
                    columns: [.init("parent", ForgedValues.references(list), referencedTable: "note")]))
        }
        for shaped in 0...17 {
            for plain in [0, 1, 15, 16, 17] {
                let list = ForgedIdentity.shaped(shaped, around: ForgedIdentity.nested(plain))
                let expected: Verdict = shaped + plain <= Limits.identityDepth ? .sound : .damaged
                #expect(try reference(list) == expected, "\(shaped) + \(plain)")
            }
        }
        for depth in [16, 17] {
            let group = ForgedGroup(.delete, "note", identities: [ForgedIdentity.nested(depth)])
            #expect(try read(group) == (depth == 16 ? .sound : .damaged))
        }
    }

    @Test func `the keys of one table have as many parts each, and at least one`() throws {
        func keys(_ parts: [Int]) -> [[UInt8]] {
            parts.enumerated().map { index, count in
                Array(RowIdentity(natural: (0..<count).map { .integer(Int64($0 + index)) }).bytes)
            }
        }
        let surrogate = [UInt8](repeating: 0, count: 17)
        #expect(try read(ForgedGroup(.delete, "note", identities: keys([2, 2]) + [surrogate])) == .sound)
        #expect(try read(ForgedGroup(.delete, "note", identities: keys([1, 2]))) == .damaged)
        #expect(try read(ForgedGroup(.delete, "note", identities: keys([0]))) == .damaged)
        let column = ForgedGroup.Column("parent", ForgedValues.references(ForgedIdentity.plain(keys([0]))))
        #expect(try read(ForgedGroup(.update, "note", key: "k1", columns: [column])) == .damaged)
    }

    @Test func `two columns of a group are two for SQLite, too`() throws {
        func columns(_ names: String...) throws -> Verdict {
            try read(
                ForgedGroup(.update, "note", key: "k1", columns: names.map { .init($0, ForgedValues.nulls()) }))
        }
        #expect(try columns("title", "Title2", "TITLE 3") == .sound)
        #expect(try columns("title", "tiTle") == .damaged)
        #expect(try columns("ä", "Ä") == .sound, "SQLite folds ASCII alone")
    }

    // MARK: Expansion

    @Test func `rows share a frame within two mebibytes; one alone may be longer`() throws {
        func group(_ key: String, _ length: Int) -> ForgedGroup {
            let text = String(repeating: "x", count: length)
            return ForgedGroup(.insert, "note", key: key, columns: [.init("body", ForgedValues.texts([text]))])
        }
        #expect(try read(group("k1", 5 << 20)) == .sound)
        #expect(try read(group("k1", 1 << 20), group("k2", 900_000)) == .sound)
        #expect(try read(group("k1", 1 << 20), group("k2", 1 << 20)) == .damaged)
        #expect(try read(group("k1", 3 << 20), group("k2", 1)) == .damaged)
        // Two rows in one group: refused before the third block is unpacked.
        let texts = [String(repeating: "x", count: 3 << 20), "y"]
        let both = ForgedGroup(
            .insert, "note", identities: ["k1", "k2"].map(ForgedIdentity.natural),
            columns: [.init("body", ForgedValues.texts(texts))])
        let error = try #require(throws: LogFileError.self) {
            try readAll(ForgedLogFile([ForgedTransaction(Dot(.a, 1), groups: [both])]).bytes)
        }
        #expect("\(error)".contains("a payload longer than \(Limits.sharedFrameLength)"))
    }

    /// A frame of one row with so many mebibytes of zeros.
    private func bomb(mebibytes: Int) -> ForgedTransaction {
        let zeros = [UInt8](repeating: 0, count: mebibytes << 20)
        let column = ForgedGroup.Column("body", [5] + Forge.varint(UInt64(zeros.count)) + zeros)
        var transaction = ForgedTransaction(
            Dot(.a, 1), groups: [ForgedGroup(.insert, "note", key: "k1", columns: [column])])
        transaction.compresses = true
        return transaction
    }

    @Test func `a small file is not unpacked to a large one, also where its rows are passed over`() throws {
        let fits = ForgedLogFile([bomb(mebibytes: 60)])
        #expect(fits.bytes.count < 20_000)
        #expect(try verdict { try readAll(fits.bytes) } == .sound)
        let file = ForgedLogFile([bomb(mebibytes: 100)])
        #expect(try verdict { try readAll(file.bytes) } == .tooLarge)
        let verdict = try verdict {
            let reader = try LogFileReader(MemorySource(file.bytes))
            _ = try #require(try reader.nextTransaction()).finish()
        }
        #expect(verdict == .tooLarge)
        let reader = try LogFileReader(MemorySource(file.bytes), maximumExpansion: 200 << 20)
        _ = try #require(try reader.nextTransaction()).finish()
        // Its hashes say nothing of it.
        _ = try LogFileReader(MemorySource(file.bytes)).verify()
    }

    @Test func `a value that stands once is not that of ever so many rows`() throws {
        func file(rows: Int, bytes: Int) -> ForgedLogFile {
            let value = [UInt8](repeating: 0x78, count: bytes)
            let group = ForgedGroup(
                .insert, "note", identities: (0..<rows).map { ForgedIdentity.natural("\($0)") },
                columns: [.init("body", ForgedValues.constant(value))])
            var transaction = ForgedTransaction(Dot(.a, 1), groups: [group])
            transaction.compresses = true
            return ForgedLogFile([transaction])
        }
        #expect(try verdict { try readAll(file(rows: 60, bytes: 1 << 20).bytes) } == .sound)
        #expect(try verdict { try readAll(file(rows: 100, bytes: 1 << 20).bytes) } == .tooLarge)
        #expect(try verdict { try readAll(file(rows: 100_000, bytes: 100).bytes) } == .sound)
        let reader = try LogFileReader(
            MemorySource(file(rows: 100, bytes: 1 << 20).bytes), maximumExpansion: 200 << 20)
        #expect(try reader.nextTransaction()?.nextFrame()?.first?.rowCount == 100)
    }

    // MARK: Snapshots

    private func read(_ snapshot: ForgedSnapshot) throws -> Verdict { try verdict { try readSnapshot(snapshot.bytes) } }

    @Test func `a snapshot's sequences are those of transactions`() throws {
        #expect(try read(ForgedSnapshot(by: .a, vector: [(.a, 1), (.b, Limits.sequence)])) == .sound)
        for sequence in [beyond, UInt64(Int64.max), .max] {
            #expect(try read(ForgedSnapshot(by: .a, vector: [(.a, 1), (.b, sequence)])) == .damaged)
            #expect(try read(ForgedSnapshot(by: .a, vector: [(.a, sequence)])) == .damaged)
        }
        func branch(start: UInt64) -> [UInt8] {
            [1] + PeerID.b.bytes + Forge.varint(start) + Forge.littleEndian(UInt64(9)) + PeerID.b.bytes
                + Forge.littleEndian(UInt64(3)) + [0]
        }
        func marks(first: UInt64) -> [UInt8] {
            [0, 1] + PeerID.b.bytes + Forge.varint(first) + [2] + Forge.littleEndian(UInt64(1))
                + Forge.littleEndian(UInt64(2))
        }
        var snapshot = ForgedSnapshot(by: .a, vector: [(.a, 1), (.b, 5)])
        for (rest, expected) in [
            (branch(start: Limits.sequence), Verdict.sound), (branch(start: beyond), .damaged),
            (marks(first: Limits.sequence - 1), .sound), (marks(first: Limits.sequence), .damaged),
            (marks(first: .max), .damaged),
        ] {
            snapshot.rest = rest
            #expect(try read(snapshot) == expected)
        }
    }

    @Test func `numbers that AUTOINCREMENT cannot go on from are not those of a snapshot`() throws {
        var snapshot = ForgedSnapshot(by: .a, vector: [(.a, 1)])
        snapshot.sequences = [("a", 7), ("b", .max), ("c", 1 << 53), ("d", 1 << 53 + 1), ("e", .min)]
        #expect(try readSnapshot(snapshot.bytes).manifest.sequences == ["a": 7, "c": 1 << 53])
        snapshot.sequences = [("a", .max), ("a", 7)]
        #expect(try read(snapshot) == .damaged)
    }

    @Test func `a snapshot's rows keep to the same bounds`() throws {
        var snapshot = ForgedSnapshot(by: .a, vector: [(.a, 1)])
        snapshot.counts = [("note", 2)]
        let stamps: [UInt8] = [0, 0, 1, 0]
        func plain(_ identities: [[UInt8]], integers: [Int64]) -> [UInt8] {
            [1, 1] + Forge.text("note") + [2] + ForgedIdentity.plain(identities) + stamps
                + Forge.differences(integers) + [0]
        }
        let keys = ["k1", "k2"].map(ForgedIdentity.natural)
        snapshot.frames = [plain(keys, integers: [.max, 3])]
        guard case .plain(let rows) = try #require(try readSnapshot(snapshot.bytes).rows.first) else { return }
        #expect(rows.integers == [nil, 3])
        snapshot.frames = [plain([keys[0], [1]], integers: [1, 2])]
        #expect(try read(snapshot) == .damaged, "a key without parts")
        snapshot.frames = [plain([keys[0], keys[1] + keys[1].dropFirst()], integers: [1, 2])]
        #expect(try read(snapshot) == .sound, "rows from before a table was made anew with another key")

        func spelled(_ base: UInt64, integer: Int64) -> [UInt8] {
            [2, 0] + Forge.text("note") + [1] + ForgedIdentity.plain([keys[0]]) + ForgedValues.integers([integer])
                + [1] + Forge.text("stars") + [1, 0, 1] + [0, 0, 1] + stamps + [0] + ForgedValues.integers([4])
                + [0] + Forge.varint(base)
        }
        snapshot.counts = [("note", 1)]
        snapshot.frames = [spelled(Limits.sequence, integer: .min)]
        guard case .spelled(let other) = try #require(try readSnapshot(snapshot.bytes).rows.first) else { return }
        #expect(other.rows.map(\.integer) == [nil])
        for base: UInt64 in [beyond, 1 << 63 - 1, 1 << 63 + 5] {
            snapshot.frames = [spelled(base, integer: 1)]
            #expect(try read(snapshot) == .damaged)
        }
    }

    @Test func `a snapshot is not unpacked to ever so much either`() throws {
        var snapshot = ForgedSnapshot(by: .a, vector: [(.a, 1)])
        snapshot.compresses = true
        snapshot.counts = [("note", 1)]
        let zeros = [UInt8](repeating: 0, count: 100 << 20)
        snapshot.frames = [
            [1, 0] + Forge.text("note") + [1] + ForgedIdentity.plain([ForgedIdentity.natural("k1")]) + [0, 0, 1, 0]
                + [1] + Forge.text("body") + [0, 5] + Forge.varint(UInt64(zeros.count)) + zeros
        ]
        let bytes = snapshot.bytes
        #expect(try read(snapshot) == .tooLarge)
        #expect(try verdict { try SnapshotReader(MemorySource(bytes)).skip(.max) } == .tooLarge)
        let reader = try SnapshotReader(MemorySource(bytes), maximumExpansion: 200 << 20)
        #expect(try reader.next()?.count == 1)
    }
}
