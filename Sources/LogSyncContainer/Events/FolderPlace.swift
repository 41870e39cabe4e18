import Dispatch
import Glibc
import LogSyncModel

/// Which directory a path led to when a watch of it began.
///
/// The kernel watches directories, not paths. It tells where the watched one is itself moved or removed, and no more: where
/// one above it is moved, the watch goes on, and never hears of what is made at the path. So those above it are watched for
/// being moved; and because they may not be readable, a link on the way may lead elsewhere, and a mount may cover all of it,
/// it is looked every so often whether the path still leads to the same directory.
package struct FolderPlace: Sendable {
    /// How long to wait between two looks.
    package static let interval = Duration.seconds(10)

    private let path: String
    private let device: UInt64
    private let inode: UInt64

    /// nil where nothing is there that can be looked at.
    package init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        (self.path, device, inode) = (path, UInt64(status.st_dev), UInt64(status.st_ino))
    }

    /// Whether the path leads nowhere, or to another directory. What cannot be looked at is as it was.
    var isLeft: Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return errno == ENOENT || errno == ENOTDIR }
        return UInt64(status.st_dev) != device || UInt64(status.st_ino) != inode
    }

    /// Whether both paths led to one directory, over links and mounts.
    package func isSame(as other: FolderPlace) -> Bool { device == other.device && inode == other.inode }

    /// Ends the hints of a watch once the path has been left.
    package func watch(every interval: Duration, _ sink: HintSink) -> Task<Void, Never> {
        Task.detached {
            // A sleep fails when the task is cancelled, and only then.
            while (try? await Task.sleep(for: interval, tolerance: interval / 2)) != nil {
                guard await isLeftNow() else { continue }
                sink.send(.overflow)
                return sink.finish()
            }
        }
    }

    /// On a thread of its own: a mount that hangs keeps the thread, and Swift has few.
    private func isLeftNow() async -> Bool {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: isLeft) }
        }
    }

    /// The directories above a resolved path, save the root of all.
    package static func above(_ path: String) -> [String] {
        var result: [String] = []
        var rest = path[...]
        while let slash = rest.lastIndex(of: "/"), slash > rest.startIndex {
            rest = rest[..<slash]
            result.append(String(rest))
        }
        return result
    }
}
