import LogSyncModel

/// Takes the large values out of a snapshot that is being taken: each is published once, and only named from then on.
final class SnapshotBlobs {
    private let threshold: Int
    private let publish: ((BlobID, Bytes) throws -> Void)?
    private var published: Set<BlobID> = []
    /// What was published, and where it stands.
    private(set) var placed: [PlacedBlob] = []

    init(_ threshold: Int, publish: ((BlobID, Bytes) throws -> Void)?) {
        self.threshold = threshold
        self.publish = publish
    }

    @inline(__always)
    func isLarge(_ value: Value) -> Bool { value.size > threshold }

    /// What stands for a value in the snapshot; the value itself where it is not large after all.
    func reference(
        to value: Value, in table: String, _ identity: RowIdentity, _ column: String
    ) throws -> Value {
        guard let publish, table != SettingTable.name, let (reference, bytes) = value.external(above: threshold) else {
            return value
        }
        if published.insert(reference.id).inserted {
            try publish(reference.id, bytes)
            placed.append(
                PlacedBlob(
                    id: reference.id, place: StoredBlobs.Place(table: table, identity: identity, column: column)))
        }
        return .external(reference)
    }
}
