import Crypto
import LogSyncContainer
import LogSyncFormat
import LogSyncModel

extension FolderExamination {
    /// Reads schemas and snapshots, which no import reads from end to end.
    func otherFiles(_ scan: ContainerScan) -> [Finding] {
        var findings: [Finding] = []
        func check<Name>(_ files: [FoundFile<Name>], of peer: PeerID) {
            for file in files {
                let place = folder.peer(peer)
                do {
                    guard try place.verify(file.name) == .damaged else { continue }
                    findings.append(
                        Finding(
                            "damaged-file", .damage, "a file of \(names[peer].name) is damaged or not all here",
                            at: place.path(file.name), why: "its bytes do not have the hash that its name says",
                            help: "run logsync sync on the store of \(names[peer].name)"))
                } catch {
                    findings.append(Self.unavailable(LogSyncError(wrapping: error, at: place.path), at: place.path))
                }
            }
        }
        for peer in scan.peers.values {
            check(peer.snapshots, of: peer.id)
            for file in peer.schemas where !isSound(file.name, of: peer.id) {
                findings.append(
                    Finding(
                        "damaged-file", .trouble, "a schema of \(names[peer.id].name) is damaged or not all here",
                        at: folder.peer(peer.id).path(file.name), why: "its text has another fingerprint than its name",
                        help: "run logsync sync on the store of \(names[peer.id].name)"))
            }
        }
        return findings
    }

    private func isSound(_ name: SchemaFileName, of peer: PeerID) -> Bool {
        // A file that cannot be read is not sound.
        guard let bytes = try? folder.peer(peer).read(name, limit: 16 << 20) else { return false }
        return SchemaFingerprint(bytes: Array(SHA256.hash(data: bytes)).prefix(16)) == name.fingerprint
    }
}
