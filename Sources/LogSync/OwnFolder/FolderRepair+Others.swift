import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// Repairs other folders in this peer's care: those of former selves that are no more, and of seeds, which have no stores
/// that would.
extension FolderRepair {
    /// Writes again what the outbox has of it, and removes files that cannot be read where nothing is lost with them. What
    /// the outbox has not, a snapshot is taken for (``OwnFolder/bridgeGaps(_:)``).
    func repairFormerSelves(_ vector: VersionVector) throws {
        for former in try own.silentFormerSelves() {
            try repairDocuments(of: former)
            let logs = scan.peers[former]?.logs ?? []
            let (sound, bad) = try sort(logs, of: former, readsAll: own.readsAll(logs))
            let missing = LogFileSet(sound).missing(upTo: vector[former])
            let wanted = try missing.beyond(owner.coverage.reach(of: former, scan))
            let kept = try wanted.flatMap { try store.outbox(of: former, $0) }
            try removeMadeUpFor(bad, of: former, missing, by: kept, vector)
            try own.writeAll(kept)
        }
    }

    /// Writes a former self's description again where it cannot be read, and removes what else cannot: its receipt says nothing
    /// that counts any more, and its schemas have been handed on.
    private func repairDocuments(of former: PeerID) throws {
        guard let found = scan.peers[former] else { return }
        let folder = own.library.content.peer(former)
        // Scans of folders at rest do not look at it again.
        if try own.soundDescriptions.insert(former).inserted && folder.hasDamagedDescription()
            || found.description == .damaged
        {
            let selves = own.formerSelves
            let before = selves.firstIndex(of: former).flatMap { $0 > 0 ? selves[$0 - 1] : nil }
            try folder.write(
                PeerDescription(
                    name: owner.names()[former].name, created: owner.registration.created, succeeds: before))
        }
        if found.receipt == .damaged { try folder.removeReceipt() }
        var damaged: [SchemaFileName] = []
        for file in found.schemas where !own.soundSchemas.contains(file) {
            // What cannot be read now stays, and is said by doctor.
            guard let isDamaged = try? own.library.content.isDamaged(file.name, of: former) else { continue }
            if isDamaged { damaged.append(file.name) } else { own.soundSchemas.insert(file) }
        }
        try folder.remove(damaged)
    }

    /// Puts seeds into their folders and puts them back.
    func repairSeeds() throws {
        let selves = Set(own.formerSelves).union([peer])
        for id in try store.outboxPeers() where !selves.contains(id) {
            let seed = scan.peers[id]
            let outbox = try store.outbox(of: id, 1...UInt64.max)
            guard !outbox.isEmpty else { continue }
            if seed?.description.value == nil { try own.library.content.peer(id).write(.seed(id)) }
            var names = seed?.logs.map(\.name) ?? []
            if own.readsEverything || isHeld(filesOf: id) {
                let (sound, bad) = try sort(seed?.logs ?? [], of: id, readsAll: true)
                let held = Set(outbox.map(\.dot.sequence))
                let gone = bad.filter { name in
                    name.last - name.first < held.count && (name.first...name.last).allSatisfy(held.contains)
                }
                try own.library.content.peer(id).remove(gone)
                names = sound
            }
            let files = LogFileSet(names)
            for kept in outbox {
                if case .file = files.choice(for: kept.dot.sequence) { continue }
                // Where it was collected, a snapshot stands for it.
                if kept.isPublished, try owner.coverage.reach(of: id, scan) >= kept.dot.sequence { continue }
                try own.write([kept])
                if !kept.isPublished { try store.markPublished([kept.dot]) }
            }
        }
    }

    /// Tells files of another peer that can be read from damaged ones, and such as are not all here.
    private func sort(
        _ files: [FoundFile<LogFileName>], of id: PeerID, readsAll: Bool
    ) throws -> (sound: [LogFileName], bad: [LogFileName]) {
        var (sound, bad): ([LogFileName], [LogFileName]) = ([], [])
        for file in files {
            if try own.library.logs.isUnreadable(file, of: id, readsAll: readsAll) {
                bad.append(file.name)
            } else {
                sound.append(file.name)
            }
        }
        return (sound, bad)
    }

    /// Removes the files of a former self that cannot be read, and of which everything is in sound files, in the outbox or
    /// in a snapshot that has been compared with this store.
    ///
    /// - Parameters:
    ///   - missing: what no sound file holds.
    ///   - kept: what is written again.
    private func removeMadeUpFor(
        _ bad: [LogFileName], of former: PeerID, _ missing: [ClosedRange<UInt64>], by kept: [OutboxTransaction],
        _ vector: VersionVector
    ) throws {
        // The files of two histories cannot be told apart by their names.
        guard !bad.isEmpty, try !store.branches().contains(where: { $0.origin == former }) else { return }
        let covered =
            try owner.coverage.wholeSnapshots(scan).filter { try owner.coverage.isTrue($0) }
            .map { $0.vector[former] }.max() ?? 0
        let gone = bad.filter { name in
            guard name.last <= vector[former] else { return false }
            let lacking = missing.beyond(covered).filter { $0.overlaps(name.first...name.last) }
                .reduce(UInt64(0)) { $0 + UInt64($1.clamped(to: name.first...name.last).count) }
            return UInt64(kept.count { $0.dot.sequence > covered && name.covers($0.dot.sequence) }) == lacking
        }
        guard !gone.isEmpty else { return }
        let folder = own.library.content.peer(former)
        // What is written again may have its name.
        try folder.remove(gone)
        own.logger.notice(
            "Removed from \(folder.path) what cannot be read and is made up for",
            metadata: ["files": "\(gone.map(\.description).joined(separator: " "))"])
    }

    /// Whether another peer holds a log file of this one because it cannot be read.
    private func isHeld(filesOf id: PeerID) -> Bool {
        scan.peers.values.contains { other in
            other.id != peer
                && other.said?.held.contains {
                    $0.peer == id && ["damaged", "incomplete"].contains($0.reason)
                        && $0.file.flatMap(LogFileName.init) != nil
                } ?? false
        }
    }
}
