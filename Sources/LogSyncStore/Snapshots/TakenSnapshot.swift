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
