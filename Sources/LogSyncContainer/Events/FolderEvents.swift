import Glibc
public import LogSyncModel

/// Something may have changed below a watched directory. A hint is never proof: a receiver looks for itself.
public enum FolderHint: Hashable, Sendable {
    /// In `directory`, a path below the one that was watched; `name` is what changed there, nil where that is not known
    /// or may be all of it.
    case changed(directory: String, name: String?)
    /// Hints were lost: scan everything.
    case overflow
}

/// Says when something may have changed in a folder.
///
/// The default is ``KernelFolderEvents``, and ``PollingFolderEvents`` where the kernel does not hear of all changes. Hints cannot be relied on
/// alone, whatever gives them: scan once a minute regardless (Documentation/design.md, section 7).
public protocol FolderEvents: Sendable {
    /// Watches a directory until the stream is let go of or its task is cancelled.
    ///
    /// The watch is in place when this returns: what changes afterwards gives a hint, what was there before does
    /// not. The stream holds a bounded number of hints and says ``FolderHint/overflow`` where that did not do.
    /// When the directory goes away, is moved with or without those above it, or is unmounted, the stream says
    /// ``FolderHint/overflow`` and ends; watch again once one is at the path.
    ///
    /// - Parameters:
    ///   - directory: an absolute path; may be a symbolic link, though links below it are not followed.
    ///   - recursive: whether directories below it are watched too, new ones included.
    ///   - names: what to hint about in `directory`, as a store's `-wal` file; nil for everything. With names, every
    ///     write to the file gives a hint; without, a file's closing after writing does.
    /// - Throws: ``LogSyncError/Code/containerUnavailable`` where the directory is not there;
    ///   ``LogSyncError/Code/ioError`` where it cannot be watched; poll it then.
    func watch(directory: String, recursive: Bool, only names: Set<String>?) throws(LogSyncError)
        -> AsyncStream<FolderHint>
}

extension FolderEvents {
    public func watch(directory: String, recursive: Bool) throws(LogSyncError) -> AsyncStream<FolderHint> {
        try watch(directory: directory, recursive: recursive, only: nil)
    }
}

/// Whether the kernel hears of every change below a path, so that a watch there is worth having. On NFS, SMB, FUSE and
/// the like others change files without its noticing; there, and where the path cannot be looked at, poll.
public func reportsRemoteChanges(_ path: String) -> Bool {
    (try? PosixFileSystem().kind(path))?.reportsRemoteChanges ?? false
}

/// The writing end of a stream of hints. What it cannot hold turns into one ``FolderHint/overflow``.
package struct HintSink: Sendable {
    /// Enough for a burst of deliveries; a receiver further behind scans everything anyway.
    package static let capacity = 1024

    private let continuation: AsyncStream<FolderHint>.Continuation

    package static func makeStream() -> (stream: AsyncStream<FolderHint>, sink: HintSink) {
        let (stream, continuation) = AsyncStream.makeStream(
            of: FolderHint.self, bufferingPolicy: .bufferingNewest(capacity))
        return (stream, HintSink(continuation: continuation))
    }

    package func send(_ hint: FolderHint) {
        // What is dropped is the oldest, so an overflow that follows it is the last thing read.
        if case .dropped = continuation.yield(hint) { continuation.yield(.overflow) }
    }

    package func finish() {
        continuation.finish()
    }

    /// Calls `body` once nobody reads any more.
    package func onEnd(_ body: @escaping @Sendable () -> Void) {
        continuation.onTermination = { _ in body() }
    }
}

extension LogSyncError {
    /// Why events of a directory cannot be had.
    ///
    /// - Parameter number: an errno.
    package static func cannotWatch(_ path: String, _ number: CInt) -> LogSyncError {
        let reason = String(cString: strerror(number))
        switch number {
        case ENOENT, ENOTDIR:
            return LogSyncError(
                .containerUnavailable, "cannot watch \(path): \(reason)", help: "Watch it again once it is back")
        case ENOSPC, EMFILE:
            return LogSyncError(
                .ioError,
                "cannot watch \(path): the system's limit of inotify watches or instances is reached; "
                    + "it can be polled",
                help: "Raise fs.inotify.max_user_watches or fs.inotify.max_user_instances with sysctl")
        case EACCES:
            return LogSyncError(.noPermission, "cannot watch \(path): \(reason)", help: "Let this user read it")
        default:
            return LogSyncError(.ioError, "cannot watch \(path): \(reason); it can be polled")
        }
    }
}
