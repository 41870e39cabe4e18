import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// Copies what a content folder holds into another one, which may have another name.
///
/// A log file names its content, so it is written again around the same segments; chains and dots stay what they are.
/// Blob files are copied as they are, before the log files that name them.
/// Copied twice, or killed and begun again, it makes the same files.
struct ContentRelocation {
    private let store: ReplicatedStore
    private let target: ContentFolder

    init(_ store: ReplicatedStore, to target: ContentFolder) {
        self.store = store
        self.target = target
    }

    /// Copies every sound log file, description and schema; receipts stay, because a peer that does not come along has
    /// imported nothing there.
    ///
    /// - Parameter there: what the other folder holds already.
    /// - Returns: how many log files were copied that were not there.
    func copy(_ scan: ContainerScan, besides there: ContainerScan?) throws -> Int {
        try target.create()
        var copied = 0
        for peer in scan.peers.values.sorted(by: { $0.id < $1.id }) {
            if let description = peer.description.value { try target.peer(peer.id).write(description) }
            for schema in peer.schemas { try copy(schema.name, of: peer.id) }
            for file in peer.logs where !peer.logs.contains(where: { $0.name.contains(file.name) }) {
                guard let name = try copy(file, of: peer.id) else { continue }
                if there?.peers[peer.id]?.logs.contains(where: { $0.name == name }) != true { copied += 1 }
            }
        }
        return copied
    }

    private func publisher(_ peer: PeerID) -> Publisher {
        Publisher(folder: target.peer(peer), stagingDirectory: store.stateDirectory.staging, stager: store.peer)
    }

    private func copy(_ schema: SchemaFileName, of peer: PeerID) throws {
        // A file that has not arrived whole is no schema; its owner has it.
        guard let bytes = try? store.content.peer(peer).read(schema, limit: 16 << 20), !bytes.isEmpty else { return }
        _ = try publisher(peer).publish(bytes) { _ in schema }
    }

    /// Copies the blobs that a log file names. Returns false where one cannot be read.
    private func copyBlobs(of file: FoundFile<LogFileName>, of peer: PeerID) throws -> Bool {
        guard let named = store.library.blobIndex.blobs(of: file, peer) else { return false }
        for id in named {
            guard case .sound(let blob) = try store.library.blobs.examine(id) else { return false }
            let staged = try publisher(peer).stage(BlobName.self)
            _ = try store.library.blobs.stream(blob, id) { try staged.write($0) }
            guard staged.hash == BlobName(id).fileHash else {
                staged.discard()
                return false
            }
            _ = try staged.publish { BlobName($0) }
        }
        return true
    }

    /// Copies a log file. Returns its name there; nil where it or a blob that it names is not sound: then its transactions are
    /// counted as missing.
    private func copy(_ file: FoundFile<LogFileName>, of peer: PeerID) throws -> LogFileName? {
        guard case .sound = try store.library.logs.examine(file, of: peer), try copyBlobs(of: file, of: peer) else {
            store.logger.warning(
                "\(store.content.peer(peer).path(file.name)) is not sound, or names a blob that is not, and was not copied"
            )
            return nil
        }
        let reader = try store.library.logs.reader(file.name, of: peer)
        let staged = try publisher(peer).stage(LogFileName.self)
        var writer = try LogFileWriter(
            content: target.name.description, peer: peer, sequences: reader.header.sequences,
            chainBefore: reader.header.chainBefore, segmentBytes: reader.header.segmentBytes
        ) { try staged.write($0) }
        // Every block as it stands, read to the end of each segment before the next one begins.
        while let segment = try reader.nextTransaction(onBlock: { try writer.append(Array($0)) }) {
            _ = try segment.finish()
        }
        _ = try writer.finish(chainAfter: try reader.chainAfter())
        let name = try staged.publish {
            LogFileName(first: file.name.first, last: file.name.last, fileHash: $0)
        }
        guard try target.peer(peer).verify(name) == .intact else {
            throw LogSyncError(
                .ioError,
                "\(target.peer(peer).path(name)) was read back with other bytes than were written; the store "
                    + "stays where it was", help: "Check the disk, and run the command again")
        }
        return name
    }
}
