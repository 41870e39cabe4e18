import Foundation
import LogSyncModel

/// A store that is coming back while a replicator runs: it was missing, or replaced while it was open.
///
/// What restores a database puts its files into place one after the other, and may take its time for each. A database that
/// is opened before its log is there is an older state of itself, and its log comes to lie over the one that was opened. So
/// it is opened only when nothing beside it has changed for two seconds, and for ten where the log may be yet to come: where
/// there is none, or it ends in the middle of a frame, as one does whose copying has stalled.
///
/// Programs may be writing it already, and never leave it alone for so long. To open it beside them is no risk: they took it
/// for whole and have written it, and what was still to come would be lost or spoil it whether it is opened here or not. So
/// ten seconds after a file has come or gone that is none of SQLite's, or the database was replaced, it is opened where
/// programs were seen to write it three times. What tells them from a copy:
///
/// - A log that has content, while SQLite's locks are on the database. Readers lock it too, also one that is half there, but
///   the log that they make is empty. So the log is to be whole besides: header and frames, the last of which is one. A copy
///   grows in pieces of which hardly one in two thousand ends with a frame.
/// - No log, where the directory has changed since the last look and not before the database: SQLite has written that from
///   the log and deleted the log, as the last connection does that closes. Who copies into a file changes no directory.
///
/// A log that is not whole, and a database that changes without either, are a copy's, and what was seen before counts no
/// more. Where locks cannot be seen, as those of programs in other containers, it is opened where the database has stood
/// still for half a minute and only whole logs were seen to change.
///
/// The database itself is never opened for that: to close it would drop all locks that this process has on it.
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

        func isSameFile(as other: FileState?) -> Bool { device == other?.device && inode == other?.inode }
    }

    /// Where the store is to be.
    let path: String
    /// Files whose names begin with the store's, or are hidden and hold it: what SQLite keeps, and what is still being
    /// copied.
    private var files: [String: FileState] = [:]
    /// When the directory last changed.
    private var directoryChange: [Int] = []
    /// When the store's file was first seen to be there; nil while it is not.
    private var arrival: ContinuousClock.Instant?
    /// The time up to the last look. What passed between two looks counts for no more than ``longestInterval``: a machine that
    /// was asleep meanwhile has given nobody the time to go on.
    private var time: ContinuousClock.Instant
    private var lastObservation: ContinuousClock.Instant
    private var lastChange: ContinuousClock.Instant
    /// When last a file changed that is none of SQLite's, or the database became another file.
    private var lastReplacement: ContinuousClock.Instant
    private var lastDatabaseChange: ContinuousClock.Instant
    /// How often in a row something had changed, and the log was whole; how often a program was seen to have done it.
    private var wholeCount = 0
    private var signs = 0
    private var lastSign: ContinuousClock.Instant
    private var isLogWhole = true
    /// How long it is to be there until that is said again.
    private var nextNotice = Duration.zero

    private static let quiet = Duration.seconds(2)
    private static let patience = Duration.seconds(10)
    private static let longPatience = Duration.seconds(30)
    private static let necessarySigns = 3
    /// Looks come in bursts; signs are of different writes.
    private static let signSpacing = Duration.milliseconds(300)
    private static let longestInterval = Duration.seconds(1)
    static let firstWarning = Duration.seconds(15)
    private static let rarestWarning = Duration.seconds(3600)
    /// How long to wait until the next look.
    static let pause = Duration.milliseconds(250)

    init(_ path: String, now: ContinuousClock.Instant = .now) {
        self.path = path
        (time, lastObservation) = (now, now)
        (lastChange, lastReplacement, lastDatabaseChange, lastSign) = (now, now, now, now)
    }

    /// Whether the store's file is there and others may still be on their way.
    var isWaiting: Bool { arrival != nil }

    /// Looks again.
    ///
    /// - Parameter isInUse: whether any process has SQLite's locks on the database.
    /// - Returns: whether the store may be opened: it is there, and whole.
    mutating func observe(
        now: ContinuousClock.Instant = .now, isInUse: (String) -> Bool = KernelLocks.shared.isInUse
    ) -> Bool {
        time += min(now - lastObservation, Self.longestInterval)
        lastObservation = now
        let known = files
        files = Self.files(beside: path)
        let change = Self.change(of: URL(fileURLWithPath: path).deletingLastPathComponent().path)
        defer { directoryChange = change }
        if files != known {
            lastChange = time
            judge(known, directoryChange: change == directoryChange ? nil : change, isInUse)
        }
        guard files[path] != nil else {
            arrival = nil
            return false
        }
        arrival = arrival ?? now
        let isLogThere = isLogWhole && files[path + "-wal"] != nil
        if time - lastChange >= (isLogThere ? Self.quiet : Self.patience) { return true }
        guard isLogWhole else { return false }
        return signs >= Self.necessarySigns && time - lastReplacement >= Self.patience
            || wholeCount >= Self.necessarySigns && time - lastDatabaseChange >= Self.longPatience
                && time - lastReplacement >= Self.longPatience
    }

    /// How long the store has been waited for, where that is to be said: at once, after a while, and ever more rarely.
    mutating func timeToSay(now: ContinuousClock.Instant = .now) -> Duration? {
        guard let arrival, now - arrival >= nextNotice else { return nil }
        nextNotice = max(Self.firstWarning, min((now - arrival) * 2, now - arrival + Self.rarestWarning))
        return now - arrival
    }

    /// What changed since the last look: whether programs did it, or what restores the database.
    private mutating func judge(
        _ known: [String: FileState], directoryChange: [Int]?, _ isInUse: (String) -> Bool
    ) {
        isLogWhole = Self.isWholeLog(path + "-wal")
        let (database, before) = (files[path], known[path])
        if database != before { lastDatabaseChange = time }
        let own = Set(["", "-wal", "-shm", "-journal"].map { path + $0 })
        let isReplaced =
            !(database?.isSameFile(as: before) ?? (before == nil))
            || files.filter { !own.contains($0.key) } != known.filter { !own.contains($0.key) }
        if isReplaced { lastReplacement = time }
        guard isLogWhole, !isReplaced, let database else {
            (signs, wholeCount) = (0, 0)
            return
        }
        wholeCount += 1
        let hasLog = ["-wal", "-journal"].contains { files[path + $0].map { $0.size > 0 } ?? false }
        let isProgram =
            hasLog
            ? isInUse(path)
            : directoryChange.map { !$0.lexicographicallyPrecedes(database.modified.prefix(2)) } ?? false
        if isProgram {
            guard signs == 0 || time - lastSign >= Self.signSpacing else { return }
            (signs, lastSign) = (signs + 1, time)
        } else if database != before {
            signs = 0
        }
    }

    /// Whether a log is nothing but a header and frames, the last of which is one; one that is empty or not there is.
    ///
    /// Source: <https://www.sqlite.org/fileformat2.html#walformat>.
    private static func isWholeLog(_ path: String) -> Bool {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else { return errno == ENOENT }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        let size = Int64(status.st_size)
        guard size > 0 else { return true }
        // Big-endian: the page size stands at 8 in the header, the page's number at 0 in a frame.
        func number(at offset: Int64) -> Int64? {
            var bytes: [UInt8] = [0, 0, 0, 0]
            guard pread(file, &bytes, 4, off_t(offset)) == 4 else { return nil }
            return bytes.reduce(0) { $0 << 8 | Int64($1) }
        }
        let headerSize: Int64 = 32
        guard size >= headerSize, let pageSize = number(at: 8), (512...65536).contains(pageSize) else { return false }
        let frameSize = pageSize + 24
        guard (size - headerSize) % frameSize == 0 else { return false }
        return size == headerSize || number(at: size - frameSize).map { $0 > 0 } ?? false
    }

    private static func change(of path: String) -> [Int] {
        var status = stat()
        return stat(path, &status) == 0 ? [status.st_mtim.tv_sec, status.st_mtim.tv_nsec] : []
    }

    private static func files(beside path: String) -> [String: FileState] {
        let url = URL(fileURLWithPath: path)
        let (directory, name) = (url.deletingLastPathComponent().path, url.lastPathComponent)
        // A directory that may not be listed still shows the files whose names are known.
        let listed = (try? FileManager.default.contentsOfDirectory(atPath: directory))?.filter {
            $0.hasPrefix(name) || $0.hasPrefix(".") && $0.contains(name)
        }
        let names = Set(listed ?? []).union(["", "-wal", "-shm", "-journal"].map { name + $0 })
        let prefix = path.dropLast(name.count)
        return names.reduce(into: [:]) { $0[prefix + $1] = FileState(prefix + $1) }
    }
}
