import Foundation
public import LogSyncContainer
public import LogSyncModel

/// Hints straight from the kernel, by libinotifytools.
///
/// That library keeps one process-wide state and knows no threads, so one thread of its own serves every watch of the
/// process. It sleeps in the kernel until something happens. Only for file systems where the kernel hears of every
/// change: see `reportsRemoteChanges(_:)`; poll the others.
///
///     for await hint in try InotifyFolderEvents.shared.watch(directory: folder, recursive: true) { … }
public final class InotifyFolderEvents: FolderEvents {
    public static let shared = InotifyFolderEvents()

    let inbox = CommandInbox()

    private init() {}

    /// Takes what it needs of the system now, rather than with the first watch: descriptors from 1024 up are of no use to it.
    public func prepare() {
        // What it cannot have the first watch says.
        try? inbox.start()
    }

    public func watch(directory: String, recursive: Bool, only names: Set<String>?) throws(LogSyncError)
        -> AsyncStream<FolderHint>
    {
        try inbox.start()
        let (stream, sink) = HintSink.makeStream()
        let answer = Answer()
        let inbox = inbox
        let id = inbox.nextIdentifier()
        let place = FolderPlace(directory)
        inbox.send { watches in
            answer.give(watches.add(Watch(id: id, asked: directory, recursive: recursive, names: names, sink: sink)))
        }
        if let error = answer.wait() { throw error }
        let looks = place?.watch(every: FolderPlace.interval, sink)
        sink.onEnd {
            looks?.cancel()
            inbox.send { $0.cancel(id) }
        }
        return stream
    }
}

/// One watch as it was asked for.
struct Watch {
    let id: Int
    /// The path as it was given.
    let asked: String
    /// The same path with its links resolved.
    var root = ""
    let recursive: Bool
    let names: Set<String>?
    let sink: HintSink

    /// Whether it watches a path, its root or below it.
    func covers(_ path: String) -> Bool { path == root || path.hasPrefix(root + "/") }

    /// Whether its root is at a path or below it.
    func isAt(orBelow path: String) -> Bool { path == root || root.hasPrefix(path + "/") }
}

/// Carries one command's outcome from the thread that serves the watches to the one that asked.
///
/// NB: `@unchecked` because the compiler cannot see that the semaphore puts the writing before the reading.
private final class Answer: @unchecked Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private var error: LogSyncError?

    func give(_ error: LogSyncError?) {
        self.error = error
        semaphore.signal()
    }

    func wait() -> LogSyncError? {
        semaphore.wait()
        return error
    }
}
