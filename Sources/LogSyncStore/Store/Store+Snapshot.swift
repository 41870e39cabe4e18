import LogSyncFormat
package import LogSyncModel

extension Store {
    /// Records what is pending and streams the whole replicated state, as of one moment.
    ///
    /// Writers go on meanwhile. The caller has to note what was recorded before anything of it is published.
    ///
    /// - Parameters:
    ///   - publishBlob: is given each large value as it comes by, once; the snapshot then only names it. nil to put all
    ///     values into the snapshot itself.
    ///   - write: takes the snapshot's bytes, in order.
    /// - Throws: `locked` where other programs write so often that no moment without something unrecorded was found;
    ///   what the closures throw.
    package func writeSnapshot(
        publishBlob: ((BlobID, Bytes) throws -> Void)? = nil, _ write: @escaping ([UInt8]) throws -> Void
    ) throws -> TakenSnapshot {
        for _ in 0..<Self.momentsToTry {
            _ = try record()
            let taken = try database.read { store -> TakenSnapshot? in
                // What was committed since the recording would be shown without its entries.
                guard try !SchemaReconciliation.isNeeded(store), try PendingRows(store).isEmpty else { return nil }
                return try SnapshotSource(store, publishBlob: publishBlob, write: write).take()
            }
            if let taken { return taken }
        }
        throw LogSyncError(
            .locked, "\(path) is written so often that no snapshot could be taken; nothing was changed",
            help: "Run the command again when its programs are less busy.")
    }

    private static let momentsToTry = 100

    /// What ``writeSnapshot(publishBlob:_:)`` would take now. Nothing is written.
    package func expectedSnapshot() throws -> ExpectedSnapshot {
        try database.read { store in
            var bytes: UInt64 = 0
            let source = try SnapshotSource(store, publishBlob: { _, _ in }) { bytes += UInt64($0.count) }
            // What has to be recorded first would be shown without its entries.
            let isRecorded = try !SchemaReconciliation.isNeeded(store) && PendingRows(store).isEmpty
            let taken = isRecorded ? try source.take() : nil
            return ExpectedSnapshot(manifest: source.manifest, bytes: bytes, blobs: taken?.blobs.map(\.id))
        }
    }
}
