import Foundation
import LogSyncModel
import Synchronization

/// A folder of its own in the temporary directory.
package struct ScratchFolder {
    /// The scratch folders of this process that are there now.
    private static let present = Mutex<Set<String>>([])

    let path: String

    /// - Parameters:
    ///   - purpose: what it is for, as part of its name.
    ///   - kept: what is safe where it cannot be made, as the end of a sentence.
    /// - Throws: `cannotCreate`; `ioError` where the disk is full.
    init(_ purpose: String, kept: String) throws(LogSyncError) {
        let parent = NSTemporaryDirectory()
        path = "\(parent)logsync-\(purpose)-\(UUID().uuidString)"
        guard mkdir(path, 0o700) != 0 else {
            Self.present.withLock { [path] in _ = $0.insert(path) }
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
        for path in present.withLock({ $0 }) { remove(path) }
    }

    private static func remove(_ path: String) {
        // What cannot be removed is the system's to clear away.
        try? FileManager.default.removeItem(atPath: path)
        present.withLock { _ = $0.remove(path) }
    }
}
