import Foundation
import LogSyncContainer
import LogSyncModel

/// The content folders that a path stands for: itself, or those in it.
struct FolderTarget {
    let folders: [ContentFolder]
    /// Why there may be more of them; nil where everything could be looked at.
    let failure: LogSyncError?

    init(_ path: String, fileSystem: any FileSystem) {
        var search = Search(fileSystem: fileSystem)
        let url = URL(fileURLWithPath: path, isDirectory: true)
        if search.isContent(path), let name = ContentName(url.lastPathComponent) {
            let container = url.deletingLastPathComponent().path
            folders = [ContentFolder(container: container, name: name, fileSystem: fileSystem)]
            failure = nil
            return
        }
        let names = search.names(in: path).filter { search.isContent("\(path)/\($0)") }
        folders = names.sorted { $0.description < $1.description }
            .map { ContentFolder(container: path, name: $0, fileSystem: fileSystem) }
        failure = search.failure
    }

    /// What the failure means to an examination of all that is at `path`.
    func finding(_ failure: LogSyncError, at path: String) -> Finding {
        guard !folders.isEmpty else { return FolderExamination.unavailable(failure, at: path) }
        // Beside contents that can be seen it is most likely no content.
        return Finding(
            "unreadable", .note, "something here may not be looked at", at: path, why: failure.message,
            help: "where it is a content folder, let this user read it")
    }

    /// Looks for content folders, and remembers the first look that failed for more than absence.
    private struct Search {
        let fileSystem: any FileSystem
        var failure: LogSyncError?

        mutating func isContent(_ path: String) -> Bool {
            let marker = attempt { [fileSystem] () throws(FileSystemError) in
                try fileSystem.status(path + "/logsync.json", followingLinks: false)
            }
            let peers = attempt { [fileSystem] () throws(FileSystemError) in
                try fileSystem.status(path + "/peers", followingLinks: false)
            }
            return marker?.isFile ?? false || peers?.isDirectory ?? false
        }

        mutating func names(in path: String) -> [ContentName] {
            let entries = attempt { [fileSystem] () throws(FileSystemError) in
                // A container may be a symbolic link.
                try fileSystem.list(fileSystem.resolvedDirectory(path), statuses: false)
            }
            return (entries ?? []).compactMap { ContentName($0.name) }
        }

        private mutating func attempt<Result>(_ body: () throws(FileSystemError) -> Result) -> Result? {
            do throws(FileSystemError) {
                return try body()
            } catch {
                if !error.isAbsence, failure == nil { failure = error.explained(kept: "nothing was changed") }
                return nil
            }
        }
    }

    /// What may not be looked at counts as none.
    static func isDirectory(_ path: String, _ fileSystem: any FileSystem) -> Bool {
        (try? fileSystem.status(path, followingLinks: true))?.isDirectory ?? false
    }
}
