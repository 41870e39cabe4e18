import Crypto
import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore

extension FolderExamination {
    /// Reads snapshots, which no import reads from end to end.
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
        }
        return findings
    }

    /// Reads a peer's schemas, which nothing reads while all tables are here.
    func schemas(_ peer: PeerScan) -> [Finding] {
        var findings: [Finding] = []
        for file in peer.schemas {
            guard let text = folder.schema(file.name, of: peer.id) else {
                findings.append(
                    Finding(
                        "damaged-file", .trouble, "a schema of \(names[peer.id].name) is damaged or not all here",
                        at: folder.peer(peer.id).path(file.name),
                        why: "its text has another fingerprint than its name",
                        help: "run logsync sync on the store of \(names[peer.id].name)"))
                continue
            }
            findings += schemaRefusal(text, at: folder.peer(peer.id).path(file.name), of: peer.id)
        }
        return findings
    }

    private func schemaRefusal(_ text: String, at path: String, of peer: PeerID) -> [Finding] {
        do {
            try Store.checkSchema(text, configuration: configuration.storeConfiguration)
            return []
        } catch {
            return [
                Finding(
                    "refused-schema", .damage, "a schema of \(names[peer].name) is none", at: path,
                    why: LogSyncError(wrapping: error, at: path).message,
                    help:
                        "no store is made of it, and nothing reads it; ask the owner of \(names[peer].name), or whoever "
                        + "else can write the folder")
            ]
        }
    }
}
