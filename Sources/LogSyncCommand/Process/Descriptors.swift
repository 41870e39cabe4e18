import Foundation
import LogSync
import LogSyncModel
import Synchronization

/// How many files the process may have open.
enum Descriptors {
    /// What the process takes beside its stores: the standard streams, the kernel's events, metrics, and room for what the
    /// system's libraries open at any moment and do not survive without, as Dispatch does not.
    private static let own = 48
    /// A store's database, log and index, and its two locks.
    private static let perStore = 5
    /// What a store may need for a moment: a folder, a file in it, a staged file.
    private static let perStep = 3
    /// As many stores take a step at a time at the most: Dispatch has no more threads.
    private static let steps = 64
    /// Nobody needs more, and some systems have no limit at all.
    private static let ceiling = rlim_t(1 << 20)

    /// Raises the soft limit to the hard one. The soft one, 1024 nearly everywhere, is for programs that use `select`.
    ///
    /// Source: <https://0pointer.net/blog/file-descriptor-limits.html>.
    static func raiseLimit() {
        guard var limit = limit(), limit.rlim_cur < min(limit.rlim_max, ceiling) else { return }
        former.withLock { $0 = Int(clamping: limit.rlim_cur) }
        limit.rlim_cur = min(limit.rlim_max, ceiling)
        // Where it is refused, the limit stays, and stores are counted by it.
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// The soft limit before it was raised; nil where it was not.
    private static let former = Mutex<Int?>(nil)

    /// What a shell does first so that its commands have the limit that this process was started with: programs that use
    /// `select` do not survive a higher one, and some close every number below it.
    static var restoringLimit: String {
        former.withLock { $0 }.map { "ulimit -S -n \($0)\n" } ?? ""
    }

    /// How many stores can be watched at a time, given `limit` files.
    static func storeCount(within limit: Int) -> Int {
        let left = max(limit - own, 0)
        let few = left / (perStore + perStep)
        return few <= steps ? few : (left - steps * perStep) / perStore
    }

    /// Why a store is not watched that the limit has no room for.
    static func refusal(_ store: String, limit: Int) -> LogSyncError {
        LogSyncError(
            .ioError,
            "\(store) is not watched: this process may open \(limit.counted("file")) (RLIMIT_NOFILE), which is enough for "
                + "\(storeCount(within: limit).counted("store")); it was not touched",
            help: "Raise LimitNOFILE= of the unit, or `ulimit -Hn`, or watch it by another daemon")
    }

    /// So many files the smallest command has open; the system's libraries end a process that cannot open theirs.
    private static let least = 12

    /// - Throws: `ioError` where this process may not even open what any command needs.
    static func checkLimit() throws {
        guard count < least else { return }
        throw LogSyncError(
            .ioError,
            "this process may open \(count.counted("file")) (RLIMIT_NOFILE), which is enough for no command; nothing was done",
            help: "Raise `ulimit -Hn`, or LimitNOFILE= of the unit")
    }

    /// The present limit.
    static var count: Int { limit().map { Int(clamping: $0.rlim_cur) } ?? Int.max }

    private static func limit() -> rlimit? {
        var limit = rlimit()
        return getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 ? limit : nil
    }
}
