package import LogSyncFormat
package import LogSyncModel

/// A transaction from the container, to be merged.
package struct IncomingTransaction {
    package var header: TransactionHeader
    package var chainBefore: ChainHash
    package var chain: ChainHash
    /// Streams the row changes, from the first one on.
    package var forEachGroup: ((RowGroup) throws -> Void) throws -> Void
    /// Gives the blobs that its values name; nil where it names none.
    package var blobs: BlobSource?
    /// The blobs among them that nobody has any more, and that it is merged without; see ``LostValue``.
    package var lost: Set<BlobID>

    package init(
        header: TransactionHeader, chainBefore: ChainHash, chain: ChainHash, blobs: BlobSource? = nil,
        lost: Set<BlobID> = [], forEachGroup: @escaping ((RowGroup) throws -> Void) throws -> Void
    ) {
        self.blobs = blobs
        self.lost = lost
        self.header = header
        self.chainBefore = chainBefore
        self.chain = chain
        self.forEachGroup = forEachGroup
    }
}

/// What an imported transaction changed in the store.
package struct ImportedTransaction: Sendable {
    package var dot: Dot
    package var time: HybridTime
    package var author: String?
    package var context: String?
    package var tables: [String: TableChanges]
    /// Its place in the history of this store.
    package var token: Int64
}
