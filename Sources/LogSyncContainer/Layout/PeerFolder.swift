package import LogSyncModel

/// One peer's folder in a content folder: `peers/PEER-ID`. Only that peer ever writes there, save that anyone may
/// remove a retired peer's files (Documentation/design.md, section 7).
package struct PeerFolder: Sendable {
    package let content: ContentFolder
    package let id: PeerID

    package init(content: ContentFolder, id: PeerID) {
        self.content = content
        self.id = id
    }

    var fileSystem: any FileSystem { content.fileSystem }

    package var path: String { "\(content.peersPath)/\(id)" }
    package var descriptionPath: String { "\(path)/\(Self.descriptionName)" }
    package var receiptPath: String { "\(path)/\(Self.receiptName)" }

    static let descriptionName = "peer.json"
    static let receiptName = "receipt.json"

    package func path<Name: PublishedName>(of kind: Name.Type) -> String { "\(path)/\(Name.folder)" }
    package func path<Name: PublishedName>(_ name: Name) -> String { "\(path)/\(Name.folder)/\(name)" }

    /// Makes this peer's folders within a content folder that is available.
    ///
    /// - Throws: as ``ContentFolder/checkAvailable()``.
    package func create() throws(LogSyncError) {
        try content.checkAvailable()
        do throws(FileSystemError) {
            let permissions = content.permissions
            try fileSystem.ensureDirectory(content.peersPath, in: content.path, permissions: permissions)
            try fileSystem.ensureOwnDirectory(path, in: content.peersPath, permissions: permissions)
            for folder in [LogFileName.folder, SchemaFileName.folder, SnapshotName.folder, BlobName.folder] {
                try fileSystem.ensureOwnDirectory("\(path)/\(folder)", in: path, permissions: permissions)
            }
        } catch {
            throw error.explained(kept: Kept.outbox, isRoot: true)
        }
    }

    /// Asks whether this peer could write into its folder, or make it, and writes nothing.
    ///
    /// - Parameter room: for how many bytes there is to be room.
    /// - Throws: as ``FileSystem/checkWritable(_:room:)``.
    package func checkWritable(room: UInt64 = 0) throws(FileSystemError) {
        let folders = [LogFileName.folder, SchemaFileName.folder, SnapshotName.folder, BlobName.folder]
        for directory in folders.map({ "\(path)/\($0)" }) { _ = try isWritable(directory, room) }
        // Where the folder is not there, the next one up will hold it.
        for directory in [path, content.peersPath, content.path] where try isWritable(directory, room) { return }
    }

    /// False where it is not there.
    private func isWritable(_ directory: String, _ room: UInt64) throws(FileSystemError) -> Bool {
        do throws(FileSystemError) {
            try fileSystem.checkWritable(directory, room: room)
            return true
        } catch let error where error.isAbsence {
            return false
        }
    }

    /// Opens a published file for reading at any offset.
    ///
    /// - Throws: ``LogSyncError/Code/ioError`` where it is not there or cannot be read;
    ///   ``LogSyncError/Code/noPermission``.
    package func open(_ name: some PublishedName) throws(LogSyncError) -> any ReadableFile {
        do throws(FileSystemError) {
            return try fileSystem.open(path(name))
        } catch {
            throw error.explained(kept: Kept.store)
        }
    }

    /// Reads a published file whole.
    ///
    /// - Throws: as ``open(_:)``, and ``LogSyncError/Code/malformedLog`` where it is longer than `limit` bytes.
    package func read(_ name: some PublishedName, limit: Int) throws(LogSyncError) -> [UInt8] {
        do throws(FileSystemError) {
            if let bytes = try fileSystem.readWhole(path(name), limit: limit) { return bytes }
        } catch {
            throw error.explained(kept: Kept.store)
        }
        throw LogSyncError(.malformedLog, "\(path(name)) is longer than \(limit) bytes; it was not read")
    }

    /// A published file as a listing has it; nil where it is not there.
    ///
    /// - Throws: ``LogSyncError/Code/ioError``, ``LogSyncError/Code/noPermission``,
    ///   ``LogSyncError/Code/containerUnavailable``.
    package func find<Name: PublishedName>(_ name: Name) throws(LogSyncError) -> FoundFile<Name>? {
        do throws(FileSystemError) {
            let status = try fileSystem.status(path(name), followingLinks: false)
            guard status.isFile else { return nil }
            return FoundFile(name: name, size: status.size, modified: status.modified, inode: status.inode)
        } catch let error where error.isAbsence {
            return nil
        } catch {
            throw error.explained(kept: Kept.outbox)
        }
    }

    /// How a published file was found when all of it was read.
    package enum Verdict: Hashable, Sendable {
        case intact
        case missing
        /// Its bytes are not the ones that its name says.
        case damaged
    }

    /// Reads a published file from end to end and compares it with its name.
    ///
    /// A file that vanishes on the way is ``Verdict/missing``; where the name has no hash, any bytes are intact. One that is
    /// longer than any of its kind is not read: room for a terabyte costs nothing to make, and an hour to read.
    ///
    /// - Parameter copy: the path of a file that is read in its stead; nil for its own.
    /// - Throws: ``LogSyncError/Code/ioError``, ``LogSyncError/Code/noPermission``,
    ///   ``LogSyncError/Code/containerUnavailable``.
    package func verify<Name: PublishedName>(_ name: Name, at copy: String? = nil) throws(LogSyncError) -> Verdict {
        do throws(FileSystemError) {
            let file = try fileSystem.open(copy ?? path(name))
            guard try file.status().size <= Name.maximumLength else { return .damaged }
            var hash = StreamingHash()
            try fileSystem.forEachChunk(of: file) { hash.update($0) }
            return name.hash == nil || name.hash == hash.value ? .intact : .damaged
        } catch let error where error.isAbsence {
            return .missing
        } catch {
            throw error.explained(kept: Kept.outbox)
        }
    }

    /// Removes a published file for good. One that is not there is no error.
    ///
    /// - Throws: as ``ContentFolder/checkAvailable()``.
    package func remove(_ name: some PublishedName) throws(LogSyncError) { try remove([name]) }

    /// Removes many, and waits for the disk once.
    ///
    /// - Throws: as ``ContentFolder/checkAvailable()``; what was removed before stays so.
    package func remove<Name: PublishedName>(_ names: [Name]) throws(LogSyncError) {
        guard let first = names.first else { return }
        try content.checkAvailable()
        var isChanged = false
        do throws(FileSystemError) {
            for name in names {
                do throws(FileSystemError) {
                    try fileSystem.remove(path(name))
                    isChanged = true
                } catch let error where error.isAbsence {
                    continue
                }
            }
            if isChanged { try fileSystem.synchronizeDirectory(path(first).parentDirectory) }
        } catch {
            throw error.explained(kept: Kept.outbox)
        }
    }
}
