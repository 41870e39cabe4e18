import Crypto
import LogSyncContainer
import LogSyncModel
import LogSyncStore
import Logging

/// Apps' schemas as peers have published them.
extension ContentFolder {
    /// The text of a schema file; nil where it is still arriving or damaged: another peer's may do.
    func schema(_ name: SchemaFileName, of peer: PeerID) -> String? {
        guard let bytes = try? self.peer(peer).read(name, limit: 16 << 20),
            SchemaFingerprint(bytes: Array(SHA256.hash(data: bytes)).prefix(16)) == name.fingerprint
        else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}

extension Store {
    /// Learns from published schemas which columns make up the keys of tables that this store does not have.
    ///
    /// - Parameter known: the schemas that were read before; each that is read now is added.
    func learnKeys(
        _ scan: ContainerScan, in folder: ContentFolder, known: inout Set<SchemaFingerprint>, _ logger: Logger
    ) throws {
        for peer in scan.peers.values.sorted(by: { $0.id < $1.id }) {
            for file in peer.schemas where !known.contains(file.name.fingerprint) {
                guard let text = folder.schema(file.name, of: peer.id) else { continue }
                known.insert(file.name.fingerprint)
                do {
                    try learnKeys(from: text)
                } catch let error as LogSyncError where error.code == .invalidStore {
                    // It wants what this machine does not have, or what no schema needs; another peer's may do.
                    logger.notice("the schema \(file.name) of \(peer.id) was passed over: \(error)")
                }
            }
        }
    }
}
