import Foundation
import LogSyncModel

/// What a daemon of many stores is working on, noted in the state directory, so that one on which it ends again and again
/// does not take the others along.
///
/// **The problem.** A fault that ends the process in the work on one content (a trap, or the memory that one of its files
/// takes) ends the work on all of them, and a daemon that is started again meets the same file again.
///
/// **The steps.**
///
/// 1. While a store is worked on, a file says so, and by which process.
/// 2. A daemon that starts finds the files of processes that are no more. Each of these stores has one end more to its
///    account. One end may be anybody's doing, such as a daemon that was killed; with the second in a row the store is
///    left alone for ten seconds, four times as long with each further end, six hours at the most. Where there are
///    several, most were worked on by chance: they come back two seconds apart, or less where that would come to more than
///    half a minute, those with the fewest ends first, and the next end says which it is.
/// 3. A store that has been worked on without an end, until it is ready, has nothing to its account any more: what ended
///    the daemon would have met it again.
///
/// **The exception.** Files from before the machine was started say nothing: the power may have gone.
package struct WorkNotes: Sendable {
    private let directory: String
    private let clock: any WallClock
    /// Who notes, as a line that no other process of any machine has.
    private let process: String

    private static let firstPause: Int64 = 10_000
    private static let lastPause: Int64 = 6 * 3_600_000
    private static let distance: Int64 = 2000
    /// What these distances come to at the most.
    private static let span: Int64 = 30_000

    package init(stateDirectory: String, clock: any WallClock = SystemClock()) {
        self.init(stateDirectory: stateDirectory, clock: clock, process: Self.line(of: getpid()))
    }

    init(stateDirectory: String, clock: any WallClock, process: String?) {
        directory = StateDirectory(stateDirectory).path + "/work"
        self.clock = clock
        self.process = process ?? "unknown"
    }

    // MARK: Noting

    /// Notes that a store is worked on, or is not any more. What cannot be noted is not: the work is what matters.
    package func note(_ store: String, isAtWork: Bool) {
        let path = path(of: store, "at")
        guard isAtWork else {
            unlink(path)
            return
        }
        // Not synchronized: it has to outlive the process, not the machine.
        if !FileManager.default.createFile(atPath: path, contents: Data(process.utf8)) {
            makeDirectory()
            _ = FileManager.default.createFile(atPath: path, contents: Data(process.utf8))
        }
    }

    /// Clears a store's account.
    package func clear(_ store: String) { unlink(path(of: store, "json")) }

    // MARK: Taking up

    /// Finds out which stores the last daemon ended on.
    ///
    /// - Returns: the stores that are to be left alone now, by their paths as given.
    package func takeUp(_ stores: [String]) -> [String: StoreStatus.SetBack] {
        let now = clock.now()
        var ended: [(store: String, ends: Int)] = []
        for store in stores where hasEnded(on: store) {
            ended.append((store, (account(of: store)?.ends ?? 0) + 1))
        }
        let distance = min(Self.distance, Self.span / Int64(max(ended.count, 1)))
        var waiting: Int64 = 0
        for (store, ends) in ended.sorted(by: { ($0.ends, $0.store) < ($1.ends, $1.store) }) {
            let until = ends == 1 ? now : now + Self.pause(after: ends) + waiting * distance
            if ends > 1 { waiting += 1 }
            save(
                StoreStatus.SetBack(
                    ends: ends, last: Timestamp(milliseconds: now), until: Timestamp(milliseconds: until)),
                of: store)
        }
        return Dictionary(stores.compactMap { store in setBack(of: store).map { (store, $0) } }) { first, _ in first }
    }

    /// For how long a store is left alone; nil where it is not.
    package func setBack(of store: String) -> StoreStatus.SetBack? {
        guard let account = account(of: store) else { return nil }
        // A clock that was set back by years does not leave it alone for as long.
        let now = clock.now()
        guard account.until.milliseconds > now, account.last.milliseconds <= now else { return nil }
        return account
    }

    private static func pause(after ends: Int) -> Int64 {
        (2..<max(ends, 2)).reduce(firstPause) { pause, _ in min(pause * 4, lastPause) }
    }

    /// Whether a process that is no more was working on a store; what it noted is removed then.
    private func hasEnded(on store: String) -> Bool {
        let path = path(of: store, "at")
        guard let data = FileManager.default.contents(atPath: path) else { return false }
        let line = String(decoding: data, as: UTF8.self)
        let parts = line.split(separator: " ", omittingEmptySubsequences: false)
        if parts.count == 3, let id = pid_t(parts[0]), line == Self.line(of: id) { return false }
        unlink(path)
        return parts.count == 3 && parts[2] == Self.boot
    }

    // MARK: Processes

    /// A process by its id, the moment it began and the machine's start; nil where there is none.
    private static func line(of id: pid_t) -> String? {
        // Source: proc_pid_stat(5). The program's name may hold anything, blanks and brackets included.
        guard let data = FileManager.default.contents(atPath: "/proc/\(id)/stat"),
            let end = data.lastIndex(of: UInt8(ascii: ")"))
        else { return nil }
        let fields = String(decoding: data[data.index(after: end)...], as: UTF8.self).split(separator: " ")
        guard fields.count > 19 else { return nil }
        return "\(id) \(fields[19]) \(boot)"
    }

    private static let boot: String = {
        let data = FileManager.default.contents(atPath: "/proc/sys/kernel/random/boot_id")
        return String(decoding: data ?? Data("unknown".utf8), as: UTF8.self).trimmingCharacters(
            in: .whitespacesAndNewlines)
    }()

    // MARK: Files

    private func path(of store: String, _ ending: String) -> String {
        let store = (try? StorePlace(store))?.path ?? StorePlace.absolute(store)
        return "\(directory)/\(StoreLocks.name(store)).\(ending)"
    }

    private func makeDirectory() {
        // What cannot be made shows when something is written there.
        try? FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    private func account(of store: String) -> StoreStatus.SetBack? {
        guard let data = FileManager.default.contents(atPath: path(of: store, "json")) else { return nil }
        // One that cannot be read is an account of nothing.
        return try? JSONDecoder().decode(StoreStatus.SetBack.self, from: data)
    }

    private func save(_ account: StoreStatus.SetBack, of store: String) {
        makeDirectory()
        // Where it cannot be kept, the store is not left alone: nothing is worse than before.
        if let data = try? JSONEncoder().encode(account) { try? DurableFile.write(data, to: path(of: store, "json")) }
    }
}
