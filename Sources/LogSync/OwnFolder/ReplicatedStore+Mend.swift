import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// Puts back what is missing or damaged in this peer's own folder (DESIGN.md, section 7, mending).
extension ReplicatedStore {
    // MARK: When to look

    /// Whether there may be something to do in this peer's own folder: something happened in it, or others have said
    /// something since.
    ///
    /// - Parameter peers: in whose folders something happened; nil where that may be anybody's.
    func concernsOwnFolder(_ scan: ContainerScan, in peers: Set<PeerID>?) -> Bool {
        guard let peers, !peers.contains(peer) else { return true }
        return receiptsSeen != Self.progress(of: scan, besides: peer)
    }

    func noteReceipts(_ scan: ContainerScan) { receiptsSeen = Self.progress(of: scan, besides: peer) }

    private static func progress(of scan: ContainerScan, besides own: PeerID) -> Int {
        var sum = 0
        for (id, other) in scan.peers where id != own {
            guard let said = other.said else { continue }
            var hasher = Hasher()
            hasher.combine(id)
            hasher.combine(said.counter)
            // In whatever order.
            sum &+= hasher.finalize()
        }
        return sum
    }

    // MARK: Mending

    /// Files up to this many bytes in all are read at the first look of each process; longer histories are compared
    /// by name and length, and read when another peer complains.
    private static let maximumReading: UInt64 = 16 << 20

    /// Returns how many transactions were written again.
    func mend(_ scan: ContainerScan) throws -> Int {
        let own = scan.peers[peer]
        let found = own?.logs ?? []
        let vector = try store.vector()
        let firstWaiting = try store.outbox(unpublishedOnly: true).first { $0.dot.peer == peer }
        let published = firstWaiting.map { $0.dot.sequence - 1 } ?? vector[peer]
        try mendDescriptions(own, hasPublished: published > 0)
        try mendFormerSelves(scan, vector)
        try mendSeeds(scan)
        let damagedSnapshots = try damagedSnapshots(own)
        guard published > 0 else { return 0 }

        let reads = readsEverything || found.reduce(0) { $0 + $1.size } <= Self.maximumReading
        var bad: [LogFileName] = []
        var sound: [FoundFile<LogFileName>] = []
        foreignFiles = []
        for file in found {
            if try !isSound(file, reads: reads) {
                bad.append(file.name)
            } else if try isForeign(file.name) {
                foreignFiles.append(file.name)
            } else {
                sound.append(file)
            }
        }
        let complaints = try complaints(scan, sound)
        try mendBlobs(scan)
        bad += complaints
        let missing = Self.missing(
            in: LogFileSet(sound.map(\.name).filter { !complaints.contains($0) }), upTo: published)
        // What has been let go of, or deleted for good, a snapshot stands for.
        let released = try store.outboxStart(of: peer) - 1
        // Of a peer that is retired anyone may delete what a snapshot stands for.
        let gone = try store.retiredPeers().contains(peer) ? .max : max(released, store.collection().floors[peer])
        let standsFor = try standsFor(peer, scan, except: damagedSnapshots)
        let wanted = Self.missing(missing, beyond: min(gone, standsFor))
        let count = try writeAgain(wanted, replacing: bad)
        let isNeeded =
            try wanted.contains { $0.lowerBound <= released }
            && Self.missing(wanted, beyond: bridged(peer, scan, except: damagedSnapshots)).contains {
                $0.lowerBound <= released
            }
        try mendSnapshots(damagedSnapshots, isNeeded: isNeeded)
        soundFiles = soundFiles.filter { entry in sound.contains { $0.name == entry.key } }
        return count
    }

    private func mendDescriptions(_ own: PeerScan?, hasPublished: Bool) throws {
        let description = try description()
        let schema = description.schema
        let schemas = own?.schemas ?? []
        let hasSchema = schemas.contains { $0.name.fingerprint == schema && $0.size > 0 }
        if !hasSchema, let schema { publishedSchemas.remove(schema) }
        if own?.description.value != description || !hasSchema { try describe() }
    }

    /// Former selves that are no more cannot mend their folders; this store does, as far as its outbox has what they
    /// recorded.
    private func mendFormerSelves(_ scan: ContainerScan, _ vector: VersionVector) throws {
        guard !registration.succeeds.isEmpty else { return }
        for former in try store.retiredPeers().intersection(registration.succeeds) {
            let files = scan.peers[former]?.logFiles ?? LogFileSet([])
            let missing = Self.missing(in: files, upTo: vector[former])
            var kept = try Self.missing(missing, beyond: standsFor(former, scan)).flatMap {
                try store.outbox(of: former, $0)
            }
            while !kept.isEmpty {
                let run = Self.firstRun(kept)
                try write(run)
                kept.removeFirst(run.count)
            }
        }
    }

    /// The sequences that no file holds.
    static func missing(in files: LogFileSet, upTo last: UInt64) -> [ClosedRange<UInt64>] {
        var missing: [ClosedRange<UInt64>] = []
        var sequence: UInt64 = 1
        while sequence <= last {
            switch files.choice(for: sequence) {
            case .file(let name):
                sequence = name.last + 1
            case .gap(let next):
                missing.append(sequence...min(max(next, sequence + 1) - 1, last))
                sequence = max(next, sequence + 1)
            case .end:
                missing.append(sequence...last)
                return missing
            }
        }
        return missing
    }

    /// Whether an own file is as it was written, as far as that can be told at this price.
    private func isSound(_ file: FoundFile<LogFileName>, reads: Bool) throws -> Bool {
        if soundFiles[file.name] == file { return true }
        guard let header = library.header(file.name, of: peer), UInt64(header.totalLength) == file.size else {
            return false
        }
        if reads, try content.peer(peer).verify(file.name) != .intact { return false }
        soundFiles[file.name] = file
        return true
    }

    /// Whether a sound file of this peer's holds another history than this store recorded: somebody else wrote it.
    func isForeign(_ name: LogFileName) throws -> Bool {
        if let known = foreignness[name] { return known }
        guard let end = library.end(of: name, of: peer) else { return false }
        switch try store.knows(peer, name.last, end.mark) {
        case .unknown where try store.vector()[peer] < name.last: return false
        case .unknown, .imported:
            foreignness[name] = false
            return false
        case .contradicted:
            foreignness[name] = true
            return true
        }
    }

    /// Own files of which another peer says that they are damaged or incomplete where it reads them.
    ///
    /// One that is sound here is written again once: its copy went wrong on the way, and a file with a new time is what
    /// makes a sync engine carry it again.
    private func complaints(_ scan: ContainerScan, _ sound: [FoundFile<LogFileName>]) throws -> [LogFileName] {
        var named: [LogFileName] = []
        blobComplaints = [:]
        var next = state
        var answered: [String: UInt64] = [:]
        for other in scan.peers.values where other.id != peer {
            guard let said = other.said else { continue }
            for complaint in said.held where complaint.peer == peer {
                let isDamage = ["damaged", "incomplete"].contains(complaint.reason)
                let blob = complaint.file.flatMap(BlobName.init)
                let log = complaint.file.flatMap(LogFileName.init)
                guard blob != nil || isDamage && sound.contains(where: { $0.name == log }) else { continue }
                let key = "\(other.id)/\(complaint.file ?? "")"
                answered[key] = said.counter
                guard said.counter > state?.answered?[key] ?? 0 else { continue }
                if let blob { blobComplaints[blob] = isDamage ? .damaged : .missing }
                if let log { named.append(log) }
            }
        }
        // What nobody complains of any more may be complained of again.
        next?.answered = answered.isEmpty ? nil : answered
        if let next { try save(next) }
        return named
    }

    private func writeAgain(_ missing: [ClosedRange<UInt64>], replacing bad: [LogFileName]) throws -> Int {
        guard !missing.isEmpty || !bad.isEmpty else { return 0 }
        let folder = content.peer(peer)
        var kept = try missing.flatMap { try store.outbox(of: peer, $0) }
        let count = kept.count
        // A damaged file goes first: what is published again may have its name.
        for name in bad { try folder.remove(name) }
        while !kept.isEmpty {
            let run = Self.firstRun(kept)
            try write(run)
            kept.removeFirst(run.count)
        }
        if count > 0 || !bad.isEmpty {
            logger.notice(
                "Mended \(folder.path)",
                metadata: ["transactions": "\(count)", "replaced": "\(bad.map(\.description).joined(separator: " "))"])
        }
        return count
    }
}
