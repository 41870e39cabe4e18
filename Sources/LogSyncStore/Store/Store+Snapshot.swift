import LogSyncFormat
package import LogSyncModel

extension Store {
    /// Records what is pending and streams the whole replicated state, as of one moment.
    ///
    /// Writers go on meanwhile. The caller has to note what was recorded before anything of it is published.
    ///
    /// - Parameters:
    ///   - places: where other peers stand: the snapshot says which transactions these are, however long ago they were.
    ///   - publishBlob: is given each large value as it comes by, once; the snapshot then only names it. nil to put all
    ///     values into the snapshot itself.
    ///   - write: takes the snapshot's bytes, in order.
    /// - Throws: `locked` where other programs write so often that no moment without something unrecorded was found;
    ///   what the closures throw.
    package func writeSnapshot(
        telling places: [VersionVector] = [], publishBlob: ((BlobID, Bytes) throws -> Void)? = nil,
        _ write: @escaping ([UInt8]) throws -> Void
    ) throws -> TakenSnapshot {
        let taken = try whereAllIsRecorded({ _ = try self.record() }) {
            try SnapshotSource($0, telling: places, publishBlob: publishBlob, write: write).take()
        }
        if let taken { return taken }
        throw LogSyncError(
            .locked, "\(path) is written so often that no snapshot could be taken; nothing was changed",
            help: "Run the command again when its programs are less busy.")
    }

    /// Reads the store as of a moment at which nothing is pending: what was committed since the last recording would be shown
    /// without its entries.
    ///
    /// - Parameter record: records what is pending.
    /// - Returns: nil where programs write so often that no such moment was found.
    func whereAllIsRecorded<Result>(
        _ record: () throws -> Void, _ body: (OpenStore) throws -> Result
    ) throws -> Result? {
        for _ in 0..<Self.momentsToTry {
            try record()
            let result = try database.read { try Self.isAllRecorded($0) ? body($0) : nil }
            if let result { return result }
        }
        return nil
    }

    /// Whether nothing is pending, and the schema is the one that is known.
    static func isAllRecorded(_ store: OpenStore) throws -> Bool {
        try !SchemaReconciliation.isNeeded(store) && PendingRows(store).isEmpty
    }

    private static let momentsToTry = 100

    /// What ``writeSnapshot(telling:publishBlob:_:)`` would take now. Nothing is written.
    package func expectedSnapshot() throws -> ExpectedSnapshot {
        try database.read { store in
            var bytes: UInt64 = 0
            let source = try SnapshotSource(store, publishBlob: { _, _ in }) { bytes += UInt64($0.count) }
            let taken = try Self.isAllRecorded(store) ? source.take() : nil
            return ExpectedSnapshot(manifest: source.manifest, bytes: bytes, blobs: taken?.blobs.map(\.id))
        }
    }
}
