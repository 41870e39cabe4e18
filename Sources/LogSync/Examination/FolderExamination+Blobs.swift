import LogSyncContainer
import LogSyncFormat
import LogSyncModel

/// What there is to say of blob files.
extension FolderExamination {
    /// Reads every blob file, and compares what is there with what is named.
    ///
    /// - Parameter collected: up to where snapshots stand for log files.
    func blobs(_ scan: ContainerScan, _ library: ContentLibrary, _ collected: VersionVector) -> [Finding] {
        let (index, blobs) = (library.blobIndex, library.blobs)
        blobs.update(scan, forgetsDoubts: true)
        let named = scan.peers.mapValues { index.names($0).blobs }
        let lengths = Dictionary(
            named.values.joined().map { (BlobName($0), UInt64($0.length)) }, uniquingKeysWith: max)
        // A peer may lend another what that one's own folder has no more.
        let lacking = Set(
            named.flatMap { id, ids in ids.filter { !blobs.isListed($0, of: id) } }.map { BlobName($0) })
        var findings: [Finding] = []
        for peer in scan.peers.values.sorted(by: { $0.id < $1.id }) {
            let own = Set((named[peer.id] ?? []).map { BlobName($0) })
            // What a snapshot stands for need not be read any more.
            let read = index.names(peer, logs: { $0.last > collected[peer.id] }).blobs
            findings += read.sorted().compactMap { missing($0, of: peer.id, blobs) }
            for file in peer.blobs {
                if let finding = harm(file, of: peer.id, expected: lengths[file.name]) {
                    findings.append(finding)
                } else if !own.contains(file.name), !lacking.contains(file.name) {
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
        let help = "wait for the sync engine; if it stays so, run logsync sync on the store of \(name)"
        guard !blobs.isListed(id) else {
            return Finding(
                "blob-elsewhere", .note, "a large value of \(name) is in other folders than its own", at: place,
                why: "it is read from there as long as they hold it", help: help)
        }
        return Finding(
            "missing-blob", .trouble, "a large value of \(name) is in nobody's folder, or not all of it", at: place,
            why: "a log file or snapshot of \(name) names it; what holds it cannot be imported", help: help)
    }

    private func harm(_ file: FoundFile<BlobName>, of peer: PeerID, expected: UInt64?) -> Finding? {
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
            return Finding(
                "incomplete-file", .trouble, "a blob of \(name) is not all here", at: path,
                why: "\(file.size) of \(expected.counted("byte")) are here",
                help: "wait for the sync engine; if it stays so, run logsync sync on the store of \(name)")
        }
        return Finding(
            "damaged-file", .damage, "a blob of \(name) is damaged or not all here", at: path,
            why: "its bytes do not have the hash that its name says",
            help: "run logsync sync on the store of \(name), which writes it again")
    }

    private func orphan(_ file: FoundFile<BlobName>, of peer: PeerID) -> Finding {
        Finding(
            "orphan-blob", .note, "a blob of \(names[peer].name) that no log file or snapshot here names",
            at: folder.peer(peer).path(file.name),
            why: "what names it has not arrived, or has gone",
            help: "logsync compact on the store of \(names[peer].name) removes it where it is not needed")
    }
}
