import LogSyncContainer
import LogSyncFormat
import LogSyncModel

/// What there is to say of blob files.
extension FolderExamination {
    /// Reads every blob file, and compares what is there with what is named.
    func blobs(_ scan: ContainerScan, _ library: ContentLibrary) -> [Finding] {
        let (index, blobs) = (library.blobIndex, library.blobs)
        blobs.update(scan, forgetsDoubts: true)
        let named = scan.peers.mapValues { index.names($0).blobs }
        let lengths = Dictionary(
            named.values.joined().map { (BlobName($0), UInt64($0.length)) }, uniquingKeysWith: max)
        // A peer may lend another what that one's own folder has no more.
        func lacking(_ names: [PeerID: Set<BlobID>]) -> Set<BlobName> {
            Set(names.flatMap { id, ids in ids.filter { !blobs.isListed($0, of: id) } }.map { BlobName($0) })
        }
        let lent = lacking(named)
        // What a snapshot stands for need not be read any more.
        let read = scan.peers.mapValues { peer in index.names(peer, logs: { $0.last > collected[peer.id] }).blobs }
        let waitedFor = lacking(read)
        var findings: [Finding] = []
        for peer in scan.peers.values.sorted(by: { $0.id < $1.id }) {
            let own = Set((named[peer.id] ?? []).map { BlobName($0) })
            let ownRead = read[peer.id] ?? []
            let needed = waitedFor.union(ownRead.map { BlobName($0) })
            findings += ownRead.sorted().compactMap { missing($0, of: peer.id, blobs) }
            for file in peer.blobs {
                let isDispensable = !needed.contains(file.name)
                if let finding = harm(file, of: peer.id, expected: lengths[file.name], isDispensable: isDispensable) {
                    findings.append(finding)
                } else if !own.contains(file.name), !lent.contains(file.name) {
                    findings.append(orphan(file, of: peer.id))
                }
            }
        }
        return findings
    }

    private func missing(_ id: BlobID, of peer: PeerID, _ blobs: BlobLibrary) -> Finding? {
        guard !blobs.isListed(id, of: peer) else { return nil }
        let name = names[peer].name
        let place = folder.peer(peer).path(BlobName(id))
        let help = remedy(peer, waits: true)
        guard !blobs.isListed(id) else {
            return Finding(
                "blob-elsewhere", .note, "a large value of \(name) is in other folders than its own", at: place,
                why: "it is read from there as long as they hold it", help: help)
        }
        return Finding(
            "missing-blob", .trouble, "a large value of \(name) is in nobody's folder, or not all of it", at: place,
            why: "a log file or snapshot of \(name) names it; what holds it cannot be imported", help: help)
    }

    private func harm(_ file: FoundFile<BlobName>, of peer: PeerID, expected: UInt64?, isDispensable: Bool) -> Finding?
    {
        let name = names[peer].name
        let path = folder.peer(peer).path(file.name)
        do throws(LogSyncError) {
            if expected == nil || expected == file.size {
                guard try folder.peer(peer).verify(file.name) == .damaged else { return nil }
            }
        } catch {
            return Self.unavailable(error, at: path)
        }
        if let expected, file.size < expected {
            return unsound(
                "incomplete-file", "a blob of \(name) is not all here", at: path,
                why: "\(file.size) of \(expected.counted("byte")) are here", of: peer, waits: true,
                isDispensable: isDispensable)
        }
        return unsound(
            "damaged-file", "a blob of \(name) is damaged or not all here", at: path,
            why: "its bytes do not have the hash that its name says", of: peer, waits: false,
            isDispensable: isDispensable)
    }

    private func orphan(_ file: FoundFile<BlobName>, of peer: PeerID) -> Finding {
        Finding(
            "orphan-blob", .note, "a blob of \(names[peer].name) that no log file or snapshot here names",
            at: folder.peer(peer).path(file.name),
            why: "what names it has not arrived, or has gone",
            help: "logsync compact on the store of \(names[peer].name) removes it where it is not needed")
    }
}
