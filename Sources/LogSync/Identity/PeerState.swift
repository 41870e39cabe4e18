import Foundation
import LogSyncFormat
import LogSyncModel

/// What this machine knows of one of its peers outside the database, so that a copied or restored database is told
/// from the one that logsync left (DESIGN.md, section 7, identity trouble).
struct PeerState: Equatable, Codable {
    var format = 1
    var peer: PeerID
    var content: String
    var path: String
    var inode: UInt64
    var machine: String?
    /// The highest sequence recorded, and the chain hash there in hex.
    var sequence: UInt64 = 0
    var chain: String = ChainHash.zero.description
    /// The counter of the last receipt that was written, or was about to be.
    var receiptCounter: UInt64 = 0
    /// The nonces of the runs that wrote receipts, newest last.
    var nonces: [String] = []
    /// The complaints of receipts that were answered by writing the file again: the complaining peer and the file, and
    /// the counter of its receipt then. No clock of another machine tells whether it has looked since.
    var answered: [String: UInt64]?
    /// Since when, in Unix milliseconds, this store has done without what partial snapshots stand for, by their names.
    var waiting: [String: Int64]?
    /// The last identity trouble, for `status`.
    var trouble: IdentityTrouble?

    static let currentFormat = 1
    /// As many runs may pass before another process's receipt could be taken for one of ours come back.
    static let maximumNonces = 32
}

/// The files that keep ``PeerState``, one a peer, and the locks.
struct StateFiles {
    let directory: String

    var stores: String { directory + "/stores" }
    var locks: String { directory + "/locks" }
    /// Where files are staged that are on the container's file system.
    var staging: String { directory + "/staging" }

    init(directory: String) {
        self.directory = directory
    }

    /// Makes the directories.
    ///
    /// - Throws: `cannotCreate`.
    func create() throws(LogSyncError) {
        do {
            for directory in [stores, locks, staging] {
                try FileManager.default.createDirectory(
                    atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            }
        } catch {
            throw LogSyncError(
                .cannotCreate, "the state directory \(directory) could not be made: \(error.localizedDescription)",
                help: "Set XDG_STATE_HOME to a directory that this user may write")
        }
    }

    func path(of peer: PeerID) -> String { "\(stores)/\(peer).json" }

    /// nil where there is none, or none that can be read: a lost state file is a case of its own.
    ///
    /// - Throws: `newerFormat`; `ioError` where it is there and cannot be read.
    func load(_ peer: PeerID) throws -> PeerState? {
        let path = path(of: peer)
        let data: Data
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch  where !FileManager.default.fileExists(atPath: path) {
            return nil
        } catch {
            throw LogSyncError(
                .ioError,
                "the state file \(path) could not be read: \(error.localizedDescription); nothing was changed",
                help: "Give this user access to it, and check the disk")
        }
        struct Version: Decodable { var format: Int }
        // A file that is cut short or not JSON counts as lost.
        guard let version = try? JSONDecoder().decode(Version.self, from: data) else { return nil }
        guard version.format <= PeerState.currentFormat else {
            throw LogSyncError(
                .newerFormat, "the state file \(path) has format \(version.format); nothing was changed",
                help: "Install a newer logsync on this machine")
        }
        guard let state = try? JSONDecoder().decode(PeerState.self, from: data), state.peer == peer else { return nil }
        return state
    }

    /// Writes a state file so that it survives a power loss, whole or not at all.
    ///
    /// - Throws: `ioError`.
    func save(_ state: PeerState) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        try DurableFile.write(try encoder.encode(state), to: path(of: state.peer))
    }

    func remove(_ peer: PeerID) throws {
        do {
            try FileManager.default.removeItem(atPath: path(of: peer))
        } catch CocoaError.fileNoSuchFile {
            return
        }
    }
}

/// A small file that is replaced durably: written aside, synchronized, renamed, the directory synchronized.
enum DurableFile {
    static func write(_ data: Data, to path: String) throws(LogSyncError) {
        let temporary = path + ".tmp"
        func attempt(_ what: String, _ body: () -> Bool) throws(LogSyncError) {
            guard !body() else { return }
            let number = errno
            unlink(temporary)
            throw LogSyncError(
                .ioError, "\(path) could not be \(what): \(String(cString: strerror(number)))",
                help: "Free some space there, or check the disk, and run the command again")
        }
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        try attempt("made") { descriptor >= 0 }
        defer { close(descriptor) }
        try attempt("written") {
            data.withUnsafeBytes { bytes in
                var done = 0
                while done < bytes.count {
                    let count = Foundation.write(descriptor, bytes.baseAddress?.advanced(by: done), bytes.count - done)
                    if count < 0 && errno == EINTR { continue }
                    if count <= 0 { return false }
                    done += count
                }
                return true
            }
        }
        try attempt("synchronized") { fsync(descriptor) == 0 }
        try attempt("put in place") { rename(temporary, path) == 0 }
        let directory = open((path as NSString).deletingLastPathComponent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        try attempt("synchronized") { directory >= 0 }
        defer { close(directory) }
        try attempt("synchronized") { fsync(directory) == 0 }
    }
}
