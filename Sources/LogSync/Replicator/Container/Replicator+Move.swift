import LogSyncContainer
import LogSyncModel
import LogSyncStore
import Logging

extension Replicator {
    /// Takes the store and its whole history to another container, or to another content name, or both.
    ///
    /// The content is founded there, or joined where it is the same content already, as after another peer moved first.
    /// Every log that the former folder holds of any peer is copied; what this peer has published is written from its
    /// outbox, and where that is not the whole state, a snapshot is written besides. The former folder stays as it is for
    /// the other peers: each of them moves by itself, or stays. Other processes are asked to let go of the store.
    ///
    /// - Parameters:
    ///   - container: the shared folder to go to; it has to be there.
    ///   - content: the content's name there; nil for the present one.
    /// - Throws: `containerUnavailable` where `container` is not there; `configuration` where another content of that
    ///   name is there, or the store lies within that folder; `usage`; `locked`; `ioError`. The store then stays where
    ///   it was, and what was copied is used by the next attempt.
    public func move(to container: String, content: String? = nil) async throws -> MoveReport {
        let container = StorePlace.absolute(container: container, configuration.fileSystem)
        let name = try content.map { try ContentName(checking: $0) }
        try await takeAlone()
        defer {
            giveBack()
            closeStore()
        }
        return try await move(container, name)
    }

    private func move(_ container: String, _ name: ContentName?) async throws -> MoveReport {
        // What is refused is refused before anything is published here or there.
        let (target, isThere, isSameFolder) = try await step(settles: true) { store in
            let target = ContentFolder(
                container: container, name: name ?? store.content.name, fileSystem: store.configuration.fileSystem,
                purpose: .founding, permissions: store.place.permissions)
            try store.checkMove(to: target)
            return (target, store.isAt(target), try store.isIn(target))
        }
        var report = try await step(settles: true) { MoveReport($0.registration, store: path, target) }
        if isSameFolder, !isThere {
            report.isSameFolder = true
            // It leaves no folder.
            try await step(settles: true) { try $0.relocate(to: container, target.name) }
        } else if !isThere {
            let hasWarned = try await !syncBeforeMove()
            (report.copied, report.staying) = try await step(settles: true) { store in
                // Where the former folder cannot be read, the other peers' files cannot be had; a snapshot stands for them.
                let scan = try store.formerScan()
                let there = try target.exists() ? try ContainerScanner(content: target).scan(full: true) : nil
                let copied = try scan.map { try ContentRelocation(store, to: target).copy($0, besides: there) } ?? 0
                let staying = try scan.map { try store.othersTakingPart(in: $0, butNotIn: there) } ?? []
                try target.create()
                // Before the store is elsewhere: one that is killed in between takes it back at its next sync.
                if scan != nil, let refusal = try store.leavingRefusal(), !hasWarned {
                    store.warnOfMove(refusal)
                }
                try store.relocate(to: container, target.name)
                return (copied, staying)
            }
        }
        report.result = try await sync()
        (report.snapshot, report.missing) = try await step { try $0.ownFolder.completeBySnapshot() }
        return report
    }

    /// Takes and gives what can be had at the former place. Returns false where that was not all; then it is said.
    private func syncBeforeMove() async throws -> Bool {
        do {
            _ = try await sync()
            return true
        } catch let error as LogSyncError where error.isOfContainer {
            try inspect { $0.warnOfMove(error) }
            return false
        }
    }
}

extension ReplicatedStore {
    /// What the folder that is left holds; nil where it cannot be read.
    fileprivate func formerScan() throws -> ContainerScan? {
        do {
            return try scan()
        } catch let error as LogSyncError where error.isOfContainer {
            return nil
        }
    }

    fileprivate func warnOfMove(_ refusal: LogSyncError) {
        logger.warning(
            """
            \(place.path) moves, and its former container was not there, or took nothing. Who stays there goes on keeping files \
            for it, until `logsync peers retire` says that it has gone: \(refusal.messageAlone)
            """)
    }

    fileprivate func isAt(_ target: ContentFolder) -> Bool {
        registration.container == target.container && content.name == target.name
    }

    /// Whether a content folder is the one that the store is in, by whichever path.
    fileprivate func isIn(_ target: ContentFolder) throws -> Bool {
        guard content.name == target.name, let here = FolderPlace(content.path), let there = FolderPlace(target.path)
        else { return false }
        return here.isSame(as: there)
    }

    /// - Parameter there: what the folder that the store goes to holds. A peer that has said something there takes part in it
    ///   already; only log files may have been copied of one that has not.
    fileprivate func othersTakingPart(in scan: ContainerScan, butNotIn there: ContainerScan?) throws -> [PeerName] {
        let names = try names()
        let moved = (there?.peers ?? [:]).filter { $0.value.receipt.value.map { !$0.content.hasLeft } ?? false }.keys
        return try Set(scan.peers.keys).subtracting(retiredPeers(scan)).subtracting([peer]).subtracting(moved).sorted()
            .map { names[$0] }
    }

    /// - Throws: `containerUnavailable`, `configuration`.
    fileprivate func checkMove(to target: ContentFolder) throws {
        try StorePlace.checkSuitable(place.path, container: target.container, fileSystem: configuration.fileSystem)
        guard try target.exists() else { return }
        try checkHistory(of: try ContainerScanner(content: target).scan(full: true), at: target.path)
    }
}
