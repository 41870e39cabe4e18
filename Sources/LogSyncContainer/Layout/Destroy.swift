import Glibc
package import LogSyncModel

/// What a content folder holds in all.
package struct FolderContents: Hashable, Sendable {
    package var files = 0
    /// Of all files.
    package var bytes: UInt64 = 0
    /// The peers that have a folder.
    package var peers: [PeerID] = []
}

/// Removing a content folder for good.
extension ContentFolder {
    /// Counts what ``destroy()`` would remove.
    ///
    /// - Throws: ``LogSyncError/Code/containerUnavailable`` where no content folder is there; as ``checkAvailable()``.
    package func contents() throws(LogSyncError) -> FolderContents {
        try checkDestroyable()
        var contents = FolderContents()
        do throws(FileSystemError) {
            try walk(path) { _, status in
                guard !status.isDirectory else { return }
                contents.files += 1
                contents.bytes += status.size
            }
            contents.peers = try existingEntries(peersPath).compactMap { PeerID($0.name) }.sorted()
        } catch {
            throw error.explained(kept: "nothing was removed", isRoot: true)
        }
        return contents
    }

    /// Removes the folder and all that is in it, strange files too. Symbolic links are removed, never followed.
    ///
    /// The marker goes first: from then on every peer finds the container unavailable, instead of a folder whose files
    /// want to be put back. Killed anywhere, it can be called again.
    ///
    /// - Throws: as ``contents()``, and ``LogSyncError/Code/ioError``, ``LogSyncError/Code/noPermission``.
    package func destroy() throws(LogSyncError) {
        try checkDestroyable()
        do throws(FileSystemError) {
            do throws(FileSystemError) {
                try fileSystem.remove(markerPath)
                try fileSystem.synchronizeDirectory(path)
            } catch let error where error.isAbsence {
                // One that was killed had come as far as this.
            }
            // A sync engine may put something down meanwhile; what comes after the last look stops the removal.
            for attempt in 1... {
                var directories = [path]
                try walk(path) { entry, status throws(FileSystemError) in
                    if status.isDirectory { directories.append(entry) } else { try fileSystem.remove(entry) }
                }
                do throws(FileSystemError) {
                    for directory in directories.reversed() { try fileSystem.removeDirectory(directory) }
                    break
                } catch let error where [ENOTEMPTY, EEXIST].contains(error.number) && attempt < 3 {
                    continue
                }
            }
            try fileSystem.synchronizeDirectory(container)
        } catch {
            throw error.explained(kept: "what was not removed yet is still there, and every store keeps its rows")
        }
    }

    /// Only what logsync made is removed: a folder with its marker, or what a removal that was killed has left of one.
    private func checkDestroyable() throws(LogSyncError) {
        if try exists() { return }
        do throws(FileSystemError) {
            if try fileSystem.status(path, followingLinks: false).isDirectory {
                let entries = try fileSystem.list(path, statuses: true)
                // The folder itself goes last, when nothing is in it any more, and before it the one of the peers.
                if entries.isEmpty { return }
                if entries.contains(where: { $0.name == Self.peersName && ($0.status?.isDirectory ?? false) }) {
                    let peers = try existingEntries(peersPath)
                    if peers.contains(where: { PeerID($0.name) != nil }) || peers.isEmpty && entries.count == 1 {
                        return
                    }
                }
            }
        } catch let error where error.isAbsence {
            // Said below.
        } catch {
            throw error.explained(kept: "nothing was removed", isRoot: true)
        }
        throw LogSyncError(
            .containerUnavailable, "\(path) is no content folder; nothing was removed",
            help: "logsync doctor \(container.asShellArgument) lists the contents of a container")
    }

    private func existingEntries(_ directory: String) throws(FileSystemError) -> [DirectoryEntry] {
        do throws(FileSystemError) {
            return try fileSystem.list(directory, statuses: false)
        } catch let error where error.isAbsence {
            return []
        }
    }

    /// Tells of everything below a directory, each directory before what is in it.
    private func walk(
        _ directory: String, _ body: (String, FileStatus) throws(FileSystemError) -> Void
    ) throws(FileSystemError) {
        for entry in try existingEntries(directory) {
            let path = "\(directory)/\(entry.name)"
            do throws(FileSystemError) {
                let status = try fileSystem.status(path, followingLinks: false)
                try body(path, status)
                if status.isDirectory { try walk(path, body) }
            } catch let error where error.number == ENOENT {
                // It went by itself.
                continue
            }
        }
    }
}
