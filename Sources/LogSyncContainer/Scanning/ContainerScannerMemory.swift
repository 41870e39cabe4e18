package import LogSyncModel

/// What a scanner leaves to the next process, and takes from the one before.
extension ContainerScanner {
    /// How long a folder has to have stood still when it was looked at, so that any later change shows: more than the
    /// coarsest step of any file system's clock (FAT, two seconds). In nanoseconds.
    static let standstill: Int64 = 3_000_000_000

    /// Goes by what an earlier process found, where it holds; not in full scans, nor on file systems that other machines
    /// change. Call it before the first scan.
    package func recall(_ remembered: [RememberedPeer]) {
        recalled = Dictionary(remembered.map { ($0.id, $0) }) { first, _ in first }
    }

    /// What of a peer's folder may be left to the next process; nil where it was changed too lately, holds anything
    /// strange or unreadable, was not read in this process, or is on a file system that other machines change.
    ///
    /// - Parameter reader: the peer that remembers.
    package func remembered(_ id: PeerID, for reader: PeerID) throws(LogSyncError) -> RememberedPeer? {
        guard recalled[id] == nil, let peer = peers[id], peer.strange.isEmpty, peer.scan.description.isSettled,
            peer.scan.receipt.isSettled, try isTrusted()
        else { return nil }
        let (folders, documents) = Self.places(of: id)
        var statuses: [FileStatus?] = []
        for key in folders {
            guard let listing = directories[key], !listing.isFailed else { return nil }
            statuses.append(listing.stability.status)
        }
        for key in documents {
            guard let document = self.documents[key] else { return nil }
            statuses.append(document.stability.status)
        }
        let times = statuses.compactMap { $0.map { max($0.modified, $0.changed) } }
        guard times.allSatisfy({ $0 <= peer.looked - Self.standstill }) else { return nil }
        return RememberedPeer(id: id, looked: peer.looked, reader: reader, scan: peer.scan, statuses: statuses)
    }

    /// Whether a peer's folder stands as it stood, as far as anything in it may have to be imported or answered.
    func isUnchanged(_ known: RememberedPeer) -> Bool {
        let (folders, documents) = Self.places(of: known.id)
        let places = folders + documents
        guard known.statuses.count == places.count, known.statuses.first != .some(nil),
            known.scan.said.map({ $0.counter >= receiptCounters[known.id] }) ?? true
        else { return false }
        for (place, status) in zip(places, known.statuses) {
            // The peer's folder, which comes first, shows whether there is one by now.
            guard let status else { continue }
            // Whatever keeps it from being looked at is said by the scan that then follows.
            let found = try? content.fileSystem.status("\(content.path)/\(place)", followingLinks: false)
            guard found == status else { return false }
        }
        return true
    }

    /// What tells of a change in a peer's folder, relative to the content folder; the folder itself comes first.
    ///
    /// Schemas and the description are not among it: no import needs them, and each look costs as much as another.
    static func places(of id: PeerID) -> (folders: [String], documents: [String]) {
        let path = "\(ContentFolder.peersName)/\(id)"
        return (
            [path] + [LogFileName.folder, SnapshotName.folder, BlobName.folder].map { "\(path)/\($0)" },
            ["\(path)/\(PeerFolder.receiptName)"]
        )
    }
}

extension PeerScan.Found {
    /// Whether looking again would show the same: it is there and can be read, or is not there.
    fileprivate var isSettled: Bool {
        switch self {
        case .valid, .missing: true
        case .damaged, .newerFormat, .outdated, .unread: false
        }
    }
}
