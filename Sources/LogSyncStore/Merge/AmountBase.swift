import LogSyncModel
import LogSyncState

/// The versions that amounts of an incoming transaction were added to.
struct AmountBase {
    private let transaction: TransactionMerge

    init(_ transaction: TransactionMerge) { self.transaction = transaction }

    /// A version's place in this store's terms.
    ///
    /// - Throws: `malformedLog` where nobody has made it yet: a store that named it would name it for ever, in snapshots too.
    func place(of dot: Dot) throws -> (number: Int64, sequence: UInt64) {
        let (peers, stamp) = (transaction.store.peers, transaction.stamp)
        let base = peers.place(of: dot, seenBy: transaction.dependencies)
        let isOwn = base.number == stamp.peer && base.sequence < stamp.sequence
        let isHere = base.number != 0 && peers.entries[base.number].map { $0.sequence >= base.sequence } ?? false
        guard isOwn || isHere else {
            throw LogSyncError(
                .malformedLog, "transaction \(transaction.header.dot) adds to a value of \(dot), which is not here")
        }
        return base
    }
}
