import LogSyncFormat
package import LogSyncModel
import LogSyncSQLite

/// What one process leaves to the next of what it found in the container. Nothing depends on it but how much has to be
/// read again.
extension Store {
    /// By peer, what ``setScanCache(_:compared:)`` put there.
    package func scanCache() throws -> [PeerID: [UInt8]] {
        try database.read { store in
            let connection = store.connection
            let isThere = try connection.integer(
                "SELECT EXISTS(SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'logsync_look')")
            guard isThere == 1 else { return [:] }
            var states: [PeerID: [UInt8]] = [:]
            let statement = try connection.prepare("SELECT peer, found FROM logsync_look")
            defer { statement.reset() }
            while try statement.step() {
                guard let peer = PeerID(bytes: statement.bytes(0)) else { continue }
                states[peer] = Array(statement.bytes(1))
            }
            return states
        }
    }

    /// Puts what was found of some peers in the place of what was there of them; nil for nothing.
    ///
    /// - Parameter compared: as in ``setComparedFiles(_:)``.
    package func setScanCache(_ states: [PeerID: [UInt8]?], compared: [PeerID: UInt64] = [:]) throws {
        guard !states.isEmpty else { return }
        try database.writeAside { connection in
            try connection.execute(StoreSchema.scanCache)
            for (peer, files) in compared { try Self.setComparedFiles(files, of: peer, on: connection) }
            for (peer, found) in states {
                if let found {
                    try connection.run(
                        "INSERT OR REPLACE INTO logsync_look(peer, found) VALUES(?, ?)", .blob(peer.bytes[...]),
                        .blob(found[...]))
                } else {
                    try connection.run("DELETE FROM logsync_look WHERE peer = ?", .blob(peer.bytes[...]))
                }
            }
        }
    }
}
