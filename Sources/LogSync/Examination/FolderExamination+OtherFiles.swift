import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore

extension FolderExamination {
    /// Reads a peer's snapshots, which no import reads from end to end.
    func snapshots(_ peer: PeerScan) -> [Finding] {
        peer.snapshots.compactMap {
            harm($0.name, of: peer.id, isDispensable: peer.mostThatHolds($0.name).map(collected.includes) ?? false)
        }
    }

    /// It is read block by block, each of which has its own hash, so that what is no snapshot is not read to its end.
    private func harm(_ snapshot: SnapshotName, of peer: PeerID, isDispensable: Bool = false) -> Finding? {
        let name = names[peer].name
        let place = folder.peer(peer)
        var why = "its bytes do not have the hash that its name says"
        do {
            guard try place.find(snapshot) != nil else { return nil }
            let hash = try SnapshotReader(FileSource(place.open(snapshot))).verify()
            guard hash.nameDigits != snapshot.fileHash.description else { return nil }
        } catch LogFileError.newerFormat {
            return nil
        } catch LogFileError.incomplete {
            return unsound(
                "incomplete-file", "a snapshot of \(name) is not all here", at: place.path(snapshot),
                why: "it does not end as a snapshot does", of: peer, waits: true, isDispensable: isDispensable)
        } catch let error as LogFileError {
            if case .damaged(let what, _) = error { why = what }
        } catch {
            return Self.unavailable(LogSyncError(wrapping: error, at: place.path), at: place.path)
        }
        return unsound(
            "damaged-file", "a snapshot of \(name) is damaged", at: place.path(snapshot), why: why, of: peer,
            waits: false,
            isDispensable: isDispensable)
    }

    /// Snapshots of right hashes that `clone` passes over, because they do not add up or the folder itself contradicts them.
    func doubtfulSnapshots(_ scan: ContainerScan, _ library: ContentLibrary) -> [Finding] {
        let doubts = SnapshotDoubts(scan, library)
        return library.snapshots.found(scan).compactMap { snapshot in
            // What cannot be read is found elsewhere.
            guard harm(snapshot.name, of: snapshot.peer) == nil,
                let isIntact = try? library.snapshots.isIntact(snapshot.name, of: snapshot.peer)
            else { return nil }
            let doubt = isIntact ? try? doubts.doubt(about: snapshot) : "its rows do not add up to what it says"
            guard let doubt else { return nil }
            let name = names[snapshot.peer].name
            guard snapshot.manifest.knows(Array(branches ?? [])) else {
                return Finding(
                    "doubtful-snapshot", .note, "a snapshot of \(name) is from before a fork was found",
                    at: folder.peer(snapshot.peer).path(snapshot.name),
                    why:
                        "it has one of two histories; who joins it takes the other from the log files or another snapshot"
                )
            }
            return Finding(
                "doubtful-snapshot", .trouble, "a snapshot of \(name) is not believed",
                at: folder.peer(snapshot.peer).path(snapshot.name), why: doubt,
                help:
                    "clone uses other snapshots or the log files; ask the owner of \(name), or whoever else can write "
                    + "the folder, and remove it")
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
                        help: documentHelp(peer.id)))
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
