import Forgery
import Foundation
import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import Synchronization
import Testing

@testable import LogSync

/// A file system that counts the files which are open for reading.
private final class CountingFileSystem: ForwardingFileSystem {
    final class Count: Sendable {
        private let state = Mutex((open: 0, most: 0))
        var most: Int { state.withLock { $0.most } }
        func add(_ number: Int) {
            state.withLock { state in
                state.open += number
                state.most = max(state.most, state.open)
            }
        }
    }

    final class File: ReadableFile {
        let base: any ReadableFile
        let count: Count
        init(_ base: any ReadableFile, _ count: Count) {
            (self.base, self.count) = (base, count)
            count.add(1)
        }
        deinit { count.add(-1) }
        func status() throws(FileSystemError) -> FileStatus { try base.status() }
        func read(at offset: UInt64, count: Int) throws(FileSystemError) -> [UInt8] {
            try base.read(at: offset, count: count)
        }
    }

    let base = PosixFileSystem()
    let count = Count()

    func open(_ path: String) throws(FileSystemError) -> any ReadableFile { File(try base.open(path), count) }
}

/// Several peers have much to tell, and none keeps another waiting.
@Suite("The order in which transactions are imported")
struct ImportOrderTests {
    private let world: World
    private var a: Machine
    private let b: Machine
    private let folder: ForgedFolder

    init() async throws {
        world = try World()
        a = try await world.founder("a", rows: ["one"])
        b = try await world.clone("b")
        try await settle(a, b)
        folder = ForgedFolder(world.contentPath)
        // Each transaction in a step of its own, and each peer in its turn.
        a.configuration.lockBudget = 0
        a.configuration.importTurn = .zero
    }

    private static func peer(_ number: UInt64) -> PeerID { PeerID(high: number < 50 ? 1 : .max, low: number) }

    /// Puts as many transactions of a peer into the folder, in one file.
    private func tell(_ count: UInt64, _ peer: PeerID) throws {
        try folder.put(
            ForgedLogFile(
                (1...count).map { sequence in
                    ForgedTransaction(
                        Dot(peer, sequence),
                        groups: [
                            ForgedGroup(
                                .insert, "note", identities: [ForgedIdentity.natural("\(peer.low)-\(sequence)")],
                                columns: [.init("id", ForgedValues.keyPart(0)), .init("body", ForgedValues.nulls())])
                        ])
                }), of: peer)
    }

    @Test("A peer of whom there is much to import lets the others have their turns")
    func turns() async throws {
        for number in [1, 99] as [UInt64] { try tell(20, Self.peer(number)) }
        try b.insert("of b")
        try await b.sync()
        let replicator = try a.replicator()
        var imports = replicator.didImport.makeAsyncIterator()
        let result = try await replicator.sync()
        #expect(result.imported == 41)
        let honest = try await b.peer()
        var place = 0
        while let event = await imports.next(), !event.transactions.contains(where: { $0.peer.id == honest }) {
            place += event.transactions.count
        }
        #expect(place < 5, "after \(place) others")
        await replicator.close()
        #expect(try await a.sync().imported == 0)
    }

    @Test("What a program writes while much is imported is published before the end of that")
    func published() async throws {
        try tell(20, Self.peer(1))
        var a = a
        let (path, own) = (a.path, folder.peer(try await a.peer()))
        let events = Mutex<[String]>([])
        a.configuration.didChangeFile = { file in
            if file.hasPrefix(own), file.hasSuffix(".tlog") { events.withLock { $0.append("published") } }
        }
        let machine = a
        let observer = NotificationCenter.default.addObserver(forName: .logSyncDidImport, object: nil, queue: nil) {
            guard let event = $0.userInfo?[DidImport.userInfoKey] as? DidImport, event.store == path else { return }
            let isFirst = events.withLock { events in
                events.append("imported")
                return events.count == 1
            }
            if isFirst { #expect(throws: Never.self) { try machine.insert("written meanwhile") } }
        }
        defer { NotificationCenter.default.removeObserver(observer) }
        #expect(try await a.sync().published == 1)
        #expect(events.withLock { $0.count { $0 == "imported" } } == 20)
        #expect(events.withLock { $0.prefix(5).contains("published") }, "\(events.withLock { $0 })")
        try await b.sync()
        #expect(try b.ids().contains("written meanwhile"))
    }

    @Test("A peer has no file open whose turn is over, however many peers there are")
    func openFiles() async throws {
        for number in 1...60 as ClosedRange<UInt64> { try tell(2, Self.peer(number)) }
        var a = a
        let fileSystem = CountingFileSystem()
        a.configuration.fileSystem = fileSystem
        #expect(try await a.sync().imported == 120)
        #expect(fileSystem.count.most < 40, "\(fileSystem.count.most)")
    }

    @Test("Branches that go off from one another in a long row are imported, each of them")
    func branches() async throws {
        let stranger = Self.peer(99)
        var chain = ChainHash.zero
        for sequence in 1...30 as ClosedRange<UInt64> {
            let both = ["x", "y"].map { side in
                ForgedTransaction(
                    Dot(stranger, sequence),
                    groups: [
                        ForgedGroup(
                            .insert, "note", identities: [ForgedIdentity.natural("\(side)\(sequence)")],
                            columns: [.init("id", ForgedValues.keyPart(0)), .init("body", ForgedValues.nulls())])
                    ])
            }
            for transaction in both { try folder.put(ForgedLogFile([transaction], after: chain), of: stranger) }
            chain = both[0].segment(after: chain).chain
        }
        #expect(try await b.sync().held.isEmpty)
        #expect(try b.ids().count == 61)
        #expect(try await b.sync().imported == 0)
    }
}
