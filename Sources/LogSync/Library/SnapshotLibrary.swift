import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore

/// Reads the snapshots in the container, and remembers what they were found to be.
final class SnapshotLibrary {
    let content: ContentFolder
    /// What was found, by the files' paths, and whether the snapshot itself says that it is partial for every peer.
    private var shelf: [String: (file: FoundFile<SnapshotName>, manifest: SnapshotManifest, isPartial: Bool)] = [:]

    /// The snapshots that were decoded to their ends: what has the name has the bytes.
    private var readThrough: Set<SnapshotName> = []

    init(content: ContentFolder) {
        self.content = content
    }

    /// The snapshots that can be read, whatever columns peers show: partial is a snapshot that says so itself.
    func found(_ scan: ContainerScan) -> [FoundSnapshot] { found(scan) { ShownColumns() } }

    /// The snapshots that can be read: whole ones before partial ones, and of each kind the one that stands for most first. Not
    /// all of their bytes have been read.
    ///
    /// - Parameter shown: which columns peers show; called where that decides which snapshots are partial.
    func found(_ scan: ContainerScan, shown: () throws -> ShownColumns) rethrows -> [FoundSnapshot] {
        var found: [FoundSnapshot] = []
        for peer in scan.peers.values {
            for file in peer.snapshots {
                guard let manifest = manifest(file, of: peer.id) else { continue }
                let isPartial = shelf[content.peer(peer.id).path(file.name)]?.isPartial ?? false
                found.append(FoundSnapshot(peer: peer.id, file: file, manifest: manifest, isPartial: isPartial))
            }
        }
        if found.contains(where: { !$0.manifest.lost.isEmpty }) {
            let shown = try shown()
            for index in found.indices where !found[index].isPartial {
                found[index].isPartial = shown.show(found[index].manifest.lost, besides: found[index].peer)
            }
        }
        let paths = Set(found.map { content.peer($0.peer).path($0.name) })
        shelf = shelf.filter { paths.contains($0.key) }
        return found.sorted {
            ($0.isPartial ? 1 : 0, $1.reach, $0.peer, $0.name) < ($1.isPartial ? 1 : 0, $0.reach, $1.peer, $1.name)
        }
    }

    /// Reads what a snapshot says of itself; nil where it is not (yet) one of this content, peer and name.
    func manifest(_ file: FoundFile<SnapshotName>, of peer: PeerID) -> SnapshotManifest? {
        let path = content.peer(peer).path(file.name)
        if let known = shelf[path], known.file == file { return known.manifest }
        // A snapshot that cannot be read proves nothing; another, or the logs, will do.
        guard let reader = try? reader(file.name, of: peer) else { return nil }
        shelf[path] = (file, reader.manifest, reader.header.isPartial)
        return reader.manifest
    }

    /// Opens a snapshot to stream from it.
    ///
    /// - Throws: `LogFileError`; `ioError`; `malformedLog` where it is of another content, peer or sequence.
    func reader(_ name: SnapshotName, of peer: PeerID) throws -> SnapshotReader {
        let file = try content.peer(peer).open(name)
        let source: FileSource
        do throws(FileSystemError) {
            source = try FileSource(file)
        } catch {
            throw error.explained(kept: FileSource.kept)
        }
        let reader = try SnapshotReader(source)
        guard reader.header.content == content.name.description, reader.header.peer == peer,
            reader.header.sequence == name.sequence
        else {
            throw LogSyncError(
                .malformedLog, "\(content.peer(peer).path(name)) holds what its name and place do not say")
        }
        return reader
    }

    /// Reads a snapshot as one does who joins it: whether every byte is as its author wrote it, every row can be decoded,
    /// and all of them add up to what it says. Files go only for snapshots of which this is true.
    ///
    /// - Throws: `containerUnavailable`, `noPermission`, `ioError`.
    func isIntact(_ name: SnapshotName, of peer: PeerID) throws -> Bool {
        guard try content.peer(peer).find(name) != nil else { return false }
        do {
            // Block by block, each of which has its own hash: what is no snapshot is not read to its end.
            guard try reader(name, of: peer).verify().nameDigits == name.fileHash.description else { return false }
            if readThrough.contains(name) { return true }
            let reader = try reader(name, of: peer)
            guard try SnapshotSum.digest(of: reader) == reader.manifest.digest else { return false }
            readThrough.insert(name)
            return true
        } catch is LogFileError {
            return false
        } catch let error as LogSyncError where error.code == .malformedLog {
            return false
        }
    }

    /// What keeps a snapshot from being read as its author wrote it; nil where nothing does, where a newer logsync wrote it,
    /// and where the file system does not let it be read.
    func flaw(of name: SnapshotName, of peer: PeerID) -> (reason: HeldItem.Reason, detail: String)? {
        do {
            guard try content.peer(peer).find(name) != nil else { return nil }
            if try FileSource(content.peer(peer).open(name)).isBlank() {
                return (.incomplete, "nothing is written in it yet")
            }
            if try reader(name, of: peer).verify().nameDigits != name.fileHash.description {
                return (.damaged, "its bytes do not have the hash that its name says")
            }
            return try isIntact(name, of: peer) ? nil : (.damaged, "its rows do not add up to what it says")
        } catch let error as LogFileError {
            return switch error {
            case .incomplete: (.incomplete, error.description)
            case .damaged, .tooLarge: (.damaged, error.description)
            case .newerFormat: nil
            }
        } catch let error as LogSyncError where error.code == .malformedLog {
            return (.damaged, error.message)
        } catch {
            // Another snapshot, or the logs, will do.
            return nil
        }
    }
}
