import Glibc
package import LogSyncModel

/// Places files in one peer's own folder so that a reader sees each whole or not at all.
///
/// A file is written aside, synchronized, renamed, and the directory synchronized. It is written in the store's state
/// directory where that is on the container's file system, because a sync engine would ship a half-written file that
/// lies in the shared folder; elsewhere it is written beside its place under a dot-name (`.logsync-*.tmp`).
///
/// The caller holds the lock of the store that stages, so that ``removeStaleFiles(now:)`` can tell what a process that
/// died has left.
package struct Publisher: Sendable {
    package let folder: PeerFolder
    /// A directory of our own outside the container, to stage files in.
    package let stagingDirectory: String?
    /// The peer whose store stages the files, which may be for another peer's folder: a former self's, or one that moves
    /// along. Their names begin with its id.
    let stager: PeerID

    /// - Parameter stager: the peer whose store this is; nil where it is the folder's own.
    package init(folder: PeerFolder, stagingDirectory: String? = nil, stager: PeerID? = nil) {
        self.folder = folder
        self.stagingDirectory = stagingDirectory
        self.stager = stager ?? folder.id
    }

    var fileSystem: any FileSystem { folder.fileSystem }

    /// Begins a file of the kind of `kind`. Nothing of it can be seen before ``StagedFile/publish(anew:as:)``.
    ///
    /// - Throws: as ``ContentFolder/checkAvailable()``.
    package func stage<Name: PublishedName>(_ kind: Name.Type) throws(LogSyncError) -> StagedFile<Name> {
        try folder.create()
        let target = folder.path(of: kind)
        do throws(FileSystemError) {
            let directory = try stagingDirectory(for: target)
            let path = "\(directory)/\(StagingName.random(stager))"
            let file = try fileSystem.create(path, permissions: folder.content.permissions)
            return StagedFile(folder: folder, stager: stager, path: path, file: file)
        } catch {
            throw error.explained(kept: Kept.outbox)
        }
    }

    /// Publishes bytes that are at hand under the name that they make.
    package func publish<Name: PublishedName>(
        _ bytes: [UInt8], as name: (FileHash) -> Name?
    ) throws(LogSyncError) -> Name {
        let file = try stage(Name.self)
        try file.write(bytes)
        return try file.publish(as: name)
    }

    /// Publishes what a file beside its place holds, and leaves that file where it is.
    ///
    /// - Parameters:
    ///   - copy: the path of the file.
    ///   - name: what the bytes have to hash to.
    /// - Throws: as ``StagedFile/publish(anew:as:)``.
    package func publish<Name: PublishedName>(copy: String, as name: Name) throws(LogSyncError) {
        let staged = try stage(Name.self)
        do throws(FileSystemError) {
            let file = try fileSystem.open(copy)
            var offset: UInt64 = 0
            while true {
                let chunk = try file.read(at: offset, count: 1 << 20)
                if chunk.isEmpty { break }
                try staged.append(chunk)
                offset += UInt64(chunk.count)
            }
        } catch {
            staged.discard()
            throw error.explained(kept: Kept.store)
        }
        _ = try staged.publish { $0 == name.hash ?? $0 ? name : nil }
    }

    /// Staged files that nobody has written to for so long are taken for left over, whichever process staged them.
    package static let patience = Duration.seconds(3600)

    /// Removes what processes that died have staged and never published.
    ///
    /// In the staging directory that is whatever this store staged: its processes hold its lock while they stage, as the
    /// caller does now. In the shared folder a process elsewhere may write under the same peer id, which nobody has
    /// noticed yet, and in the staging directory other stores have files on their way: those go when they have not been
    /// written to for ``patience``. What cannot be looked at stays; nobody reads it.
    ///
    /// - Parameter now: Unix nanoseconds, by the clock that gives files their times.
    package func removeStaleFiles(now: Int64 = PassingTime.nanosecondsSince1970()) {
        let folders = [LogFileName.folder, SchemaFileName.folder, SnapshotName.folder, BlobName.folder]
        for directory in [folder.path] + folders.map({ "\(folder.path)/\($0)" }) {
            for path in staged(in: directory, where: { StagingName.isStaged($0, by: stager) })
            where isLeft(path, now) {
                fileSystem.removeIfPresent(path)
            }
        }
        guard let stagingDirectory else { return }
        for path in staged(in: stagingDirectory, where: StagingName.isStaged)
        where StagingName.isStaged(path.lastComponent, by: stager) || isLeft(path, now) {
            fileSystem.removeIfPresent(path)
        }
    }

    private func staged(in directory: String, where isStaged: (String) -> Bool) -> [String] {
        let entries = (try? fileSystem.list(directory, statuses: false)) ?? []
        return entries.map(\.name).filter(isStaged).map { "\(directory)/\($0)" }
    }

    private func isLeft(_ path: String, _ now: Int64) -> Bool {
        guard let status = try? fileSystem.status(path, followingLinks: false) else { return false }
        let (age, overflows) = now.subtractingReportingOverflow(status.modified)
        return !overflows && .nanoseconds(age) >= Self.patience
    }

    private func stagingDirectory(for target: String) throws(FileSystemError) -> String {
        guard let stagingDirectory,
            let staging = try? fileSystem.status(stagingDirectory, followingLinks: true), staging.isDirectory,
            staging.device == (try fileSystem.status(target, followingLinks: false).device)
        else { return target }
        return stagingDirectory
    }
}

/// A file on its way into a peer's folder. Let go of unpublished, it is removed.
package final class StagedFile<Name: PublishedName> {
    private let folder: PeerFolder
    private let stager: PeerID
    private var path: String
    private let file: any WritableFile
    private var content = StreamingHash()
    private var isOpen = true

    fileprivate init(folder: PeerFolder, stager: PeerID, path: String, file: any WritableFile) {
        self.folder = folder
        self.stager = stager
        self.path = path
        self.file = file
    }

    deinit {
        if isOpen { folder.fileSystem.removeIfPresent(path) }
    }

    /// Bytes written so far.
    package var length: UInt64 { content.count }
    /// The hash of the bytes written so far.
    package var hash: FileHash { content.value }

    /// - Throws: ``LogSyncError/Code/ioError`` where the disk is full or fails; the staged file is then gone.
    package func write(_ bytes: [UInt8]) throws(LogSyncError) {
        try attempt { () throws(FileSystemError) in try append(bytes) }
    }

    fileprivate func append(_ bytes: [UInt8]) throws(FileSystemError) {
        try file.write(bytes)
        content.update(bytes)
    }

    /// Removes the staged file. Nothing was ever visible of it.
    package func discard() {
        guard isOpen else { return }
        isOpen = false
        try? file.close()
        folder.fileSystem.removeIfPresent(path)
    }

    /// Makes the file visible under its name, durably. Publishing the same bytes again changes nothing.
    ///
    /// A file of that name with other bytes is damaged, for the name says the hash, and is replaced.
    ///
    /// - Parameters:
    ///   - anew: whether the file takes the place of a sound one of its name, so that a sync engine carries it again.
    ///   - name: makes the name from the hash of the bytes written.
    /// - Throws: ``LogSyncError/Code/cannotCreate`` where `name` makes none or one of another hash; as
    ///   ``ContentFolder/checkAvailable()``. Either nothing is visible afterwards or the whole file is; the same can
    ///   be tried again.
    package func publish(anew: Bool = false, as name: (FileHash) -> Name?) throws(LogSyncError) -> Name {
        precondition(isOpen, "a staged file is published or discarded once")
        guard let name = name(hash), name.hash == nil || name.hash == hash else {
            discard()
            throw LogSyncError(.cannotCreate, "what was staged in \(path) does not fit its name; \(Kept.outbox)")
        }
        try attempt { () throws(FileSystemError) in
            try file.synchronize()
            try file.close()
        }
        do throws(LogSyncError) { try folder.content.checkAvailable() } catch {
            discard()
            throw error
        }
        try attempt { () throws(FileSystemError) in try place(folder.path(name), name, anew) }
        return name
    }

    private func place(_ target: String, _ name: Name, _ anew: Bool) throws(FileSystemError) {
        let fileSystem = folder.fileSystem
        if !anew, try isAlreadyThere(target) {
            fileSystem.removeIfPresent(path)
        } else {
            do throws(FileSystemError) {
                try fileSystem.place(path, at: target)
            } catch let error where error.number == EXDEV {
                // Two mounts may share one device number, as bind mounts do.
                try copyBeside(target)
                try fileSystem.place(path, at: target)
            }
        }
        isOpen = false
        try fileSystem.synchronizeDirectory(target.parentDirectory)
    }

    private func isAlreadyThere(_ target: String) throws(FileSystemError) -> Bool {
        let fileSystem = folder.fileSystem
        guard let there = try? fileSystem.open(target), let status = try? there.status(), status.size == length
        else { return false }
        var hash = StreamingHash()
        do throws(FileSystemError) {
            try fileSystem.forEachChunk(of: there) { hash.update($0) }
        } catch {
            return false
        }
        return hash.value == content.value
    }

    private func copyBeside(_ target: String) throws(FileSystemError) {
        let fileSystem = folder.fileSystem
        let copy = "\(target.parentDirectory)/\(StagingName.random(stager))"
        let source = try fileSystem.open(path)
        let file = try fileSystem.create(copy, permissions: folder.content.permissions)
        do throws(FileSystemError) {
            var offset: UInt64 = 0
            while true {
                let chunk = try source.read(at: offset, count: 1 << 20)
                if chunk.isEmpty { break }
                try file.write(chunk)
                offset += UInt64(chunk.count)
            }
            try file.synchronize()
            try file.close()
        } catch {
            fileSystem.removeIfPresent(copy)
            throw error
        }
        fileSystem.removeIfPresent(path)
        path = copy
    }

    private func attempt(_ body: () throws(FileSystemError) -> Void) throws(LogSyncError) {
        do throws(FileSystemError) {
            try body()
        } catch {
            discard()
            throw error.explained(kept: Kept.outbox, isRoot: true)
        }
    }
}
