import Glibc
import LogSyncContainer
import LogSyncModel
import LogSyncStore

/// What keeps a store's files, the state directory and the folder from being written.
extension StoreExamination {
    /// What keeps this machine's own files from being written.
    func disks() -> [Finding] {
        let configuration = store.configuration
        let state = store.stateDirectory
        return [
            Self.disk(ofDatabase: path, configuration) ?? closedFile(),
            Self.disk(
                [state.path, state.stores, state.locks], "the state directory cannot be written to",
                kept: "nothing is published or imported", configuration),
        ].compactMap(\.self)
    }

    /// With less than this beyond what waits, SQLite's log, a blob's end or a receipt may be what does not fit any more.
    private static let margin: UInt64 = 1 << 20

    /// Disks that take a little, and not what waits here.
    func scarcity(_ status: StoreStatus, _ scan: ContainerScan?) throws -> [Finding] {
        let outbox = waiting.isEmpty ? [] : try store.store.outbox(unpublishedOnly: true)
        let arrived = try scan.map(arrivedBytes) ?? 0
        guard status.pending > 0 || !outbox.isEmpty || arrived > 0 else { return [] }
        let waits = "there may be no room for what waits to be"
        // What is imported stands in SQLite's log first, then in the database.
        let database = Self.disk(
            ofDatabase: path, store.configuration, "\(waits) \(arrived > 0 ? "imported" : "recorded")",
            room: Self.margin + 2 * min(arrived, UInt64(Int64.max) / 4))
        guard status.pending > 0 || !outbox.isEmpty else { return [database].compactMap(\.self) }
        return [database, scarcity(ofFolder: "\(waits) published", outbox.reduce(0) { $0 + UInt64($1.byteCount) })]
            .compactMap(\.self)
    }

    /// How long the log files and large values are that other peers have published and this store has not imported.
    private func arrivedBytes(_ scan: ContainerScan) throws -> UInt64 {
        let vector = try store.store.vector()
        var sizes: [UInt64] = []
        for peer in scan.peers.values where peer.id != store.peer {
            let reach = vector[peer.id]
            sizes += peer.logs.filter { $0.name.last > reach }.map(\.size)
            sizes += store.library.blobIndex.names(peer, logs: { $0.last > reach }, snapshots: { _ in false }).blobs
                .map { UInt64(clamping: $0.length) }
        }
        // A liar may say any length.
        return sizes.reduce(0) { $0.addingReportingOverflow($1).overflow ? .max : $0 + $1 }
    }

    private func scarcity(ofFolder what: String, _ size: UInt64) -> Finding? {
        do throws(FileSystemError) {
            try store.content.peer(store.peer).checkWritable(room: Self.margin + size)
            return nil
        } catch {
            // What else keeps the folder from being written to has been said of any file.
            guard error.number == ENOSPC else { return nil }
            return Self.unwritable(error, what, kept: "what programs have committed stays as it is")
        }
    }

    /// What keeps the disk of a database from taking anything.
    ///
    /// - Parameter room: for how many bytes there is to be room.
    static func disk(
        ofDatabase path: String, _ configuration: SyncConfiguration,
        _ what: String = "the database cannot be written to",
        room: UInt64 = 0
    ) -> Finding? {
        let directory = String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex))
        // Who may not write the directory cannot open the database.
        return disk(
            [directory.isEmpty ? "/" : directory], what, room: room,
            kept: "what programs have committed stays as it is",
            configuration, but: [EACCES, EPERM])
    }

    /// A file of the database's that this user may not write: SQLite opens it all the same, to read.
    private func closedFile() -> Finding? {
        for file in [path, path + "-wal", path + "-shm"] {
            guard let number = FileOwner.refusal(file, W_OK) else { continue }
            let owner = FileOwner.name(of: file) ?? "another user"
            let user = FileOwner.name(geteuid())
            return Finding(
                "permission-denied", .trouble, "the database cannot be written to", at: file,
                why: "\(user) may not write it, and it is \(owner)'s: \(String(cString: strerror(number))); nothing is "
                    + "recorded, published or imported",
                help: number == EPERM
                    ? Self.immutableHelp(file)
                    : owner == user
                        ? "chmod u+w \(file.asShellArgument)"
                        : "run logsync as \(owner), or sudo chown \(user) \(file.asShellArgument)"
            )
        }
        return nil
    }

    /// What helps where this user, even root, may not write something that its mode allows to be written.
    ///
    /// Source: access(2), `EPERM`.
    private static func immutableHelp(_ path: String) -> String {
        "it has the immutable attribute, which lsattr -d shows: sudo chattr -i \(path.asShellArgument)"
    }

    /// The part of the state directory that keeps this user from opening a store.
    static func closedStateDirectory(of store: String, _ configuration: SyncConfiguration) -> Finding? {
        let directory = StateDirectory(configuration.stateDirectory)
        guard let place = directory.closedPlace(lock: StoreLocks.name(store)) ?? directory.closedStateFile else {
            return nil
        }
        let error = directory.closed(place)
        return Finding(
            "permission-denied", .trouble, "the state directory cannot be written to", at: place, why: error.message,
            help: error.help)
    }

    /// - Parameter others: what is said elsewhere.
    private static func disk(
        _ places: [String], _ what: String, room: UInt64 = 0, kept: String, _ configuration: SyncConfiguration,
        but others: [CInt] = []
    ) -> Finding? {
        for place in places {
            do throws(FileSystemError) {
                try configuration.fileSystem.checkWritable(place, room: room)
            } catch {
                // A directory that is not there is made when it is needed.
                guard [ENOSPC, EDQUOT, EROFS, EACCES, EPERM].contains(error.number), !others.contains(error.number)
                else { continue }
                return unwritable(error, what, kept: kept, help: StateDirectory.permissionHelp)
            }
        }
        return nil
    }

    static func unwritable(
        _ error: FileSystemError, _ what: String = "the content folder cannot be written to",
        kept: String = "recorded changes stay in the store's outbox", help: String? = nil
    ) -> Finding {
        let code =
            switch error.number {
            case EROFS: "read-only"
            case EACCES, EPERM: "permission-denied"
            case ENOSPC, EDQUOT: "disk-full"
            default: "io-error"
            }
        let explained = error.explained(kept: kept)
        return Finding(
            code, .trouble, what, at: error.path, why: explained.message,
            help: error.number == EPERM
                ? immutableHelp(error.path) : explained.code == .noPermission ? help ?? explained.help : explained.help)
    }
}
