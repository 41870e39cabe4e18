import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore

/// The receipt: what this peer has published, imported and holds.
extension OwnFolder {
    /// For how long, in milliseconds, a receipt stands that would say nothing new: others take a peer for silent that they have
    /// not heard of for two weeks, and each writing is traffic for whatever carries the folder.
    private static let renewal: Int64 = 7 * 24 * 3_600_000

    /// Writes the receipt where it would say anything new, or where the one that stands is old.
    ///
    /// - Parameter scan: what the container holds; nil for what the last scan found.
    func acknowledge(_ scan: ContainerScan?) throws { try publishReceipt(scan ?? receiptScan, leaving: false) }

    /// Says in the folder that this peer keeps it no longer: no other peer waits for its word there, and any peer may delete
    /// what it published and a snapshot stands for.
    ///
    /// A peer that comes back says the opposite with its next receipt.
    func leave() throws { try publishReceipt(nil, leaving: true) }

    /// Keeps for the next process how far the other peers' receipts have come. This peer's own is in its state file.
    private func keepReceiptCounters() throws {
        let counters = library.scanner.receiptCounters
        try store.keepReceiptCounters(counters.risen.filter { $0.key != peer })
        library.scanner.receiptCounters.forgetRisen()
    }

    /// Notes in the store that what this run publishes is its own, once.
    func noteRun() throws {
        let nonce = owner.nonce
        if !owner.registration.runs.contains(nonce) {
            try store.noteRun(nonce, keeping: StateFile.maximumNonces)
            try owner.refresh()
        }
    }

    private func publishReceipt(_ scan: ContainerScan?, leaving: Bool) throws {
        defer { receiptScan = nil }
        try keepReceiptCounters()
        let standing = try folder.readReceipt()
        // Programs may record between two looks.
        let (vector, digest) = try store.position()
        let firstWaiting = try store.outbox(unpublishedOnly: true).first { $0.dot.peer == peer }
        var said = Receipt.Content(
            published: firstWaiting.map { $0.dot.sequence - 1 } ?? vector[peer],
            chain: try firstWaiting?.chainBefore.description ?? store.chain(of: peer).description, imported: vector,
            held: owner.inbox.held.map { $0.map(Receipt.Held.init).sorted() } ?? standing?.content.held ?? [],
            digest: standing?.content.digest ?? "",
            collectionEpoch: max(standing?.content.collectionEpoch ?? 0, try store.collection().epoch),
            epochsSeen: standing?.content.epochsSeen ?? [:], hasLeft: leaving)
        for (id, other) in scan?.peers ?? [:] where id != peer {
            if let epoch = other.said?.collectionEpoch, epoch > 0 { said.epochsSeen[id] = epoch }
        }
        said.fit(after: standing?.content, of: peer)
        let isWhole = said.imported == vector
        let identity = owner.identity
        guard let state = identity.state else { return try describe() }
        let next = Receipt.counter(after: state.receiptCounter, standing: standing?.counter)
        let now = owner.configuration.now.milliseconds
        let isOld = standing.map { now - $0.written > Self.renewal } ?? false
        if !isOld, let standing, standing.counter >= state.receiptCounter, standing.counter < next,
            standing.content.saysTheSame(as: said)
        {
            return
        }
        said.digest = isWhole ? digest : ""
        try describe()
        // Before the folder: a receipt there of which neither the store nor the state file knows is taken for another process's.
        try noteRun()
        let nonce = owner.nonce
        try identity.update { state in
            state.receiptCounter = next
            if state.nonces.last != nonce {
                state.nonces = (state.nonces + [nonce]).suffix(StateFile.maximumNonces)
            }
        }
        _ = try folder.publishReceipt(
            said, counter: next - 1, nonce: nonce, written: now, renews: isOld)
    }
}

extension Receipt.Held {
    fileprivate init(_ item: HeldItem) {
        self.init(peer: item.peer.id, sequence: item.sequence, file: item.file, reason: item.reason.rawValue)
    }
}
