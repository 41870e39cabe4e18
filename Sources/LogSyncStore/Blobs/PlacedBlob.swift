import LogSyncFormat
package import LogSyncModel

/// A blob that a snapshot names, and a cell that holds its bytes.
package struct PlacedBlob {
    package var id: BlobID
    var place: StoredBlobs.Place
}
