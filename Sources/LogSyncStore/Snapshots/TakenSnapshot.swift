package import LogSyncFormat
package import LogSyncModel

/// A snapshot that was taken of a store.
package struct TakenSnapshot {
    package var vector: VersionVector
    /// The author's own sequence in it.
    package var sequence: UInt64
    package var hash: FileHash
    /// The columns that it says this store has lost values of.
    package var lost: Set<ColumnName>
    /// The blobs that it names, and cells that hold their bytes.
    package var blobs: [PlacedBlob]
}

/// A snapshot that would be taken of a store.
package struct ExpectedSnapshot {
    package var manifest: SnapshotManifest
    /// Its length; that of the manifest alone where something has to be recorded first.
    package var bytes: UInt64
    /// The blobs that it would name; nil where something has to be recorded first.
    package var blobs: [BlobID]?
}
