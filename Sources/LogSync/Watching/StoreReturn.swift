import Foundation
import LogSyncModel

/// A store that is coming back while a replicator runs: it was missing, or replaced while it was open.
///
/// What restores a database puts its files into place one after the other, and may take its time for each. A database that
/// is opened before its log is there is an older state of itself, and its log comes to lie over the one that was opened. So
/// it is opened only when nothing beside it has changed for two seconds. Programs may be writing it already; then it does
/// where for half a minute no file has come, gone or been replaced and the database has kept its size.
struct StoreReturn {
    /// What is seen of a file without opening it.
    private struct FileState: Equatable {
        var device: UInt64
        var inode: UInt64
        var size: Int64
        var modified: [Int]

        init?(_ path: String) {
            var status = stat()
            guard lstat(path, &status) == 0 else { return nil }
            device = UInt64(status.st_dev)
            inode = UInt64(status.st_ino)
            size = Int64(status.st_size)
            modified = [
                status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec,
            ]
        }

        /// The same without what a program changes that writes a database.
        func without(content isContent: Bool) -> FileState {
            guard isContent else { return self }
            var state = self
            state.modified = []
            return state
        }
    }

    /// Where the store is to be.
    let path: String
    /// Files whose names begin with the store's, or are hidden and hold it: what SQLite keeps, and what is still being
    /// copied.
    private var files: [String: FileState] = [:]
    private var isThere = false
    private var lastChange: ContinuousClock.Instant
    private var lastReplacement: ContinuousClock.Instant
    /// Whether it was said that the store is back and waited for.
    var isSaid = false

    private static let quiet = Duration.seconds(2)
    private static let patience = Duration.seconds(30)
    /// How long to wait until the next look.
    static let pause = Duration.milliseconds(250)

    init(_ path: String, now: ContinuousClock.Instant = .now) {
        self.path = path
        (lastChange, lastReplacement) = (now, now)
    }

    /// Whether the store's file is there and others may still be on their way.
    var isWaiting: Bool { isThere }

    /// Looks again.
    ///
    /// - Returns: whether the store may be opened: it is whole, or not there at all.
    mutating func observe(now: ContinuousClock.Instant = .now) -> Bool {
        let found = Self.files(beside: path)
        isThere = found[path] != nil
        if found != files { lastChange = now }
        if lasting(found) != lasting(files) { lastReplacement = now }
        files = found
        guard isThere else { return true }
        return now - lastChange >= Self.quiet || now - lastReplacement >= Self.patience
    }

    /// What writing a database does not change of its files.
    private func lasting(_ files: [String: FileState]) -> [String: FileState] {
        files.reduce(into: [:]) { result, entry in
            let isBeside = ["-wal", "-shm", "-journal"].contains { entry.key == path + $0 }
            var state = entry.value.without(content: isBeside || entry.key == path)
            if isBeside { state.size = 0 }
            result[entry.key] = state
        }
    }

    private static func files(beside path: String) -> [String: FileState] {
        let url = URL(fileURLWithPath: path)
        let (directory, name) = (url.deletingLastPathComponent().path, url.lastPathComponent)
        // A directory that may not be listed still shows the files whose names are known.
        let listed = (try? FileManager.default.contentsOfDirectory(atPath: directory))?.filter {
            $0.hasPrefix(name) || $0.hasPrefix(".") && $0.contains(name)
        }
        let names = Set(listed ?? []).union(["", "-wal", "-shm", "-journal"].map { name + $0 })
        return names.reduce(into: [:]) { $0["\(directory)/\($1)"] = FileState("\(directory)/\($1)") }
    }
}
