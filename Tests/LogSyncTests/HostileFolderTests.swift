import Forgery
import Foundation
import LogSync
import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging
import Testing

/// What somebody can do who writes the shared folder, with right hashes and names: nobody stops, and nothing stays behind.
@Suite("Whatever is put into the shared folder")
struct HostileFolderTests {
    private let world: World
    private let a: Machine
    private let b: Machine
    private let folder: ForgedFolder
    private let stranger = PeerID(high: 0x5747_0000_0000_0000, low: 1)

    init() async throws {
        world = try World()
        a = try await world.founder("a", rows: ["one"])
        b = try await world.clone("b")
        try await settle(a, b)
        folder = ForgedFolder(world.contentPath)
    }

    /// Everybody goes on, and who comes anew gets all of it.
    private func expectUnharmed(_ comment: Comment? = nil) async throws {
        try a.insert("after")
        for machine in [a, b, a] { try await machine.sync() }
        for machine in [a, b] {
            #expect(try machine.ids() == ["after", "one"], comment)
            _ = try await machine.status()
            _ = try await Replicator.doctor(machine.path, configuration: machine.configuration)
        }
        try await b.snapshot()
        _ = try await b.compact()
        #expect(try await world.clone("c").ids() == ["after", "one"], comment)
    }

    /// Forges the stranger's first transaction, and expects it to be held.
    private func expectHeld(
        _ transaction: ForgedTransaction, as reason: HeldItem.Reason = .damaged, _ comment: Comment? = nil
    ) async throws {
        let name = try folder.put(ForgedLogFile([transaction]), of: stranger)
        let held = try await b.sync().held
        #expect(held.map(\.reason) == [reason], comment)
        #expect(held.map(\.file) == [name], comment)
        try await expectUnharmed(comment)
    }

    private func update(_ column: ForgedGroup.Column) -> ForgedTransaction {
        ForgedTransaction(Dot(stranger, 1), groups: [ForgedGroup(.update, "note", key: "one", columns: [column])])
    }

    // MARK: Files

    @Test("Room for a terabyte, which costs nothing to make, is not read")
    func room() async throws {
        let hash = String(repeating: "0", count: 32)
        for file in [
            "logs/000000000001-000000000001-\(hash).tlog", "snapshots/000000000001-\(hash).snap", "blobs/\(hash)",
            "schemas/\(hash).sql",
        ] {
            try folder.write([], to: file, of: stranger)
            let handle = try #require(FileHandle(forWritingAtPath: "\(folder.peer(stranger))/\(file)"))
            try handle.truncate(atOffset: 1 << 40)
            try handle.close()
        }
        for machine in [a, b] {
            try await machine.sync()
            _ = try await Replicator.verify(machine.path, configuration: machine.configuration)
        }
        _ = try await Replicator.doctor(world.container, configuration: a.configuration)
        _ = try await Replicator.verify(world.container, configuration: a.configuration)
        try await expectUnharmed()
    }

    @Test("A sound log file under another hash is held as damaged")
    func otherHash() async throws {
        try a.insert("after")
        try await a.sync()
        let peer = try await a.peer()
        let name = try #require(try world.logs(peer).last)
        let other = name.replacing(/[0-9a-f]{32}/, with: String(repeating: "0", count: 32))
        let logs = world.logsPath(peer)
        try FileManager.default.moveItem(atPath: "\(logs)/\(name)", toPath: "\(logs)/\(other)")
        let result = try await b.sync()
        #expect(result.held.map(\.reason) == [.damaged])
        #expect(result.held.map(\.file) == [other])
        #expect(try b.ids() == ["one"])
        // Its owner writes it again, and all is well.
        try await settle(a, b)
        #expect(try b.ids() == ["after", "one"])
    }

    @Test("A stranger's file without fault is imported")
    func stranger() async throws {
        let column = ForgedGroup.Column("body", ForgedValues.texts(["forged"]))
        try folder.put(ForgedLogFile([update(column)]), of: stranger)
        #expect(try await b.sync().imported == 1)
        #expect(try b.notes() == ["one=forged"])
    }

    // MARK: Numbers

    @Test(
        "A receipt of one's own with a counter that nobody comes to is written anew",
        arguments: [.max, .max - 1, 1 << 52] as [UInt64])
    func ownReceipt(counter: UInt64) async throws {
        let peer = try await a.peer()
        try folder.changeReceipt(of: peer) {
            $0.replacing(/"counter":[0-9]+/, with: "\"counter\":\(counter)")
        }
        try await a.sync()
        _ = try await a.with { try await $0.export() }
        let receipt = try String(contentsOfFile: "\(folder.peer(peer))/receipt.json", encoding: .utf8)
        #expect(!receipt.contains("\"counter\":\(counter)"))
        #expect(try await a.peer() == peer)
        try await expectUnharmed()
    }

    @Test("What a former version caught up with is forgotten", arguments: [.max, .max - 1, 1 << 53] as [UInt64])
    func poisonedState(counter: UInt64) async throws {
        let peer = try await a.peer()
        let url = URL(fileURLWithPath: "\(a.configuration.stateDirectory)/stores/\(peer).json")
        let state = try String(contentsOf: url, encoding: .utf8)
        let poisoned = state.replacing(/"receiptCounter":[0-9]+/, with: "\"receiptCounter\":\(counter)")
        try poisoned.write(to: url, atomically: true, encoding: .utf8)
        try await a.sync()
        #expect(try await a.peer() == peer)
        try await expectUnharmed()
    }

    @Test("A receipt says nothing in which a number is one that no peer comes to")
    func receiptNumbers() async throws {
        let peer = try await b.peer()
        for key in ["published", "collectionEpoch", "counter"] {
            let entry = try Regex("\"\(key)\":[0-9]+")
            try folder.changeReceipt(of: peer) { $0.replacing(entry, with: "\"\(key)\":\(UInt64.max)") }
            try await a.sync()
            for path in [a.path, world.container] {
                _ = try await Replicator.doctor(path, configuration: a.configuration)
            }
        }
        try await expectUnharmed()
    }

    @Test(
        "A vector beyond all transactions is no snapshot's", arguments: [UInt64(Int64.max), .max, Limits.sequence + 1])
    func vector(sequence: UInt64) async throws {
        let others = (2...4).map { (id: PeerID(high: stranger.high, low: $0), sequence: sequence) }
        try folder.put(ForgedSnapshot(by: stranger, vector: [(stranger, 1)] + others))
        try await expectUnharmed()
    }

    @Test("Sequences beyond all transactions are no dependencies, not where a fork is either")
    func dependency() async throws {
        let column = ForgedGroup.Column("stars", ForgedValues.integers([3]))
        let group = ForgedGroup(.update, "note", key: "one", columns: [column])
        let first = ForgedTransaction(Dot(stranger, 1), groups: [group])
        var other = first
        other.time = other.time.successor
        for transaction in [first, other] { try folder.put(ForgedLogFile([transaction]), of: stranger) }
        try await b.sync()
        // The one with the higher mark goes on under the branch's id.
        let marks = [first, other].map { $0.segment().chain.mark }
        let branch = Branch.id(of: try #require(marks.max()), origin: stranger)
        let dependent = PeerID(high: stranger.high, low: 2)
        for sequence in [UInt64.max, Limits.sequence + 1] {
            let transaction = ForgedTransaction(
                Dot(dependent, 1), dependencies: [Dependency(Dot(branch, sequence))], groups: [group])
            try folder.put(ForgedLogFile([transaction]), of: dependent)
            #expect(try await b.sync().held.contains { $0.peer.id == dependent && $0.reason == .damaged })
            _ = try await b.status()
            try FileManager.default.removeItem(atPath: folder.peer(dependent))
        }
        try await expectUnharmed()
    }

    // MARK: Rows

    @Test("A reference nested more deeply than a store reads")
    func nested() async throws {
        let list = ForgedIdentity.shaped(15, around: ForgedIdentity.nested(15))
        try await expectHeld(update(.init("body", ForgedValues.references(list), referencedTable: "note")))
    }

    @Test("An amount added to what no transaction gave", arguments: [1 << 63 + 5, Limits.sequence + 1] as [UInt64])
    func base(sequence: UInt64) async throws {
        let base = Dot(try await a.peer(), sequence)
        try await expectHeld(update(.init("stars", ForgedValues.integers([1]), operation: .add, bases: [base])))
    }

    @Test("One column twice, as SQLite sees it")
    func columns() async throws {
        var transaction = update(.init("body", ForgedValues.texts(["x"])))
        let columns = ["body", "BODY"].map { ForgedGroup.Column($0, ForgedValues.texts(["x"])) }
        transaction.frames = [ForgedGroup(.update, "note", key: "one", columns: columns).bytes]
        try await expectHeld(transaction)
    }

    @Test("Keys of several numbers of parts, and of none")
    func keys() async throws {
        let one = ForgedIdentity.natural("one")
        let transaction = ForgedTransaction(
            Dot(stranger, 1), groups: [ForgedGroup(.delete, "note", identities: [one, one + one.dropFirst()])])
        try await expectHeld(transaction)
    }

    @Test("Files that come to more than anybody's disk")
    func bombs() async throws {
        let zeros = [UInt8](repeating: 0, count: 100 << 20)
        var packed = update(.init("body", [5] + Forge.varint(UInt64(zeros.count)) + zeros))
        packed.compresses = true
        try folder.put(ForgedLogFile([packed]), of: stranger)
        #expect(try await b.sync().held.map(\.reason) == [.tooLarge])
        #expect(try await b.status().held.map(\.reason) == [.tooLarge])
        try FileManager.default.removeItem(atPath: folder.peer(stranger))

        let text = [UInt8](repeating: 0x78, count: 1 << 20)
        var repeated = ForgedTransaction(
            Dot(stranger, 1),
            groups: [
                ForgedGroup(
                    .insert, "note", identities: (0..<80).map { ForgedIdentity.natural("row \($0)") },
                    columns: [.init("id", ForgedValues.keyPart(0)), .init("body", ForgedValues.constant(text))])
            ])
        repeated.compresses = true
        try await expectHeld(repeated, as: .tooLarge)
        // Who knows what it is lets it in.
        try await b.with { try await $0.acceptSize(of: stranger) }
        let result = try await b.sync()
        #expect(result.held.isEmpty)
        #expect(try b.count("SELECT count(*) FROM note WHERE length(body) = 1048576") == 80)
    }

    @Test("Peers are not made up by the thousand")
    func madeUpPeers() async throws {
        var later = b
        let tomorrow = SystemClock().now() + 24 * 3_600_000
        later.configuration.clock = FixedClock(tomorrow)
        later.configuration.maximumNewPeers = 2
        let strangers = (1...4).map { PeerID(high: 7, low: UInt64($0)) }
        for (number, stranger) in strangers.enumerated() {
            try folder.put(
                ForgedLogFile([
                    ForgedTransaction(
                        Dot(stranger, 1),
                        groups: [
                            ForgedGroup(
                                .insert, "note", identities: [ForgedIdentity.natural("made up \(number)")],
                                columns: [
                                    .init("id", ForgedValues.keyPart(0)), .init("body", ForgedValues.texts(["x"])),
                                ])
                        ])
                ]), of: stranger)
        }
        func madeUp() throws -> Int { try b.count("SELECT count(*) FROM note WHERE id LIKE 'made up %'") }
        #expect(try await later.sync().held.map(\.reason) == [.tooLarge, .tooLarge])
        #expect(try madeUp() == 2)
        let held = try await later.status().held
        #expect(held.map(\.reason) == [.tooLarge, .tooLarge])
        let accepted = try #require(held.first?.peer.id)
        try await later.with { try await $0.acceptSize(of: accepted) }
        #expect(try await later.sync().held.count == 1)
        #expect(try madeUp() == 3)
        later.configuration.clock = FixedClock(tomorrow + 24 * 3_600_000)
        #expect(try await later.sync().held.isEmpty)
        #expect(try madeUp() == 4)
    }

    @Test("Integers of rows at the ends of what SQLite has")
    func integers() async throws {
        for machine in [a, b] {
            try machine.execute(
                "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, parent INTEGER REFERENCES item(id))")
        }
        try await settle(a, b)
        func row(_ number: UInt8, parent: UInt8?, integer: Int64) -> ForgedGroup {
            func identity(_ number: UInt8) -> [UInt8] { [0] + [UInt8](repeating: number, count: 16) }
            let reference =
                parent.map { ForgedValues.references(ForgedIdentity.plain([identity($0)])) } ?? ForgedValues.nulls()
            return ForgedGroup(
                .insert, "item", identities: [identity(number)], integers: [integer],
                columns: [
                    .init("name", ForgedValues.texts(["\(number)"])),
                    .init("parent", reference, referencedTable: "item"),
                ])
        }
        var chain = ChainHash.zero
        for (sequence, integer) in [Int64.min, .max, 0, 1 << 53].enumerated() {
            let number = UInt8(sequence)
            let transaction = ForgedTransaction(
                Dot(stranger, UInt64(sequence) + 1),
                groups: [row(number, parent: nil, integer: integer), row(number + 100, parent: 200, integer: integer)])
            try folder.put(ForgedLogFile([transaction], after: chain), of: stranger)
            chain = transaction.segment(after: chain).chain
            #expect(try await b.sync().imported == 1)
        }
        // Those that refer to nobody are parked.
        #expect(try b.count("SELECT count(*) FROM item") == 4)
        #expect(try await b.status().parked == 4)
        #expect(try b.count("SELECT max(abs(id)) <= 9007199254740993 FROM item") == 1)
        try b.execute("INSERT INTO item(name) VALUES('the app''s')")
        try await expectUnharmed()
    }

    // MARK: Clones

    /// Takes a snapshot of b's, and puts another in its place that says all of what that says and has other frames.
    private func lie(_ frames: (SnapshotRows) -> SnapshotRows?) async throws {
        let column = ForgedGroup.Column("body", ForgedValues.texts(["forged"]))
        try folder.put(ForgedLogFile([update(column)]), of: stranger)
        try a.insert("two")
        try a.insert("gone")
        try await settle(a, b)
        try b.execute("DELETE FROM note WHERE id = 'gone'")
        try await settle(a, b)
        let path = world.snapshotPath(try await b.peer(), try await b.snapshot().file)
        let reader = try SnapshotReader(MemorySource(Array(try Data(contentsOf: URL(fileURLWithPath: path)))))
        try FileManager.default.removeItem(atPath: path)
        var manifest = reader.manifest
        var rows: [SnapshotRows] = []
        while let frame = try reader.next() { frames(frame).map { rows.append($0) } }
        func written() throws -> [UInt8] {
            var bytes: [UInt8] = []
            let writer = try SnapshotWriter(content: "notes", peer: stranger, manifest: manifest) { bytes += $0 }
            for frame in rows { try writer.append(frame) }
            _ = try writer.finish()
            return bytes
        }
        manifest.digest = try SnapshotSum.digest(of: SnapshotReader(MemorySource(written())))
        let bytes = try written()
        let name = SnapshotName(
            sequence: manifest.vector[stranger], fileHash: LogSyncContainer.FileHash(digest: Forge.sha256(bytes)))
        try folder.write(bytes, to: "snapshots/\(try #require(name))", of: stranger)
    }

    @Test("A snapshot is believed after a program has deleted rows and inserted them again, which is no second row")
    func insertedAgain() async throws {
        try a.insert("zwei")
        for body in ["again", "and again"] {
            try a.execute("DELETE FROM note; INSERT INTO note(id, body) VALUES('one', '\(body)'), ('zwei', '')")
            try await settle(a, b)
        }
        _ = try await a.snapshot()
        let findings = try await Replicator.doctor(world.contentPath, configuration: a.configuration).findings
        #expect(!findings.contains { $0.code == "doubtful-snapshot" }, "\(findings)")
        #expect(try await world.clone("c").notes() == a.notes())
        // One that lacks a row is not.
        try await lie { $0.table == "note" ? nil : $0 }
        let doubted = try await Replicator.doctor(world.contentPath, configuration: a.configuration).findings
        #expect(doubted.contains { $0.code == "doubtful-snapshot" && $0.why.contains("have 3 at least") }, "\(doubted)")
    }

    @Test(
        "A snapshot that stands for everything and lacks what the log files have is passed over by clones",
        arguments: [["note", "logsync_setting"], ["note"], ["logsync_setting"]])
    func emptied(tables: [String]) async throws {
        try await lie { tables.contains($0.table) ? nil : $0 }
        var c = try world.machine("c")
        let lines = CapturedLog.Lines()
        c.configuration.logger = Logger(label: "c") { _ in CapturedLog(lines) }
        _ = try await Replicator.clone(
            to: c.path, container: world.container, content: "notes", peerName: "c", configuration: c.configuration)
        let reason = tables == ["note"] ? "have 2 at least" : "none of the content's settings"
        let examined = try await Replicator.doctor(world.contentPath, configuration: c.configuration).findings
        #expect(examined.contains { $0.code == "doubtful-snapshot" && $0.why.contains(reason) }, "\(examined)")
        #expect(lines.all.contains { $0.contains("passed over") && $0.contains(reason) }, "\(lines.all)")
        #expect(try c.notes() == a.notes())
        #expect(try c.ids() == ["one", "two"])
        #expect(try await c.status().vector.includes(a.status().vector))
        try await settle(a, b, c)
        // Who has a database of its own and joins with it goes by the same settings.
        let d = try world.machine("d")
        try d.makeDatabase()
        try await d.initialize()
        try await d.sync()
        #expect(try d.ids() == ["one", "two"])
    }

    @Test("A snapshot without settings is passed over for an older one where the log files have gone")
    func emptiedBesideAnother() async throws {
        let made = try await a.snapshot().file
        let first = try await a.peer()
        let logs = try world.logs(first)
        try await lie { _ in nil }
        #expect(try world.snapshots(first) == [made])
        for name in logs where try world.logs(first).contains(name) {
            try FileManager.default.removeItem(atPath: "\(world.logsPath(first))/\(name)")
        }
        #expect(try await world.clone("c").ids() == ["one", "two"])
    }

    @Test("A snapshot that the log files agree with is not passed over")
    func agreeing() async throws {
        try await lie { rows in
            guard case .plain(var plain) = rows, plain.table == "note" else { return rows }
            // Values are not held against the log files: this shows which of them was used.
            for index in plain.columns.indices where plain.columns[index].name == "body" {
                plain.columns[index].values = plain.identities.map { _ in .text("from the snapshot") }
            }
            return .plain(plain)
        }
        #expect(try await world.clone("c").notes().contains("two=from the snapshot"))
    }
}
