import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// From the outbox into the container.
extension ReplicatedStore {
    /// A log file is no longer than this, unless one transaction is.
    static let maximumFileLength = 64 << 20

    /// Publishes the next log file.
    ///
    /// Killed anywhere, it does the same again: bytes make the name, and a transaction counts as published only when
    /// its file was read back.
    ///
    /// - Returns: how many transactions were published; 0 where none is left that can be.
    func publishNext() throws -> Int {
        removeStagedFiles()
        let waiting = try store.outbox(unpublishedOnly: true)
        let own = waiting.filter { $0.dot.peer == peer }
        if !own.isEmpty {
            try noteRecorded()
            try describe()
            return try publish(Self.firstRun(own))
        }
        for former in Set(waiting.map(\.dot.peer)).sorted() {
            let count = try publish(former: former, waiting.filter { $0.dot.peer == former })
            if count > 0 { return count }
        }
        return 0
    }

    /// Places files in a peer's folder: this peer's, or a former self's.
    func publisher(_ folder: PeerFolder) -> Publisher {
        Publisher(folder: folder, stagingDirectory: files.staging, stager: peer)
    }

    /// Removes what a process that was killed has staged; once in a process, before it stages anything itself.
    private func removeStagedFiles() {
        guard !hasRemovedStagedFiles else { return }
        hasRemovedStagedFiles = true
        publisher(content.peer(peer)).removeStaleFiles(now: configuration.fileClock())
    }

    /// The longest start of consecutive transactions that makes one file.
    static func firstRun(_ transactions: [OutboxTransaction]) -> [OutboxTransaction] {
        var run: [OutboxTransaction] = []
        var length = 0
        for transaction in transactions {
            if let last = run.last {
                guard transaction.dot.sequence == last.dot.sequence + 1, transaction.dot.peer == last.dot.peer,
                    length + transaction.byteCount <= maximumFileLength
                else { break }
            }
            run.append(transaction)
            length += transaction.byteCount
        }
        return run
    }

    private func publish(_ run: [OutboxTransaction]) throws -> Int {
        try write(run)
        try store.markPublished(run.map(\.dot))
        return run.count
    }

    /// Writes one log file and reads it back, after the blobs that it names.
    @discardableResult
    func write(_ run: [OutboxTransaction]) throws -> LogFileName? {
        guard let first = run.first, let last = run.last else { return nil }
        let sequences = first.dot.sequence...last.dot.sequence
        try publishBlobs(of: run)
        let folder = content.peer(first.dot.peer)
        let staged = try publisher(folder).stage(LogFileName.self)
        var writer = try LogFileWriter(
            content: content.name.description, peer: first.dot.peer, sequences: sequences,
            chainBefore: first.chainBefore, segmentBytes: run.reduce(0) { $0 + $1.byteCount }
        ) { try staged.write($0) }
        for transaction in run {
            try store.forEachOutboxBlock(of: transaction.dot) { try writer.append($0) }
        }
        _ = try writer.finish(chainAfter: last.chain)
        let name = try staged.publish {
            LogFileName(first: sequences.lowerBound, last: sequences.upperBound, fileHash: $0)
        }
        guard try folder.verify(name) == .intact else {
            throw LogSyncError(
                .ioError,
                "\(folder.path(name)) was read back with other bytes than were written; its transactions "
                    + "stay in the outbox", help: "Check the disk, and run the command again")
        }
        sayPublished(name, of: first.dot.peer, run)
        return name
    }

    /// Publishes what stands before any log: who this is, and the schema that its logs name.
    func describe() throws {
        let folder = content.peer(peer)
        let schema = try store.schemaText()
        // Before the description that names it.
        try publish(schema.text, schema.fingerprint)
        try folder.write(description())
    }

    private func publish(_ schema: String, _ fingerprint: SchemaFingerprint) throws {
        let folder = content.peer(peer)
        guard publishedSchemas.insert(fingerprint).inserted else { return }
        do {
            let name = SchemaFileName(fingerprint)
            let bytes = Array(schema.utf8)
            // What cannot be read is written again.
            if let there = try? folder.read(name, limit: bytes.count), there == bytes { return }
            _ = try publisher(folder).publish(bytes) { _ in name }
        } catch {
            publishedSchemas.remove(fingerprint)
            throw error
        }
    }

    /// Publishes what a former self of this store recorded and never published, where its folder lacks it.
    ///
    /// The same bytes get the same name, whoever writes them: should the original live on, nothing is there twice.
    private func publish(former: PeerID, _ waiting: [OutboxTransaction]) throws -> Int {
        let folder = content.peer(former)
        let names = try scanner.scan(only: former)?.logs ?? []
        let files = LogFileSet(names.map(\.name))
        var missing: [OutboxTransaction] = []
        for transaction in waiting {
            let candidates = files.candidates(for: transaction.dot.sequence)
            if try candidates.contains(where: { try holds($0, transaction) }) {
                // It has been there all along.
                try store.markPublished([transaction.dot])
            } else {
                missing.append(transaction)
            }
        }
        guard !missing.isEmpty else { return 0 }
        let run = Self.firstRun(missing)
        // The others are seeds, which are nobody's former self.
        if registration.succeeds.contains(former) {
            logger.notice(
                "Publishing \(run.count) transactions that \(place.path) recorded as its former self",
                metadata: ["peer": "\(former)", "folder": "\(folder.path)"])
        }
        return try publish(run)
    }

    /// Whether a file of a former self has this transaction, and not another of the same dot.
    private func holds(_ name: LogFileName, _ transaction: OutboxTransaction) throws -> Bool {
        let dot = transaction.dot
        guard let file = try scanner.scan(only: dot.peer)?.logs.first(where: { $0.name == name }),
            case .sound(let places) = try library.examine(file, of: dot.peer)
        else { return false }
        return places.contains { $0.header.dot.sequence == dot.sequence && $0.chain == transaction.chain }
    }

    // MARK: Receipt

    /// Publishes what this peer has published, imported and holds, where that is news.
    ///
    /// - Parameter leaving: whether this is the last that it says in this folder.
    func acknowledge(_ scan: ContainerScan?, leaving: Bool = false) throws {
        defer { unacknowledged = nil }
        try keepReceiptCounters()
        let folder = content.peer(peer)
        let standing = try folder.readReceipt()
        let vector = try store.vector()
        let firstWaiting = try store.outbox(unpublishedOnly: true).first { $0.dot.peer == peer }
        var said = Receipt.Content(
            published: firstWaiting.map { $0.dot.sequence - 1 } ?? vector[peer],
            chain: try firstWaiting?.chainBefore.description ?? store.chain(of: peer).description, imported: vector,
            held: held.map { $0.map(Receipt.Held.init).sorted() } ?? standing?.content.held ?? [],
            digest: standing?.content.digest ?? "",
            collectionEpoch: max(standing?.content.collectionEpoch ?? 0, try store.collection().epoch),
            epochsSeen: standing?.content.epochsSeen ?? [:], hasLeft: leaving)
        for (id, other) in scan?.peers ?? [:] where id != peer {
            if let epoch = other.said?.collectionEpoch, epoch > 0 { said.epochsSeen[id] = epoch }
        }
        guard var next = state else { return try describe() }
        next.receiptCounter = Receipt.counter(after: next.receiptCounter, standing: standing?.counter)
        if let standing, let state, standing.counter >= state.receiptCounter, standing.counter < next.receiptCounter,
            standing.content.saysTheSame(as: said)
        {
            return
        }
        said.digest = try store.digest()
        try describe()
        if next.nonces.last != nonce { next.nonces = (next.nonces + [nonce]).suffix(PeerState.maximumNonces) }
        try save(next)
        _ = try folder.publishReceipt(
            said, counter: next.receiptCounter - 1, nonce: nonce, written: configuration.now.milliseconds)
    }
}

extension ReplicatedStore {
    /// Keeps for the next process how far others' receipts have come. This peer's own is in its state file.
    private func keepReceiptCounters() throws {
        try store.keepReceiptCounters(scanner.receiptCounters.risen.filter { $0.key != peer })
        scanner.receiptCounters.forgetRisen()
    }
}

extension Receipt.Held {
    fileprivate init(_ item: HeldItem) {
        self.init(peer: item.peer.id, sequence: item.sequence, file: item.file, reason: item.reason.rawValue)
    }
}
