import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// Puts back what is missing or damaged in this peer's own folder.
///
/// A log file is written again from the outbox. Where the outbox has let its transactions go, a snapshot stands for them, or
/// one is taken. Files are read as far as that costs little; a file that another peer complains of in its receipt is read,
/// and written again, in any case.
struct FolderRepair {
    let own: OwnFolder
    let scan: ContainerScan

    var owner: ReplicatedStore { own.owner }
    var store: Store { own.store }
    var peer: PeerID { own.peer }
    /// This peer's folder as the scan found it.
    var found: PeerScan? { scan.peers[peer] }

    /// Files up to this many bytes in all, of one kind, are read at the first repair of each process; longer histories are
    /// compared by name and length, and read when another peer complains.
    static let maximumReading: UInt64 = 16 << 20

    init(_ own: OwnFolder, _ scan: ContainerScan) {
        self.own = own
        self.scan = scan
    }

    func run() throws {
        let vector = try store.vector()
        let firstWaiting = try store.outbox(unpublishedOnly: true).first { $0.dot.peer == peer }
        let published = firstWaiting.map { $0.dot.sequence - 1 } ?? vector[peer]
        try repairDescription()
        try repairFormerSelves(vector)
        try repairSeeds()
        let damagedSnapshots = try own.damagedSnapshots(found)
        guard published > 0 else { return }

        let logs = try sortLogs()
        let complaints = try complaints(of: logs.sound)
        try repairBlobs(complaints.blobs)
        let usable = logs.sound.filter { !complaints.logs.contains($0) }
        let missing = LogFileSet(usable).missing(upTo: published)
        // What has been let go of, or deleted for good, a snapshot stands for.
        let released = try store.outboxStart(of: peer) - 1
        // Of a retired peer any other may delete what a snapshot stands for.
        let gone = try store.retiredPeers().contains(peer) ? .max : max(released, store.collection().floors[peer])
        let covered = try owner.coverage.reach(of: peer, scan, except: damagedSnapshots)
        let wanted = missing.beyond(min(gone, covered))
        try writeAgain(wanted, replacing: logs.bad + complaints.logs)
        let isNeeded =
            try wanted.contains { $0.lowerBound <= released }
            && wanted.beyond(owner.coverage.bridge(of: peer, scan, except: damagedSnapshots)).contains {
                $0.lowerBound <= released
            }
        try repairSnapshots(damagedSnapshots, isNeeded: isNeeded)
        own.soundLogs.keep { file in logs.sound.contains(file.name) }
    }

    private func repairDescription() throws {
        let description = try own.description()
        let schema = description.schema
        let schemas = found?.schemas ?? []
        let hasSchema = schemas.contains { $0.name.fingerprint == schema && $0.size > 0 }
        if !hasSchema, let schema { own.publishedSchemas.remove(schema) }
        if found?.description.value != description || !hasSchema { try own.describe() }
    }

    // MARK: Log files

    /// Tells the sound log files from the bad ones, and both from files that another store wrote under this peer's id.
    private func sortLogs() throws -> (sound: [LogFileName], bad: [LogFileName]) {
        let logs = found?.logs ?? []
        let reads = own.readsAll(logs)
        var (sound, bad, foreign): ([LogFileName], [LogFileName], [LogFileName]) = ([], [], [])
        for file in logs {
            if try !isSound(file, reads: reads) {
                bad.append(file.name)
            } else if try own.isForeign(file.name) {
                foreign.append(file.name)
            } else {
                sound.append(file.name)
            }
        }
        own.repairedBeside = foreign
        return (sound, bad)
    }

    /// Whether an own file is as it was written, as far as that can be told at this price.
    private func isSound(_ file: FoundFile<LogFileName>, reads: Bool) throws -> Bool {
        if own.soundLogs.contains(file) { return true }
        guard let header = own.library.logs.header(file.name, of: peer), UInt64(header.totalLength) == file.size else {
            return false
        }
        if reads, try !own.library.logs.isIntact(file.name, of: peer) { return false }
        own.soundLogs.insert(file)
        return true
    }

    private func writeAgain(_ missing: [ClosedRange<UInt64>], replacing bad: [LogFileName]) throws {
        guard !missing.isEmpty || !bad.isEmpty else { return }
        let kept = try missing.flatMap { try store.outbox(of: peer, $0) }
        // A damaged file goes first: what is published again may have its name.
        for name in bad { try own.folder.remove(name) }
        try own.writeAll(kept)
        if !kept.isEmpty || !bad.isEmpty {
            own.logger.notice(
                "Mended \(own.folder.path)",
                metadata: [
                    "transactions": "\(kept.count)", "replaced": "\(bad.map(\.description).joined(separator: " "))",
                ])
        }
    }

    // MARK: Complaints

    /// What the other peers' receipts say of this peer's files, as far as it was not answered before.
    struct Complaints {
        var logs: [LogFileName] = []
        var blobs: [BlobName: BlobComplaint] = [:]
    }

    /// What another peer says of a blob of this peer.
    enum BlobComplaint {
        /// It is not there, or not all of it.
        case missing
        /// It has other bytes than its name says.
        case damaged
    }

    /// The files of which another peer says that they are damaged or incomplete where it reads them.
    ///
    /// A file that is sound here is written again once: its copy went wrong on the way, and a file with a new time is what
    /// makes a sync engine carry it again.
    private func complaints(of sound: [LogFileName]) throws -> Complaints {
        var complaints = Complaints()
        var answered: [String: UInt64] = [:]
        let before = owner.identity.state?.answered
        for other in scan.peers.values where other.id != peer {
            guard let said = other.said else { continue }
            for complaint in said.held where complaint.peer == peer {
                let isDamage = ["damaged", "incomplete"].contains(complaint.reason)
                let blob = complaint.file.flatMap(BlobName.init)
                let log = complaint.file.flatMap(LogFileName.init)
                guard blob != nil || isDamage && sound.contains(where: { $0 == log }) else { continue }
                let key = "\(other.id)/\(complaint.file ?? "")"
                answered[key] = said.counter
                guard said.counter > before?[key] ?? 0 else { continue }
                if let blob { complaints.blobs[blob] = isDamage ? .damaged : .missing }
                if let log { complaints.logs.append(log) }
            }
        }
        // A file that no peer complains of any more may be complained of again.
        try owner.identity.update { $0.answered = answered.isEmpty ? nil : answered }
        return complaints
    }
}
