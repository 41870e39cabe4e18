import LogSyncContainer
import LogSyncFormat
import LogSyncModel

/// A snapshot that lies in the container, as its first bytes describe it.
struct SnapshotPlace {
    var peer: PeerID
    var file: FoundFile<SnapshotName>
    var manifest: SnapshotManifest
    /// Whether its author has lost values that this store shows or another peer that is known and takes part: then it stands
    /// for nobody's log files.
    var isPartial: Bool

    var vector: VersionVector { manifest.vector }

    /// How many transactions it stands for.
    var reach: UInt64 {
        vector.sequences.values.reduce(0) { sum, sequence in
            let (total, overflow) = sum.addingReportingOverflow(sequence)
            return overflow ? .max : total
        }
    }
}

/// Reads the snapshots in the container, and remembers what they were found to be.
final class SnapshotLibrary {
    var content: ContentFolder {
        didSet { shelf = [:] }
    }
    /// What was found, and whether it says itself that it is partial for everybody.
    private var shelf: [String: (file: FoundFile<SnapshotName>, manifest: SnapshotManifest, isPartial: Bool)] = [:]

    init(content: ContentFolder) {
        self.content = content
    }

    /// The snapshots that can be read, where nobody is asked who shows what: partial are those that say so to everybody.
    func places(_ scan: ContainerScan) -> [SnapshotPlace] { places(scan) { ShownColumns() } }

    /// The snapshots that can be read, those that stand for most first, and whole ones before partial ones. Not all of
    /// their bytes have been looked at.
    ///
    /// - Parameter shown: who shows what; asked where that decides which are partial.
    func places(_ scan: ContainerScan, shown: () throws -> ShownColumns) rethrows -> [SnapshotPlace] {
        var places: [SnapshotPlace] = []
        for peer in scan.peers.values {
            for file in peer.snapshots {
                guard let manifest = manifest(file, of: peer.id) else { continue }
                let isPartial = shelf[content.peer(peer.id).path(file.name)]?.isPartial ?? false
                places.append(SnapshotPlace(peer: peer.id, file: file, manifest: manifest, isPartial: isPartial))
            }
        }
        if places.contains(where: { !$0.manifest.lost.isEmpty }) {
            let shown = try shown()
            for index in places.indices where !places[index].isPartial {
                places[index].isPartial = shown.show(places[index].manifest.lost, besides: places[index].peer)
            }
        }
        let paths = Set(places.map { content.peer($0.peer).path($0.file.name) })
        shelf = shelf.filter { paths.contains($0.key) }
        return places.sorted {
            ($0.isPartial ? 1 : 0, $1.reach, $0.peer, $0.file.name)
                < ($1.isPartial ? 1 : 0, $0.reach, $1.peer, $1.file.name)
        }
    }

    /// Reads what a snapshot says of itself; nil where it is not (yet) one of this content, peer and name.
    func manifest(_ file: FoundFile<SnapshotName>, of peer: PeerID) -> SnapshotManifest? {
        let path = content.peer(peer).path(file.name)
        if let known = shelf[path], known.file == file { return known.manifest }
        // What cannot be read proves nothing; another snapshot, or the logs, will do.
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

    /// Reads a snapshot from end to end: whether every byte is as its author wrote it.
    ///
    /// - Throws: `containerUnavailable`, `noPermission`, `ioError`.
    func isIntact(_ name: SnapshotName, of peer: PeerID) throws -> Bool {
        guard try content.peer(peer).verify(name) == .intact else { return false }
        do {
            return try reader(name, of: peer).verify().nameDigits == name.fileHash.description
        } catch is LogFileError {
            return false
        } catch let error as LogSyncError where error.code == .malformedLog {
            return false
        }
    }
}
