import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore

extension Founder {
    /// Gives columns that have come back in a store without their values what a replay of the folder has of them.
    ///
    /// - Parameter path: the store's, as its state file has it.
    func refill(
        _ path: String, _ progress: @Sendable (SyncProgress) -> Void
    ) async throws -> [VerifyReport.Refill] {
        let scratch = try ScratchFolder("refill", kept: "nothing was changed")
        defer { scratch.remove() }
        let snapshot = scratch.path + "/snapshot"
        guard let columns = try await replay(path, into: snapshot, scratch, progress) else { return [] }
        let replicator = try await Replicator.open(store: path, configuration: configuration)
        do {
            let refilled = try await replicator.refill(columns, from: snapshot)
            await replicator.close()
            return refilled
        } catch {
            await replicator.close()
            throw error
        }
    }

    /// - Returns: what the store lacks; nil where that is nothing, and no snapshot was made.
    private func replay(
        _ path: String, into snapshot: String, _ scratch: ScratchFolder,
        _ progress: @Sendable (SyncProgress) -> Void
    ) async throws -> ReturnedColumns? {
        // The replay needs memory, too.
        var reading = configuration
        reading.pageCache = 4 << 20
        let store = try ReplicatedStore(
            path: path, configuration: reading, stateDirectory: StateDirectory(configuration.stateDirectory),
            nonce: "refill")
        defer { closeQuietly(store.store) }
        var columns = try store.store.returnedColumns()
        guard !columns.names.isEmpty else { return nil }
        let scan = try ContainerScanner(content: store.content).scan(full: true)
        let (replay, _) = try await replay(store.content, scan, store, in: scratch, progress)
        defer { closeQuietly(replay.replica.store) }
        try replay.writeSnapshot(snapshot)
        columns.isAllThere = replay.hadStateOfStore
        return columns
    }
}

extension Replicator {
    /// Each frame is a step of its own: other processes have their turn in between.
    ///
    /// - Parameter path: a snapshot that a store with the same schema has taken.
    fileprivate func refill(_ columns: ReturnedColumns, from path: String) async throws -> [VerifyReport.Refill] {
        let source: FileSource
        do {
            source = try FileSource(PosixFileSystem().open(path))
        } catch {
            throw error.explained(kept: "nothing was changed")
        }
        // It is this process's own, so it may come to any size.
        let snapshot = try SnapshotReader(source, maximumExpansion: .max)
        let refill = try await settledStep { try Refill(columns, of: $0.store, from: snapshot) }
        while try await settledStep({ try refill.next(in: $0.store) }) { try Task.checkCancellation() }
        return try await settledStep { try refill.finish(in: $0.store) }.map {
            VerifyReport.Refill(column: $0.column.description, cells: $0.cells, isWhole: $0.isWhole)
        }
    }
}
