import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore

/// Chooses which transaction to merge next from what lies in the container.
///
/// **The problem.** A peer's transactions lie in files that arrive in any order, in part, damaged, or twice, in a small file
/// and in the larger one that it was merged into. A transaction may be merged when the one before it of the same peer has
/// been, and all that it depends on, when its time is not too far ahead, and when every blob that it names is here. What
/// cannot be merged has to be named with its reason, and must not keep other peers' transactions waiting.
///
/// **The steps.** Every peer has a ``PeerQueue``, which finds the transaction after the last one merged: in the first sound
/// file that covers its sequence, and only where it follows on the chain hash of the one before. The plan asks a queue for as
/// long as it has something that is ready, a second at the most, then the next one, until all have been asked in vain; each
/// queue then says what it holds (``held``). The plan runs ahead of the store, whose connection is busy within a step:
/// ``begin(vector:newPeers:latestTime:chain:)`` takes where the store stands, ``next()`` hands out a transaction and goes on as if it were merged, and all of that counts only
/// when the step has committed. A file that a step fails in is blocked (``block(_:_:)``), and other files may do.
///
/// **The exception.** Where two stores wrote under one id, the peer has a queue for each line of its history. All of them
/// take from the same files, each the transactions on its own chain, under the line's own id and sequences. A dependency on
/// such a peer may mean either line, which only the store can tell: it refuses the transaction (``wait(_:at:)``), and the
/// queue is not asked again before something else has been merged.
///
/// **An example.** The store has A:3 and B:6. The folder has A's files 1–3, 4 and 4–5, and B's file 7–9, and B:7 depends on
/// A:5. The plan takes A:4 and A:5 from the file 4–5, which reaches further, reads the file 4 once to see that it says the
/// same, and goes on with B:7, B:8 and B:9. Without the file 4–5 it would take A:4 from the file 4 and then hold B:7 with the
/// reason `dependency`; A would hold nothing, because no file speaks of A:5.
final class ImportPlan {
    let library: ContentLibrary
    private let clock: any WallClock
    private let maximumDrift: Int64
    private let maximumNewPeers: Int
    /// How many peers of which nothing was known came today.
    private var newPeers = 0
    /// The latest time, in milliseconds since 1970, that the store knows: one as late as that may rest on it.
    private var latestTime: Int64 = 0
    private var queues: [PeerQueue]
    /// The peer whose transactions are handed out without the blobs that cannot be had; nil for none.
    var forgoesBlobsOf: PeerID?
    /// Whether a transaction waits for the blobs that it names.
    var waitsForBlobs = true
    /// Nothing beyond this is handed out; nil for no limit.
    var limit: VersionVector?
    private var cursor = 0
    /// For how long one queue is asked while others wait, and since when the present one is.
    private let turn: Duration
    private var turnStart = ContinuousClock.now
    /// The queues that have a file open, the one that opened it first before the others.
    private var readers: [PeerQueue] = []
    /// How many queues have one: there may be as many peers as a liar likes, and a process has so many descriptors.
    private static let maximumReaders = 16
    /// Where the store stood when it last refused a transaction.
    private var refusedAt: VersionVector?
    private var vector = VersionVector()
    private var chains: [PeerID: ChainHash] = [:]
    /// The file that the transaction handed out last is from; a step that throws failed in it.
    private(set) var current: (peer: PeerID, file: FoundFile<LogFileName>, sequence: UInt64)?
    /// Why the stream of that transaction broke off, where the file is to blame.
    private(set) var streamFailure: LogFileError?
    /// Whether it broke off because a blob could not be read, which the next look at that blob tells.
    private(set) var isBlobToBlame = false

    /// The branches that were known when the plan was made.
    private let branches: [Branch]
    /// Peers under whose ids two stores seem to have written.
    private(set) var suspects: Set<PeerID> = []

    init(
        _ scan: ContainerScan, except own: PeerID, library: ContentLibrary, configuration: SyncConfiguration,
        branches: [Branch] = []
    ) {
        self.library = library
        clock = configuration.clock
        maximumDrift = configuration.storeConfiguration.maximumDrift
        maximumNewPeers = configuration.maximumNewPeers
        turn = configuration.importTurn
        self.branches = branches
        let branchesOf = Dictionary(grouping: branches, by: \.origin)
        queues = scan.peers.values.filter { $0.id != own && !$0.logs.isEmpty }.flatMap {
            PeerQueue.all(of: $0, branchesOf[$0.id] ?? [])
        }.sorted { $0.line < $1.line }
    }

    /// Takes where the store stands, before a step and after one that was undone.
    func begin(
        vector: VersionVector, newPeers: Int = 0, latestTime: Int64 = 0, chain: (PeerID) throws -> ChainHash
    ) throws {
        if vector != self.refusedAt {
            for queue in queues { queue.refused = nil }
        }
        self.vector = vector
        self.newPeers = newPeers
        self.latestTime = latestTime
        if current != nil, turnStart.duration(to: .now) >= turn { moveOn() }
        current = nil
        streamFailure = nil
        isBlobToBlame = false
        for queue in queues {
            chains[queue.line] = try chain(queue.line)
        }
    }

    /// The next transaction that is ready, or nil where there is none.
    func next() throws -> IncomingTransaction? {
        guard let (queue, transaction) = try nextReady(), let file = queue.file else { return nil }
        current = (queue.line, file, transaction.header.dot.sequence)
        advance(transaction)
        return IncomingTransaction(
            header: transaction.header, chainBefore: transaction.chainBefore, chain: transaction.chain,
            blobs: transaction.blobs.isEmpty ? nil : { [unowned self] in try self.read($0) }, lost: queue.lostBlobs,
            forEachGroup: { [unowned self] body in
                let segment = try self.open(queue, file, transaction)
                let named = Set(transaction.blobs)
                while let groups = try self.guarding({ try segment.nextFrame() }) {
                    guard segment.blobs.isSubset(of: named) else { throw self.misnaming(file) }
                    for group in groups { try body(group) }
                }
                guard try self.guarding({ try segment.finish() }).chain == transaction.chain else {
                    throw self.changed(file)
                }
            })
    }

    /// Whether anything is ready.
    func hasNext() throws -> Bool { try nextReady() != nil }

    /// As ``next()``, without handing anything out: to see what could be imported and what is held.
    ///
    /// - Parameters:
    ///   - isOther: whether what a transaction depends on is another one than the one imported.
    ///   - note: is told of each transaction that lacks blobs, and which these are.
    func skip(
        _ isOther: (Dependency) throws -> Bool, lacking note: (Dot, Set<BlobID>) -> Void = { _, _ in }
    ) throws -> Bool {
        guard let (queue, transaction) = try nextReady() else { return false }
        let dependencies = transaction.header.dependencyChanges.filter { $0.dot.peer != queue.peer }
        if let other = try dependencies.first(where: isOther) {
            queue.refuse(transaction, "it has seen another transaction \(other.dot)")
        } else {
            if !queue.lostBlobs.isEmpty { note(transaction.header.dot, queue.lostBlobs) }
            advance(transaction)
        }
        return true
    }

    /// How many transactions lie in files beyond where the store stands.
    func remaining() -> Int {
        queues.filter { !$0.hasBranches }.reduce(0) { $0 + Int(clamping: $1.reach - min($1.reach, vector[$1.peer])) }
    }

    /// What the last calls found no way past.
    var held: [HeldTransaction] { queues.compactMap(\.held) + queues.compactMap(\.contradiction) }

    /// The peers of whose files one had gone since the folder was listed.
    var outdated: Set<PeerID> { Set(queues.lazy.filter(\.isOutdated).map(\.peer)) }

    /// Holds the file that a step failed in; the other files of its peer may do.
    func block(_ reason: HeldItem.Reason, _ detail: String) {
        guard let current, let queue = queues.first(where: { $0.line == current.peer }) else { return }
        queue.bad[current.file.name] = (reason, detail)
        // What was still arriving may be here at the next look.
        guard reason != .incomplete else { return queue.file = nil }
        queue.note = RefusalNote(
            dot: Dot(current.peer, current.sequence), file: current.file.name.description, reason: reason.rawValue,
            detail: detail)
        queue.file = nil
    }

    /// Holds the transaction handed out last, as long as this plan lasts; everything that does not depend on it goes on.
    func reject(_ reason: HeldItem.Reason, _ detail: String) {
        guard let current else { return }
        reject(
            RefusalNote(
                dot: Dot(current.peer, current.sequence), file: current.file.name.description, reason: reason.rawValue,
                detail: detail))
    }

    /// The same of one that an earlier import found.
    func reject(_ note: RefusalNote) {
        guard let queue = queues.first(where: { $0.line == note.dot.peer }),
            let reason = HeldItem.Reason(rawValue: note.reason)
        else { return }
        queue.rejected = HeldTransaction(
            dot: Dot(queue.peer, note.dot.sequence + queue.offset), file: LogFileName(note.file), reason: reason,
            detail: note.detail)
        queue.note = note
        close(queue)
    }

    /// What was rejected, for who comes later and only looks.
    var refusalNotes: [RefusalNote] { queues.compactMap(\.note) }

    /// Reads a file again that changed while it was read.
    ///
    /// - Returns: false where that was done before.
    func readAgain() -> Bool {
        guard let current, let queue = queues.first(where: { $0.line == current.peer }),
            queue.readAgain.insert(current.file.name).inserted
        else { return false }
        library.logs.forget(current.file.name, of: queue.peer)
        queue.file = nil
        return true
    }

    /// Times of this peer are accepted, however far ahead they lie.
    func acceptClock(of peer: PeerID) {
        queues.first { $0.line == peer }?.acceptsClock = true
    }

    /// The transactions that wait for nothing but the clock, to ask the store whether it lets them in.
    var waitingForClock: [FoundTransaction] {
        queues.compactMap { $0.held?.reason == .clock ? $0.held?.transaction : nil }
    }

    // MARK: Choosing

    private func nextReady() throws -> (PeerQueue, FoundTransaction)? {
        for _ in queues.indices {
            let queue = queues[cursor]
            if let transaction = try ready(queue) { return (queue, transaction) }
            moveOn()
        }
        return nil
    }

    private func moveOn() {
        cursor = (cursor + 1) % queues.count
        turnStart = .now
    }

    private func advance(_ transaction: FoundTransaction) {
        let dot = transaction.header.dot
        vector[dot.peer] = dot.sequence
        if dot.sequence == 1 { newPeers += 1 }
        chains[dot.peer] = transaction.chain
    }

    private func ready(_ queue: PeerQueue) throws -> FoundTransaction? {
        queue.held = queue.refused
        if queue.refused != nil { return nil }
        let own = vector[queue.line] + 1
        if let rejected = queue.rejected, rejected.dot.sequence == own + queue.offset {
            queue.held = rejected
            return nil
        }
        let sequence = own + queue.offset
        guard sequence <= queue.reach, own <= limit?[queue.line] ?? .max else { return nil }
        guard var transaction = try queue.transaction(sequence, after: chains[queue.line] ?? .zero, library.logs) else {
            if queue.contradiction != nil { suspects.insert(queue.peer) }
            return nil
        }
        if queue.contradiction != nil { suspects.insert(queue.peer) }
        transaction.header.dot = Dot(queue.line, own)
        let missing = transaction.header.dependencyChanges.map(\.dot).filter { !isSeen($0) && $0.peer != queue.peer }
        if let first = missing.first {
            queue.hold(sequence, .dependency, "it waits for \(first)", transaction)
            queue.held?.waitsFor = first
            return nil
        }
        let ahead = transaction.header.time.milliseconds - clock.now()
        if ahead > maximumDrift, transaction.header.time.milliseconds > latestTime, !queue.acceptsClock {
            queue.hold(
                sequence, .clock, "its time lies \((ahead / 1000).counted("second")) ahead of this machine's clock",
                transaction)
            return nil
        }
        if own == 1, newPeers >= maximumNewPeers, !library.logs.acceptsSize.contains(queue.peer) {
            queue.hold(
                sequence, .tooLarge,
                "nothing was known of this peer, and \(newPeers.counted("such peer has", "such peers have")) come today: more may be made up",
                transaction)
            return nil
        }
        guard try hasBlobs(transaction, queue) else { return nil }
        return transaction
    }

    /// Whether every blob that a transaction names is here and sound, or done without; else it is held.
    private func hasBlobs(_ transaction: FoundTransaction, _ queue: PeerQueue) throws -> Bool {
        queue.lostBlobs = []
        for id in transaction.blobs where waitsForBlobs {
            guard let obstacle = try library.blobs.obstacle(id) else { continue }
            if queue.peer == forgoesBlobsOf {
                queue.lostBlobs.insert(id)
                continue
            }
            queue.hold(transaction.header.dot.sequence, obstacle.reason, obstacle.detail, transaction)
            queue.held?.blob = BlobName(id)
            return false
        }
        return true
    }

    /// Whether a dependency may have been imported; where the peer's history forks, the store says for certain.
    private func isSeen(_ dot: Dot) -> Bool {
        if vector.covers(dot) { return true }
        let named = branches.first { $0.id == dot.peer }
        let origin = named?.origin ?? dot.peer
        let sequence = dot.sequence + (named?.offset ?? 0)
        return vector[origin] >= sequence
            || branches.contains {
                $0.origin == origin && sequence > $0.offset && vector[$0.id] >= sequence - $0.offset
            }
    }

    /// Lets the transaction handed out last wait until something else has been imported.
    ///
    /// - Parameter vector: where the store stands.
    func wait(_ reason: NotReady, at vector: VersionVector) {
        guard let current, let queue = queues.first(where: { $0.line == current.peer }) else { return }
        let what = reason.waitsFor.map(\.description) ?? "others"
        queue.refused = HeldTransaction(
            dot: Dot(queue.peer, current.sequence + queue.offset), file: current.file.name, reason: .dependency,
            detail: reason.isOtherBranch ? "it has seen another transaction \(what)" : "it waits for \(what)",
            waitsFor: reason.isOtherBranch ? nil : reason.waitsFor)
        refusedAt = vector
        guard reason.isOtherBranch, let peer = reason.waitsFor?.peer else { return }
        suspects.insert(branches.first { $0.id == peer }?.origin ?? peer)
    }

    /// Every transaction in a peer's files, however many of one dot.
    func allTransactions(of peer: PeerID) throws -> [BranchPlace] {
        guard let queue = queues.first(where: { $0.peer == peer }) else { return [] }
        return try queue.allTransactions(library.logs).map {
            BranchPlace(sequence: $0.header.dot.sequence, before: $0.chainBefore, after: $0.chain)
        }
    }

    // MARK: Streaming

    private func read(_ id: BlobID) throws -> Bytes {
        do {
            return try library.blobs.read(id)
        } catch let error as LogSyncError where error.code == .malformedLog {
            isBlobToBlame = true
            // Nothing stands for a value of a table or column that is not here: it is waited for as ever.
            forgoesBlobsOf = nil
            throw error
        }
    }

    private func misnaming(_ file: FoundFile<LogFileName>) -> LogFileError {
        let error = LogFileError.damaged("it names a blob that its end does not list", offset: 0)
        streamFailure = error
        return error
    }

    private func open(_ queue: PeerQueue, _ file: FoundFile<LogFileName>, _ transaction: FoundTransaction) throws
        -> SegmentReader
    {
        let sequence = transaction.header.dot.sequence + queue.offset
        if queue.reader?.file != file.name || (queue.reader?.next ?? .max) > sequence {
            close(queue)
            if readers.count >= Self.maximumReaders { close(readers[0]) }
            queue.reader = PeerQueue.OpenFile(
                reader: try guarding { try library.logs.reader(file.name, of: queue.peer) }, file: file.name,
                next: file.name.first)
            readers.append(queue)
        }
        while var open = queue.reader, open.next <= sequence {
            guard let segment = try guarding({ try open.reader.nextTransaction() }) else { break }
            open.next += 1
            queue.reader = open
            if segment.header.dot.sequence == sequence, segment.chainBefore == transaction.chainBefore {
                return segment
            }
        }
        throw changed(file)
    }

    private func close(_ queue: PeerQueue) {
        queue.reader = nil
        readers.removeAll { $0 === queue }
    }

    private func changed(_ file: FoundFile<LogFileName>) -> LogFileError {
        let error = LogFileError.damaged("it changed while it was read", offset: 0)
        streamFailure = error
        return error
    }

    /// Notes that the file is to blame for what is thrown, however far up it is caught.
    private func guarding<T>(_ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch let error as LogFileError {
            streamFailure = error
            throw error
        } catch let error as LogSyncError where error.code != .containerUnavailable {
            // It was there a moment ago, and whole.
            streamFailure = .incomplete(found: 0, expected: nil)
            throw error
        }
    }
}
