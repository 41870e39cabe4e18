import Crypto
import Glibc
import LogSyncContainer
import LogSyncModel
import LogSyncStore
import Logging

/// Apps' schemas as peers have published them.
extension ContentFolder {
    /// The text of a schema file; nil where it is still arriving or damaged: another peer's may do.
    func schema(_ name: SchemaFileName, of peer: PeerID) -> String? {
        guard let bytes = try? self.peer(peer).read(name, limit: Self.longestSchema),
            Self.fingerprint(bytes) == name.fingerprint
        else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Whether a schema file holds something else than its name says.
    ///
    /// - Throws: `ioError`, `noPermission` where it cannot be read, which says nothing of it.
    func isDamaged(_ name: SchemaFileName, of peer: PeerID) throws(LogSyncError) -> Bool {
        Self.fingerprint(try self.peer(peer).read(name, limit: Self.longestSchema)) != name.fingerprint
    }

    /// In bytes.
    static let longestSchema = 16 << 20

    static func fingerprint(_ bytes: [UInt8]) -> SchemaFingerprint? {
        SchemaFingerprint(bytes: Array(SHA256.hash(data: bytes)).prefix(16))
    }
}

extension Store {
    /// Learns from published schemas which columns make up the keys of tables that this store does not have.
    ///
    /// The shortest are read first, because what programs have is short beside what takes its time; when the time is over,
    /// the others wait for another call.
    ///
    /// - Parameters:
    ///   - known: the schemas that were read before; each that is read now is added.
    ///   - time: how many seconds of a processor they may take together; one is read at any rate.
    func learnKeys(
        _ scan: ContainerScan, in folder: ContentFolder, known: inout Set<SchemaFingerprint>, _ logger: Logger,
        time: Double = Limits.schemasTime
    ) throws {
        let files = scan.peers.values.flatMap { peer in
            peer.schemas.filter { !known.contains($0.name.fingerprint) }.map { (file: $0, peer: peer.id) }
        }
        let end = Self.processorTime() + time
        var isFirst = true
        for (file, peer) in files.sorted(by: { ($0.file.size, $0.peer) < ($1.file.size, $1.peer) })
        where !known.contains(file.name.fingerprint) {
            guard isFirst || Self.processorTime() < end else {
                logger.notice("the schemas in the folder take longer than \(time) seconds; the others wait")
                return
            }
            guard let text = folder.schema(file.name, of: peer) else { continue }
            isFirst = false
            known.insert(file.name.fingerprint)
            do {
                try learnKeys(from: text)
            } catch let error as LogSyncError where error.code == .invalidStore {
                // It wants what this machine does not have, or what no schema needs; another peer's may do.
                logger.notice("the schema \(file.name) of \(peer) was passed over: \(error)")
            }
        }
    }

    /// Of this thread, so that a busy machine passes over none.
    private static func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
