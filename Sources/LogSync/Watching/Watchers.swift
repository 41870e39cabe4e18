import Foundation
import LogSyncContainer
import LogSyncModel
import Logging

/// Turns what happens outside a replicator into wakes.
struct Watchers: Sendable {
    let configuration: SyncConfiguration
    let wakes: WakeQueue

    /// Without events, the store is looked at this often; a look is one `stat` a file.
    private static let storePolling = Duration.milliseconds(500)
    private static let folderPolling = Duration.seconds(2)
    private static let retry = Duration.seconds(1)

    /// Commits of other processes, seen by what is written to the store's files.
    ///
    /// - Parameter place: the path of the store.
    func watchStore(_ path: String) async {
        let url = URL(fileURLWithPath: path)
        let names = ["", "-wal", "-journal"].map { url.lastPathComponent + $0 }
        let directory = url.deletingLastPathComponent().path
        await watch(
            { directory }, recursive: false, only: Set(names),
            polling: configuration.pollInterval.map { min($0, Self.storePolling) } ?? Self.storePolling,
            polls: configuration.pollInterval != nil
        ) { _ in wakes.wake(.local) }
    }

    /// Files that arrive in the content folder, this peer's own as well: which peer it is may change.
    ///
    /// - Parameter folder: is asked when a watch begins.
    func watchContainer(_ folder: @escaping @Sendable () async -> String?) async {
        var watched: String?
        await watch(
            {
                watched = await folder()
                return watched
            }, recursive: true, only: nil,
            polling: configuration.pollInterval ?? Self.folderPolling, polls: configuration.pollInterval != nil
        ) { hint in
            switch hint {
            case nil: wakes.wake(.folder)
            case .overflow: wakes.wake(.full)
            case .changed(let directory, let name):
                guard let watched else { return wakes.wake(.folder) }
                if let name, Self.isOnItsWay(name) { return }
                wakes.wake(.folder, in: Self.peer(directory, name, content: watched))
            }
        }
    }

    /// Whether a name is one that no file of a content has: what is written by it, as sync engines do before they rename,
    /// is not there yet. A look at the folder would find nothing, and hints that come meanwhile would wait for it to end.
    static func isOnItsWay(_ name: String) -> Bool { name.hasPrefix(".") }

    /// The peer in whose folder something changed; nil where it was beside the peers' folders.
    static func peer(_ directory: String, _ name: String?, content: String) -> PeerID? {
        let place = (name.map { "\(directory)/\($0)" } ?? directory).dropFirst(content.count)
        guard directory.hasPrefix(content) else { return nil }
        let parts = place.split(separator: "/")
        return parts.count >= 2 && parts[0] == ContentFolder.peersName ? PeerID(parts[1]) : nil
    }

    /// Requests by other processes to let go of the store.
    ///
    /// - Parameter directory: is asked when a watch begins.
    func watchRequests(_ path: String, in directory: @escaping @Sendable () async -> String?) async {
        await watch(
            directory, recursive: false, only: [StoreLocks.requestName(path)], polling: Self.retry,
            polls: false
        ) { _ in
            // When a watch begins, too: one may have asked before.
            wakes.wake(.request)
        }
    }

    /// A full look once a minute, whatever events have said.
    func watchTime() async {
        // A sleep fails when the task is cancelled, and only then.
        while (try? await Task.sleep(for: configuration.fullScanInterval)) != nil { wakes.wake(.full) }
    }

    /// How long a program may keep the store locked before that is said, and how often it is looked for.
    private static let writerPatience = Duration.seconds(10)
    private static let writerPolling = Duration.seconds(3)

    /// Says, once each time, that a program has a write transaction open for long, and that it has ended.
    ///
    /// - Parameter commits: a number that changes with every commit: many short transactions are none that lasts.
    func watchWriter(_ store: String, commits: () async -> Int64?) async {
        var writer: (id: pid_t, since: ContinuousClock.Instant, commits: Int64?)?
        var isSaid = false
        // A sleep fails when the task is cancelled, and only then.
        while (try? await Task.sleep(for: Self.writerPolling)) != nil {
            // Who has it for itself is told of by the round that finds it so.
            let id = KernelLocks.shared.writer(of: store)
            if let known = writer, known.id == id, !isSaid {
                guard known.since.duration(to: .now) >= Self.writerPatience else { continue }
                let now = await commits()
                if now == known.commits {
                    isSaid = true
                    configuration.logger.warning(
                        """
                        \(store) has been locked by another program (process \(known.id)) for \
                        \(known.since.duration(to: .now).components.seconds) seconds; nothing can be imported meanwhile
                        """)
                } else {
                    writer = (known.id, .now, now)
                }
            } else if let known = writer, known.id != id {
                if isSaid {
                    configuration.logger.notice(
                        "\(store) is locked no more, after \(known.since.duration(to: .now).components.seconds) seconds"
                    )
                }
                (writer, isSaid) = (nil, false)
            }
            if writer == nil, let id { writer = (id, .now, await commits()) }
        }
    }

    /// Watches a directory until the task is cancelled, again and again where it goes away and comes back.
    ///
    /// - Parameter body: is told each hint, and nil when a watch begins.
    private func watch(
        _ directory: () async -> String?, recursive: Bool, only names: Set<String>?, polling: Duration, polls: Bool,
        _ body: (FolderHint?) async -> Void
    ) async {
        var reportsFailure = true
        var isMissing = false
        while !Task.isCancelled {
            if let directory = await directory() {
                do {
                    let hints = try await hints(directory, recursive, names, polling, polls)
                    (reportsFailure, isMissing) = (true, false)
                    await body(nil)
                    for await hint in hints { await body(hint) }
                } catch let error as LogSyncError where error.code != .containerUnavailable && reportsFailure {
                    configuration.logger.warning("\(error)")
                    reportsFailure = false
                } catch {
                    // What is not there is said by the round that finds it missing: it may have gone after the last one.
                    if !isMissing { await body(nil) }
                    isMissing = true
                }
            }
            // Cancelled: the loop's condition ends it.
            try? await Task.sleep(for: Self.retry)
        }
    }

    /// The same on a thread of its own, for a mount that hangs keeps the thread that asks it.
    private func hints(
        _ directory: String, _ recursive: Bool, _ names: Set<String>?, _ polling: Duration, _ polls: Bool
    ) async throws -> AsyncStream<FolderHint> {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result { try hintsNow(directory, recursive, names, polling, polls) })
            }
        }
    }

    /// Hints from the kernel where it hears of every change, otherwise by polling.
    private func hintsNow(
        _ directory: String, _ recursive: Bool, _ names: Set<String>?, _ polling: Duration, _ polls: Bool
    ) throws(LogSyncError) -> AsyncStream<FolderHint> {
        if !polls, let events = configuration.events, reportsRemoteChanges(directory) {
            do throws(LogSyncError) {
                return try events.watch(directory: directory, recursive: recursive, only: names)
            } catch  where error.code == .ioError {
                configuration.logger.notice("\(directory) is polled: \(error)")
            }
        }
        return try PollingFolderEvents(
            interval: polling, fileSystem: configuration.fileSystem, clock: ContinuousClock()
        ).watch(directory: directory, recursive: recursive, only: names)
    }
}
