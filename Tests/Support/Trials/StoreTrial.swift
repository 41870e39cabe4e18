import Foundation
import Forgery
import GRDBSQLite
import LogSyncFormat
import LogSyncModel
import LogSyncSQLite
import LogSyncStore

/// A store that is given nonsense, and what has to hold of it: each transaction is merged or refused by name, what the store
/// keeps adds up, and a snapshot of it can be read to its end and makes another store of the same state.
package struct StoreTrial {
    /// What does not hold.
    package struct Failure: Error, CustomStringConvertible {
        package var description: String

        init(_ description: String) { self.description = description }
    }

    private let directory: String
    private let template: String

    /// - Parameter directory: is there, and for this trial alone.
    package init(in directory: String) throws {
        self.directory = directory
        template = directory + "/template.db"
        try Self.execute(template, Nonsense.schema)
        let plan = InitializePlan(content: "test", container: "/nowhere", peerName: "a")
        let store = try Store.initialize(template, plan: plan, configuration: Self.configuration).store
        _ = try store.record()
        try store.close()
        try Self.execute(template, "PRAGMA wal_checkpoint(TRUNCATE)")
    }

    private static var configuration: StoreConfiguration {
        var configuration = StoreConfiguration()
        configuration.clock = StandingClock()
        return configuration
    }

    private static func execute(_ path: String, _ sql: String) throws {
        var handle: OpaquePointer?
        guard sqlite3_open(path, &handle) == SQLITE_OK, let handle else { throw Failure("\(path) cannot be opened") }
        defer { sqlite3_close_v2(handle) }
        sqlite3_busy_timeout(handle, 5000)
        // What a constraint of the program's refuses is the program's affair.
        sqlite3_exec(handle, sql, nil, nil, nil)
    }

    /// What the content has settled, as a clone takes it.
    private static func settings(_ path: String) throws -> [(kind: String, target: String, value: String)] {
        var handle: OpaquePointer?
        guard sqlite3_open(path, &handle) == SQLITE_OK, let handle else { throw Failure("\(path) cannot be opened") }
        let connection = Connection(handle)
        defer {
            connection.finalizeStatements()
            sqlite3_close_v2(handle)
        }
        func text(_ value: Value) -> String {
            if case .text(let bytes) = value { String(decoding: bytes, as: UTF8.self) } else { "" }
        }
        // Nobody takes one whose value is no text.
        return try connection.rows(
            "SELECT kind, target, value FROM logsync_setting WHERE typeof(value) = 'text'"
        ).map { (text($0[0]), text($0[1]), text($0[2])) }
    }

    /// Gives a store transactions, and does what its program does meanwhile.
    ///
    /// - Returns: how many transactions were merged.
    @discardableResult
    package func merge(_ bytes: some Sequence<UInt8>) throws -> Int {
        try withStore { store in
            var nonsense = Nonsense(bytes)
            var merged = 0
            var chains: [PeerID: ChainHash] = [:]
            for _ in 0..<12 where !nonsense.isAtEnd {
                let peer = PeerID(high: 7, low: UInt64(nonsense.choice(of: 3)))
                let vector = try store.vector()
                var forged = nonsense.transaction(Dot(peer, vector[peer] + 1), knowing: vector)
                // Who says that it has this schema is taken at its word, as far as that goes.
                if nonsense.choice(of: 2) == 1 { forged.schema = try store.schemaFingerprint() }
                let chain = chains[peer] ?? .zero
                if try merge(forged, after: chain, into: store) {
                    chains[peer] = forged.segment(after: chain).chain
                    merged += 1
                    // Said here, it says which transaction it was.
                    if let problem = try store.audit().problems.first {
                        throw Failure("the store: \(problem), after \(try groups(of: forged, after: chain))")
                    }
                }
                if let sql = nonsense.statement() {
                    try Self.execute(store.path, sql)
                    _ = try store.record()
                }
            }
            return merged
        }
    }

    /// Gives a store a snapshot.
    ///
    /// - Returns: whether it was joined.
    @discardableResult
    package func join(_ bytes: some Sequence<UInt8>) throws -> Bool {
        try withStore { store in
            var nonsense = Nonsense(bytes)
            var isJoined = false
            for round in 1...2 where !nonsense.isAtEnd {
                let (own, vector) = (try store.registration().peer, try store.vector())
                var peers = (0...nonsense.choice(of: 3)).map {
                    SnapshotManifest.Peer(
                        id: PeerID(high: 7, low: UInt64($0)), sequence: UInt64(round * 3 + $0), chain: .zero,
                        dependencies: VersionVector())
                }
                if nonsense.choice(of: 2) == 1 {
                    let chain = try store.chain(of: own)
                    peers.append(
                        SnapshotManifest.Peer(
                            id: own, sequence: vector[own], chain: chain, dependencies: VersionVector()))
                }
                peers.sort { $0.id < $1.id }
                let rows = nonsense.rows(peers.map { ($0.id, $0.sequence) })
                guard let file = try snapshot(of: peers, rows, like: store) else { continue }
                if round == 1 {
                    do {
                        try checkClone(of: file, store, scratch: store.path + "-clone")
                    } catch let failure as Failure {
                        throw Failure("\(failure), of \(rows)")
                    }
                }
                if try join(file, into: store) { isJoined = true }
                if let sql = nonsense.statement() {
                    try Self.execute(store.path, sql)
                    _ = try store.record()
                }
            }
            return isJoined
        }
    }

    // MARK: What is done

    /// libFuzzer's clock is a signal, which interrupts a copy, and Foundation calls that an error.
    private func copy(_ source: String, to path: String) throws {
        for attempt in 1... {
            do {
                return try FileManager.default.copyItem(atPath: source, toPath: path)
            } catch let error as CocoaError where error.isInterrupted && attempt < 100 {
                try? FileManager.default.removeItem(atPath: path)
            }
        }
    }

    private func withStore<T>(_ body: (Store) throws -> T) throws -> T {
        let scratch = "\(directory)/\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: true)
        // Emptied by the next run where this one ends the process.
        defer { try? FileManager.default.removeItem(atPath: scratch) }
        let path = scratch + "/a.db"
        try copy(template, to: path)
        let store = try Store.open(path, configuration: Self.configuration)
        defer { try? store.close() }
        let result = try body(store)
        try check(store, scratch)
        return result
    }

    /// - Returns: false where it is refused, or waits.
    private func merge(_ forged: ForgedTransaction, after previous: ChainHash, into store: Store) throws -> Bool {
        let blocks =
            [Forge.blocks(type: Forge.header, forged.header)]
            + forged.frames.map { Forge.blocks(type: Forge.frame, $0) }
            + [Forge.blocks(type: Forge.end, forged.end)]
        for _ in 0..<8 {
            do {
                var rest = blocks[...]
                let segment = try SegmentReader(peer: forged.dot.peer, previous: previous) { rest.popFirst() }
                guard try store.readiness(of: segment.header, chainBefore: previous) == .ready else { return false }
                var incoming: IncomingTransaction? = IncomingTransaction(
                    header: segment.header, chainBefore: previous, chain: forged.segment(after: previous).chain
                ) { body in while let groups = try segment.nextFrame() { try groups.forEach(body) } }
                let step = try store.importStep {
                    defer { incoming = nil }
                    return incoming
                }
                return !step.imported.isEmpty
            } catch let unready as UnreadyTable {
                do { try store.prepare(unready) } catch is RefusedTransaction { return false }
            } catch let gone as RowGone {
                guard try store.recordGone(gone) != nil else {
                    throw Failure("a row is gone and was never there: \(gone)")
                }
            } catch is NotReady, is RefusedTransaction, is LogFileError {
                return false
            } catch let error as LogSyncError where [.malformedLog, .newerFormat].contains(error.code) {
                return false
            }
        }
        throw Failure("a transaction is neither merged nor refused: \(forged)")
    }

    /// For people.
    private func groups(of forged: ForgedTransaction, after previous: ChainHash) throws -> [String] {
        var rest =
            ([Forge.blocks(type: Forge.header, forged.header)]
            + forged.frames.map { Forge.blocks(type: Forge.frame, $0) })[...]
        let segment = try SegmentReader(peer: forged.dot.peer, previous: previous) { rest.popFirst() }
        var all: [String] = ["\(segment.header.dependencyChanges.map(\.dot))"]
        while !rest.isEmpty, let groups = try segment.nextFrame() {
            all += groups.map { group in
                "\(group.kind) \(group.table) \(group.identities) \(group.integers) "
                    + group.columns.map { "\($0.name) \($0.operation) \($0.values) \($0.bases)" }.joined(
                        separator: ", ")
            }
        }
        return all
    }

    /// - Parameter store: whose schema the snapshot says it has.
    private func snapshot(
        of peers: [SnapshotManifest.Peer], _ rows: [SnapshotRows], like store: Store
    ) throws -> [UInt8]? {
        let author = peers.first?.id ?? PeerID(high: 7, low: 0)
        let (fingerprint, text) = (try store.schemaFingerprint(), try store.schemaText().text)
        func written(_ digest: UInt64) throws -> [UInt8] {
            var bytes: [UInt8] = []
            let manifest = SnapshotManifest(
                taken: 0, digest: digest, schema: fingerprint, schemaText: text, peers: peers)
            let writer = try SnapshotWriter(content: "test", peer: author, manifest: manifest) { bytes += $0 }
            for rows in rows { try writer.append(rows) }
            _ = try writer.finish()
            return bytes
        }
        do {
            return try written(SnapshotSum.digest(of: SnapshotReader(MemorySource(written(0)))))
        } catch is LogFileError {
            return nil
        } catch let error as LogSyncError where [.malformedLog, .unsupportedTable].contains(error.code) {
            return nil
        }
    }

    private func join(_ file: [UInt8], into store: Store) throws -> Bool {
        do {
            let manifest = try SnapshotReader(MemorySource(file)).manifest
            guard case .ready = try store.joinability(of: manifest) else { return false }
            _ = try store.join { try SnapshotReader(MemorySource(file)) }
            return true
        } catch is LogFileError {
            return false
        } catch let error as LogSyncError where error.code == .malformedLog {
            return false
        }
    }

    // MARK: What has to hold

    /// A store made of the snapshot alone is refused, or adds up.
    private func checkClone(of file: [UInt8], _ store: Store, scratch: String) throws {
        func open() throws -> SnapshotReader { try SnapshotReader(MemorySource(file)) }
        var plan = InitializePlan(content: "test", container: "/nowhere", peerName: "d")
        plan.settings = try Self.settings(store.path)
        let clone = try Store.create(
            scratch, schema: open().manifest.schemaText, plan: plan, configuration: Self.configuration)
        defer { try? clone.close() }
        do {
            try clone.fill(from: open().verify(), open)
        } catch is LogFileError {
            return
        } catch let error as LogSyncError where error.code == .malformedLog {
            return
        }
        _ = try clone.record()
        if let problem = try clone.audit().problems.first { throw Failure("a clone of nonsense: \(problem)") }
        var bytes: [UInt8] = []
        _ = try clone.writeSnapshot { bytes += $0 }
        try taking("the clone") {
            guard try clone.agrees(with: { try SnapshotReader(MemorySource(bytes)) }) == true else {
                throw Failure("a snapshot holds something else than the clone of which it was taken")
            }
        }
    }

    /// What a store has written it can read.
    private func taking(_ owner: String, _ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as LogSyncError {
            throw Failure("a snapshot of \(owner) is refused: \(error)")
        }
    }

    private func check(_ store: Store, _ scratch: String) throws {
        _ = try store.record()
        if let problem = try store.audit().problems.first { throw Failure("the store: \(problem)") }
        var bytes: [UInt8] = []
        let taken = try store.writeSnapshot { bytes += $0 }
        func open() throws -> SnapshotReader { try SnapshotReader(MemorySource(bytes)) }
        let manifest = try open().manifest
        try taking("the store") {
            guard try SnapshotSum.digest(of: open()) == manifest.digest else {
                throw Failure("a snapshot does not add up")
            }
            guard try store.agrees(with: open) == true else {
                throw Failure("a snapshot holds something else than its store")
            }
        }
        var plan = InitializePlan(content: "test", container: "/nowhere", peerName: "b")
        plan.settings = try Self.settings(store.path)
        // It has recorded nothing of its own, so that its state is the snapshot's.
        let replay = try Store.createForReplay(
            scratch + "/b.db", schema: manifest.schemaText, plan: plan, configuration: Self.configuration)
        defer { try? replay.close() }
        try taking("the store") { _ = try replay.join(open) }
        guard try replay.digest() == store.digest() else { throw Failure("a replay has another state") }
        if let problem = try replay.audit().problems.first { throw Failure("a replay: \(problem)") }
        let clone = try Store.create(
            scratch + "/c.db", schema: manifest.schemaText, plan: plan, configuration: Self.configuration)
        defer { try? clone.close() }
        try taking("the store") { try clone.fill(from: taken.hash, open) }
        _ = try clone.record()
        if let problem = try clone.audit().problems.first { throw Failure("a clone: \(problem)") }
    }
}

/// A clock that stands still, so that the same choices come to the same.
private struct StandingClock: WallClock {
    func now() -> Int64 { 1_700_000_000_000 }
}

extension CocoaError {
    fileprivate var isInterrupted: Bool { (underlying as? POSIXError)?.code == .EINTR }
}
