import LogSyncContainer
import LogSyncModel
import LogSyncStore
import Logging

extension Replicator {
    /// Takes the store and its whole history to another container, or to another content name, or both.
    ///
    /// The content is founded there, or joined where it is the same content already, as after another peer moved first.
    /// Every log that the former folder holds of any peer is copied; what this peer has published is written from its
    /// outbox, and where that is not the whole state, a snapshot is written besides. The former folder stays as it is for the others: each of them moves by itself, or stays. Other processes
    /// are asked to let go of the store.
    ///
    /// - Parameters:
    ///   - container: the shared folder to go to; it has to be there.
    ///   - content: the content's name there; nil for the present one.
    /// - Throws: `containerUnavailable` where `container` is not there; `configuration` where another content of that
    ///   name is there, or the store lies within that folder; `usage`; `locked`; `ioError`. The store then stays where
    ///   it was, and what was copied is used by the next attempt.
    public func move(to container: String, content: String? = nil) async throws -> MoveReport {
        let container = StorePlace.absolute(container)
        let name = try content.map { try ContentName(checking: $0) }
        try await takeAlone()
        do {
            let report = try await move(container, name)
            giveBack()
            close()
            return report
        } catch {
            giveBack()
            close()
            throw error
        }
    }

    private func move(_ container: String, _ name: ContentName?) async throws -> MoveReport {
        // What is refused is refused before anything is published here or there.
        let (target, isThere) = try await step(settles: true) { store in
            let target = ContentFolder(
                container: container, name: name ?? store.content.name, fileSystem: store.configuration.fileSystem)
            try store.checkMove(to: target)
            return (target, store.isAt(target))
        }
        var report = try await step(settles: true) { MoveReport($0.registration, store: path, target) }
        if !isThere {
            let isAvailable = try await syncBeforeMove()
            report.copied = try await step(settles: true) { store in
                // Without the former folder nobody else's files can be had; a snapshot stands for them.
                let scan = isAvailable ? try store.scan(full: true) : nil
                let copied = try scan.map { try Relocation(store: store, target: target).copy($0) } ?? 0
                store.takenSnapshot = nil
                try target.create()
                // Before the store is elsewhere: one that is killed in between takes it back at its next sync.
                if isAvailable { try store.takeLeave() }
                try store.store.setContent(target.name.description, container: container)
                try store.refresh()
                return copied
            }
        }
        report.result = try await sync()
        (report.snapshot, report.missing) = try await step { try $0.completeBySnapshot() }
        return report
    }

    /// Takes and gives what can be had at the former place. Returns whether it is there.
    private func syncBeforeMove() async throws -> Bool {
        do {
            _ = try await sync()
            return true
        } catch let error as LogSyncError where error.code == .containerUnavailable {
            configuration.logger.warning("\(path) moves without its former container: \(error)")
            return false
        }
    }
}

/// What ``Replicator/move(to:content:)`` did.
public struct MoveReport: Sendable, Encodable {
    /// A content in a container.
    public struct Place: Hashable, Sendable, Encodable {
        public var content: String
        public var container: String
    }

    public let format = 1
    public var store: String
    public var place: Place
    public var former: Place
    /// Log files copied from the former folder.
    public var copied = 0
    /// The snapshot that was written because the logs that could be copied would not give the whole state; nil where
    /// none was needed.
    public var snapshot: String?
    /// What is in the store, and in neither logs nor snapshots in the new folder; normally nothing.
    public var missing: [RebuildReport.Missing] = []
    /// What the sync with the new container brought.
    public var result: SyncResult

    /// Whether the store was elsewhere before.
    public var changed: Bool { place != former }

    init(_ registration: StoreRegistration, store: String, _ target: ContentFolder) {
        self.store = store
        place = Place(content: target.name.description, container: target.container)
        former = Place(content: registration.content, container: registration.container)
        result = SyncResult(store: store)
    }

    private enum CodingKeys: String, CodingKey {
        case format, store, content, container, former, changed, copied, snapshot, missing, recorded, published,
            imported, held
    }

    public func encode(to encoder: any Encoder) throws {
        var document = encoder.container(keyedBy: CodingKeys.self)
        try document.encode(format, forKey: .format)
        try document.encode(store, forKey: .store)
        try document.encode(place.content, forKey: .content)
        try document.encode(place.container, forKey: .container)
        try document.encode(former, forKey: .former)
        try document.encode(changed, forKey: .changed)
        try document.encode(copied, forKey: .copied)
        try document.encode(snapshot, forKey: .snapshot)
        try document.encode(missing, forKey: .missing)
        try document.encode(result.recorded, forKey: .recorded)
        try document.encode(result.published, forKey: .published)
        try document.encode(result.imported, forKey: .imported)
        try document.encode(result.held, forKey: .held)
    }
}

extension ReplicatedStore {
    fileprivate func isAt(_ target: ContentFolder) -> Bool {
        registration.container == target.container && content.name == target.name
    }

    /// - Throws: `containerUnavailable`, `configuration`.
    fileprivate func checkMove(to target: ContentFolder) throws {
        try StorePlace.checkSuitable(place.path, container: target.container, fileSystem: configuration.fileSystem)
        guard try target.exists() else { return }
        try checkHistory(of: try ContainerScanner(content: target).scan(full: true), at: target.path)
    }
}
