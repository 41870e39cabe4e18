import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore

extension FolderExamination {
    /// Reads snapshots, which no import reads from end to end.
    func otherFiles(_ scan: ContainerScan) -> [Finding] {
        scan.peers.values.flatMap { peer in peer.snapshots.compactMap { harm($0.name, of: peer.id) } }
    }

    private func harm(_ snapshot: SnapshotName, of peer: PeerID) -> Finding? {
        let place = folder.peer(peer)
        do {
            guard try !isWhole(snapshot, in: place) else { return nil }
            return Finding(
                "damaged-file", .damage, "a file of \(names[peer].name) is damaged or not all here",
                at: place.path(snapshot), why: "its bytes do not have the hash that its name says",
                help: "run logsync sync on the store of \(names[peer].name)")
        } catch {
            return Self.unavailable(LogSyncError(wrapping: error, at: place.path), at: place.path)
        }
    }

    /// Whether a snapshot's bytes are what its name says, or nobody here can tell. It is read block by block, each of which
    /// has its own hash, so that what is none is not read to its end.
    private func isWhole(_ snapshot: SnapshotName, in place: PeerFolder) throws -> Bool {
        guard try place.find(snapshot) != nil else { return true }
        do {
            let reader = try SnapshotReader(FileSource(place.open(snapshot)))
            return try reader.verify().nameDigits == snapshot.fileHash.description
        } catch LogFileError.newerFormat {
            return true
        } catch is LogFileError {
            return false
        }
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
