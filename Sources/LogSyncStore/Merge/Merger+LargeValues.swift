import LogSyncModel

extension Merger {
    /// Applies a row that names blobs. Rows that have to wait do so without their bytes.
    func applyWhole(
        _ group: RowGroup, _ index: Int, _ target: GroupTarget, _ mayDefer: Bool, _ blobs: @escaping BlobSource
    ) throws {
        let waiting = deferred.count
        try apply(group.whole(at: index, blobs), 0, target, mayDefer: mayDefer)
        if deferred.count > waiting { deferred[waiting] = (group, index) }
    }
}
