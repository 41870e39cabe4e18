import Foundation
import LogSyncFormat
import LogSyncModel
import Testing

@testable import LogSyncStore

/// Stores that write under one id, and others that see what they wrote in different orders.
@Suite struct BranchTests {
    static let schema = """
        CREATE TABLE word(id TEXT PRIMARY KEY NOT NULL, x, n INTEGER);
        CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT UNIQUE, word TEXT REFERENCES word(id));
        """

    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    /// A second store that takes itself for the first.
    private func twin(of peer: TestPeer, _ name: String) throws -> TestPeer {
        try peer.write("PRAGMA wal_checkpoint(TRUNCATE)")
        let path = folder.path + "/" + name + ".db"
        try FileManager.default.copyItem(atPath: peer.path, toPath: path)
        return try TestPeer(
            folder, name, opening: try Store.open(path, configuration: TestPeer.configuration(UInt64(name.count))))
    }

    @Test func whatBothHistoriesWroteIsThereAndTheirOrderDoesNotMatter() throws {
        let a = try TestPeer(folder, "a", sql: Self.schema + "INSERT INTO word VALUES('x', 1, 0)")
        let (b, c) = (try TestPeer(folder, "b", cloning: a), try TestPeer(folder, "c", cloning: a))
        let twin = try twin(of: a, "twin")
        try a.write("UPDATE word SET x = 'first'; INSERT INTO word VALUES('a', 1, 0)")
        _ = try a.store.record()
        try twin.write("UPDATE word SET x = 'second'; INSERT INTO word VALUES('twin', 1, 0)")
        _ = try twin.store.record()
        let (first, second) = (try History(a), try History(twin))
        try b.take([first])
        try b.take([first, second])
        try c.take([second])
        try c.take([first, second])
        #expect(try b.strings("SELECT id FROM word ORDER BY id") == ["a", "twin", "x"])
        #expect(try c.strings("SELECT * FROM word ORDER BY id") == b.strings("SELECT * FROM word ORDER BY id"))
        #expect(try b.store.branches() == c.store.branches())
        #expect(try b.store.branches().count == 1)
        // Neither history had seen the other's update.
        #expect(try b.store.summary().conflicts == 1)
        try agree(b, c)
    }

    @Test func aSnapshotSaysWhichHistoryIsWhich() throws {
        let a = try TestPeer(folder, "a", sql: Self.schema + "INSERT INTO word VALUES('x', 1, 0)")
        let (b, c) = (try TestPeer(folder, "b", cloning: a), try TestPeer(folder, "c", cloning: a))
        let twin = try twin(of: a, "twin")
        for (peer, value) in [(a, "first"), (twin, "second")] {
            for index in 0..<3 {
                try peer.write("INSERT INTO word VALUES('\(value)\(index)', 1, 0)")
                _ = try peer.store.record()
            }
        }
        let (first, second) = (try History(a), try History(twin))
        // One peer each has seen one history; the third learns of both from a snapshot of one that knows them.
        try c.take([second])
        try c.write("UPDATE word SET x = 'seen by c' WHERE id = 'second1'")
        _ = try c.store.record()
        let seen = try History(c)
        try b.take([first])
        try b.take([first, second])
        let snapshot = try b.snapshot()
        let d = try TestPeer(folder, "d", emptyLike: a)
        _ = try d.join(snapshot)
        #expect(try d.store.branches() == b.store.branches())
        _ = try c.join(snapshot)
        #expect(try c.store.branches() == b.store.branches())
        for peer in [b, d] { try peer.take([first, second, seen]) }
        for peer in [b, c, d] {
            #expect(try peer.strings("SELECT x FROM word WHERE id = 'second1'") == ["seen by c"])
            #expect(try peer.store.summary().conflicts == 0)
        }
        try agree(b, c, d)
    }

    @Test("A fork before the one that a snapshot knows is no part of what it knows", arguments: UInt64(1)...8)
    func earlierFork(_ seed: UInt64) throws {
        let a = try TestPeer(folder, "a", sql: Self.schema + "INSERT INTO word VALUES('x', 1, 0)", seed: seed)
        let (b, behind) = (try TestPeer(folder, "b", cloning: a), try TestPeer(folder, "behind", cloning: a))
        let (d, e) = (try TestPeer(folder, "d", cloning: a), try TestPeer(folder, "e", cloning: a))
        let early = try twin(of: a, "early")
        for index in 0..<2 { try early.insert("early\(index) \(seed)") }
        try e.take([History(early)])
        try early.insert("early2 \(seed)")
        try a.insert("a0 \(seed)")
        let late = try twin(of: a, "a later one")
        try late.insert("late \(seed)")
        try a.insert("a1 \(seed)")
        // These have seen nothing but the early one; this one has not seen it.
        try d.take([History(early)])
        try b.take([History(a), History(late)])
        let before = try b.snapshot()
        for peer in [d, e] {
            guard case .fork = try peer.store.joinability(of: before.open().manifest) else {
                Issue.record("it is another history")
                continue
            }
            #expect(throws: LogSyncError.self) { try peer.join(before) }
            #expect(try peer.store.branches().isEmpty)
        }
        // Who has nothing of either is told that it is the same up to there.
        _ = try behind.join(before)
        try agree(b, behind)
        try b.take([a, late, early].map(History.init))
        let snapshot = try b.snapshot()
        for peer in [behind, d, e] { _ = try peer.join(snapshot) }
        #expect(try d.strings("SELECT id FROM word").count == 7)
        try agree(b, behind, d, e)
    }

    @Test("What a snapshot does not say of a peer's history is not taken for what has been imported")
    func untold() throws {
        let a = try TestPeer(folder, "a", sql: Self.schema + "INSERT INTO word VALUES('x', 1, 0)")
        let (b, c) = (try TestPeer(folder, "b", cloning: a), try TestPeer(folder, "c", cloning: a))
        let behind = try TestPeer(folder, "behind", cloning: a)
        let twin = try twin(of: a, "twin")
        for index in 0..<2 { try twin.insert("twin\(index)") }
        try c.take([History(twin)])
        for index in 0..<8 { try a.insert("a\(index)") }
        let history = try History(a)
        try b.take([history])
        var configuration = TestPeer.configuration(1)
        configuration.toldTransactions = 4
        let short = try TestPeer(
            folder, "b", opening: try Store.open(b.path, configuration: configuration))
        let snapshot = try short.snapshot()
        for peer in [c, behind] {
            #expect(try peer.store.joinability(of: snapshot.open().manifest) == .fork(history.origin))
            #expect(throws: LogSyncError.self) { try peer.join(snapshot) }
        }
        #expect(try c.strings("SELECT id FROM word ORDER BY id") == ["twin0", "twin1", "x"])
        // One for those who stand there says which transactions these are.
        let telling = try short.snapshot(telling: [c.vector(), behind.vector()])
        #expect(try c.store.joinability(of: telling.open().manifest) == .fork(history.origin))
        _ = try behind.join(telling)
        try agree(b, behind)
    }

    @Test(
        "A snapshot of a former version, which names no transaction before a fork, serves who has one after it",
        arguments: UInt64(1)...6)
    func formerVersion(_ seed: UInt64) throws {
        let a = try TestPeer(folder, "a", sql: Self.schema + "INSERT INTO word VALUES('x', 1, 0)", seed: seed)
        let (b, c) = (try TestPeer(folder, "b", cloning: a), try TestPeer(folder, "c", cloning: a))
        let behind = try TestPeer(folder, "behind", cloning: a)
        let twin = try twin(of: a, "twin")
        try a.insert("first")
        try c.take([History(a)])
        for (peer, id) in [(a, "second"), (twin, "third"), (twin, "fourth")] { try peer.insert(id) }
        try b.take([History(a), History(twin)])
        var manifest = try b.snapshot().manifest
        let origin = try #require(manifest.branches.first?.origin)
        manifest.marks = manifest.marks.map { run in
            guard run.peer == origin else { return run }
            return SnapshotManifest.Marks(peer: origin, first: 2, marks: Array(run.marks[1...]))
        }
        #expect(try behind.store.joinability(of: manifest) == .fork(origin))
        #expect(try behind.store.branches().isEmpty)
        guard case .ready = try c.store.joinability(of: manifest) else {
            Issue.record("what follows tells that it is the same")
            return
        }
    }

    @Test(arguments: UInt64(1)...20)
    func threeHistoriesInAnyOrder(_ seed: UInt64) throws {
        var random = SeededGenerator(state: seed)
        let a = try TestPeer(folder, "a", sql: Self.schema, seed: seed) { $0.policies = [("word.n", "sum")] }
        try random.write(a)
        let readers = try ["r", "s", "t"].map { try TestPeer(folder, $0, cloning: a) }
        let second = try twin(of: a, "second")
        try random.write(a)
        let third = try twin(of: a, "third")
        for twin in [a, second, third] { for _ in 0..<1 + random.next() % 3 { try random.write(twin) } }
        var histories = try [a, second, third].map(History.init)
        var seen = readers.map { _ in [History]() }
        for _ in 0..<14 {
            let index = Int(random.next() % 3)
            switch random.next() % 4 {
            case 0:
                try random.write(readers[index])
                histories.append(try History(readers[index]))
            case 1:
                // Files of one reader, and of all that it has seen: nobody learns of an answer alone.
                let other = Int(random.next() % 3)
                seen[index] += seen[other] + [try History(readers[other])]
            default:
                seen[index].append(histories[Int(random.next() % UInt64(histories.count))])
            }
            try readers[index].take(seen[index])
        }
        histories = try [a, second, third].map(History.init) + readers.map(History.init)
        for reader in readers { try reader.take(histories) }
        let branches = try readers[0].store.branches()
        for reader in readers.dropFirst() { #expect(try reader.store.branches() == branches) }
        try agree(readers[0], readers[1], readers[2])
    }
}

extension SeededGenerator {
    /// One transaction of a peer.
    fileprivate mutating func write(_ peer: TestPeer) throws {
        for _ in 0..<1 + next() % 3 {
            let (id, value) = ("w\(next() % 4)", next() % 100)
            switch next() % 7 {
            case 0: try peer.write("DELETE FROM word WHERE id = '\(id)'")
            case 1: try peer.write("UPDATE word SET x = \(value) WHERE id = '\(id)'")
            case 2: try peer.write("UPDATE word SET n = n + \(value) WHERE id = '\(id)'")
            case 3: try peer.write("INSERT OR REPLACE INTO item(name, word) VALUES('\(value % 3)', NULL)")
            case 4: try peer.write("UPDATE item SET name = '\(value % 3)x' WHERE id = \(1 + value % 3)")
            default: try peer.write("INSERT OR IGNORE INTO word VALUES('\(id)', \(value), 0)")
            }
        }
        _ = try peer.store.record()
    }
}

/// Everything that a store wrote under its id.
private struct History {
    struct Entry {
        var place: BranchPlace
        var header: TransactionHeader
        var blocks: [[UInt8]]
    }

    let origin: PeerID
    let entries: [Entry]
    let store: Store

    init(_ peer: TestPeer) throws {
        _ = try peer.store.record()
        store = peer.store
        origin = try peer.store.registration().peer
        entries = try peer.store.outbox(of: origin, 1...UInt64(Int64.max)).map { kept in
            var blocks: [[UInt8]] = []
            try peer.store.forEachOutboxBlock(of: kept.dot) { blocks.append($0) }
            var rest = blocks[...]
            let reader = try SegmentReader(peer: kept.dot.peer, previous: kept.chainBefore) { rest.popFirst() }
            return Entry(
                place: BranchPlace(sequence: kept.dot.sequence, before: kept.chainBefore, after: kept.chain),
                header: reader.header, blocks: blocks)
        }
    }
}

extension TestPeer {
    /// One transaction.
    fileprivate func insert(_ id: String) throws {
        try write("INSERT INTO word VALUES('\(id)', 1, 0)")
        _ = try store.record()
    }

    /// Merges what is ready of some histories, by the ids that branches have here.
    fileprivate func take(_ histories: [History]) throws {
        let own = try store.registration().peer
        _ = try store.record()
        var isNews = true
        while isNews {
            isNews = false
            for origin in Set(histories.map(\.origin)) where origin != own {
                let places = histories.filter { $0.origin == origin }.flatMap { $0.entries.map(\.place) }
                _ = try store.adoptBranches(of: origin, places)
            }
            for history in histories where history.origin != own {
                if try take(history) { isNews = true }
            }
        }
    }

    private func take(_ history: History) throws -> Bool {
        var isNews = false
        var (line, offset) = (history.origin, UInt64(0))
        for entry in history.entries {
            let begun = try store.branches().first {
                $0.parent == line && $0.start == entry.place.sequence && $0.mark == entry.place.after.mark
            }
            if let begun { (line, offset) = (begun.id, begun.offset) }
            let dot = Dot(line, entry.place.sequence - offset)
            if try store.vector().covers(dot) { continue }
            var header = entry.header
            header.dot = dot
            guard try store.readiness(of: header, chainBefore: entry.place.before) == .ready else { break }
            var rest = entry.blocks[...]
            let reader = try SegmentReader(peer: history.origin, previous: entry.place.before) { rest.popFirst() }
            var incoming: IncomingTransaction? = IncomingTransaction(
                header: header, chainBefore: entry.place.before, chain: entry.place.after,
                blobs: { try #require(try history.store.blobBytes(of: $0)) }
            ) { body in while let groups = try reader.nextFrame() { try groups.forEach(body) } }
            _ = try store.importStep {
                defer { incoming = nil }
                return incoming
            }
            isNews = true
        }
        return isNews
    }
}
