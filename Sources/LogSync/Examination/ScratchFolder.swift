import Foundation
import Glibc
import LogSyncModel
import Synchronization

/// A folder of its own in the temporary directory, locked for as long as its process uses it: what a killed one has left goes
/// when the next one is made.
package struct ScratchFolder {
    /// The scratch folders of this process that are there now, and their locks.
    private static let present = Mutex<[String: CInt]>([:])
    private static let prefix = "logsync-scratch-"
    /// How long ago, in seconds, an abandoned folder was made at the least: one that is being made is not locked yet.
    private static let leastAge: TimeInterval = 60

    let path: String

    /// - Parameters:
    ///   - purpose: what it is for, as part of its name.
    ///   - kept: what is safe where it cannot be made, as the end of a sentence.
    /// - Throws: `cannotCreate`; `ioError` where the disk is full.
    init(_ purpose: String, kept: String) throws(LogSyncError) {
        let parent = NSTemporaryDirectory()
        Self.removeAbandoned(in: parent)
        path = "\(parent)\(Self.prefix)\(purpose)-\(UUID().uuidString)"
        guard mkdir(path, 0o700) != 0 else {
            let lock = Self.lock(path)
            Self.present.withLock { [path] in $0[path] = lock }
            return
        }
        let number = errno
        throw LogSyncError(
            number == ENOSPC || number == EDQUOT ? .ioError : .cannotCreate,
            "no scratch folder could be made in \(parent): \(String(cString: strerror(number))); \(kept)",
            help: "Set TMPDIR to a folder that this user may write, with room for a whole store")
    }

    func remove() { Self.remove(path) }

    /// Removes the scratch folders of this process, in use or not: for one that ends in the middle of its work.
    package static func removeAll() {
        for path in present.withLock({ $0.keys.map(\.self) }) { remove(path) }
    }

    /// Removes what processes of this user have left that were killed.
    private static func removeAbandoned(in parent: String) {
        // Where it cannot be listed, what lies there is the system's to clear away.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
        for name in names where name.hasPrefix(prefix) {
            let path = parent + name
            var status = stat()
            guard lstat(path, &status) == 0, status.st_uid == geteuid(), status.st_mode & S_IFMT == S_IFDIR,
                Date().timeIntervalSince1970 - TimeInterval(status.st_mtim.tv_sec) > leastAge,
                present.withLock({ $0[path] == nil })
            else { continue }
            let lock = lock(path)
            guard lock >= 0 else { continue }
            // What cannot be removed is the system's to clear away.
            try? FileManager.default.removeItem(atPath: path)
            Glibc.close(lock)
        }
    }

    /// - Returns: a descriptor that holds the lock of a folder; -1 where another process has it.
    private static func lock(_ path: String) -> CInt {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) != 0 else { return descriptor }
        Glibc.close(descriptor)
        return -1
    }

    private static func remove(_ path: String) {
        // What cannot be removed is the system's to clear away.
        try? FileManager.default.removeItem(atPath: path)
        let lock = present.withLock { $0.removeValue(forKey: path) }
        if let lock, lock >= 0 { Glibc.close(lock) }
    }
}
