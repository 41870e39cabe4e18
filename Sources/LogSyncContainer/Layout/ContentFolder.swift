import Glibc

package import LogSyncModel

/// One content's folder in a container: `CONTAINER/CONTENT-NAME`.
///
/// Only ``create(rewritingMarker:)`` makes the folder, and nothing ever makes the container itself: a path that is not
/// there is an unmounted or wiped folder far more often than a new one, and writing into it would hide that.
package struct ContentFolder: Sendable {
    package let fileSystem: any FileSystem
    /// The shared folder. May be a symbolic link; nothing below it may.
    package let container: String
    package let name: ContentName
    package let purpose: Purpose
    /// Of the files that are made in it; its directories' go with them.
    package let permissions: FilePermissions

    /// What the folder is wanted for: it decides what errors say was kept, and what helps.
    package enum Purpose: Sendable {
        /// A store replicates through it.
        case replication
        /// A store is to be made; there is none yet.
        case founding
        /// It is to be removed; there is no store to speak of.
        case removal
    }

    /// - Parameter permissions: no wider than those of the store that is published.
    package init(
        container: String, name: ContentName, fileSystem: any FileSystem = PosixFileSystem(),
        purpose: Purpose = .replication, permissions: FilePermissions = .all
    ) {
        self.container = container
        self.name = name
        self.fileSystem = fileSystem.beneath(container)
        self.purpose = purpose
        self.permissions = permissions
    }

    package var path: String { "\(container)/\(name)" }
    package var markerPath: String { "\(path)/\(Self.markerName)" }
    package var peersPath: String { "\(path)/\(Self.peersName)" }

    static let markerName = "logsync.json"
    package static let peersName = "peers"

    package func peer(_ id: PeerID) -> PeerFolder { PeerFolder(content: self, id: id) }

    /// Whether the folder already has its marker, so that `init` would join.
    ///
    /// - Throws: as ``checkAvailable()``, except where only the folder or its marker is missing;
    ///   ``LogSyncError/Code/configuration`` where it would lie within another content's folder.
    package func exists() throws(LogSyncError) -> Bool {
        try checkContainer()
        guard try markerState() != .missing else {
            try checkIsNoContent()
            return false
        }
        try checkAvailable()
        return true
    }

    /// The advice where the container is a content's folder or lies in one, and the one around that was meant; nil where it
    /// does not.
    private var containerAround: String? {
        var content = container
        while true {
            let marker = try? fileSystem.status("\(content)/\(Self.markerName)", followingLinks: false)
            let around = String(content.dropLast(content.lastComponent.count + 1))
            if marker?.isFile ?? false {
                let what =
                    content == container
                    ? "is the folder of a content itself" : "lies in \(content), the folder of a content"
                return "\(container) \(what), not the shared folder around it: give "
                    + "--container \((around.isEmpty ? "." : around).asShellArgument) --content \(content.lastComponent.asShellArgument)"
            }
            guard !around.isEmpty else { return nil }
            content = around
        }
    }

    /// A content within another's folder is one that nobody looks for.
    private func checkIsNoContent() throws(LogSyncError) {
        guard let containerAround else { return }
        throw LogSyncError(
            .configuration, "\(path) would lie within the folder of another content; \(purpose.kept)",
            help: containerAround, subject: .container(container))
    }

    /// Makes the folder and its marker within an existing container, or finds them made.
    ///
    /// - Parameter rewritingMarker: whether a marker that cannot be read is written anew; for `rebuild` only.
    /// - Throws: ``LogSyncError/Code/containerUnavailable`` where the container is not there or the marker cannot be
    ///   read; ``LogSyncError/Code/newerFormat``; ``LogSyncError/Code/configuration`` where the marker names another
    ///   content, or where it would lie within another content's folder; ``LogSyncError/Code/noPermission``;
    ///   ``LogSyncError/Code/ioError``.
    package func create(rewritingMarker: Bool = false) throws(LogSyncError) {
        try checkContainer()
        if (try? fileSystem.status(path, followingLinks: false)) == nil { try checkIsNoContent() }
        do throws(FileSystemError) {
            try fileSystem.ensureDirectory(path, in: container, permissions: permissions)
            let state = try readMarker()
            if state == .missing || (rewritingMarker && state == .unreadable) { try writeMarker() }
            try fileSystem.ensureDirectory(peersPath, in: path, permissions: permissions)
        } catch {
            throw error.explained(kept: Kept.store)
        }
        try checkAvailable()
        removeStagedMarkers()
    }

    /// Writes the marker, or finds that another peer has just done so.
    private func writeMarker() throws(FileSystemError) {
        do throws(FileSystemError) {
            try fileSystem.replaceFile(
                markerPath, with: Marker(content: name).bytes, staging: "\(path)/\(StagingName.marker())",
                permissions: permissions)
        } catch let error where error.number == ENOENT {
            // A process that finds a good marker removes what others staged.
            guard try readMarker() == .valid else { throw error }
            try fileSystem.synchronizeDirectory(path)
        }
    }

    /// Removes what killed processes have left of the marker. A process that is only about to rename its own finds this one instead.
    private func removeStagedMarkers() {
        // What cannot be listed stays; nobody reads it.
        let entries = (try? fileSystem.list(path, statuses: false)) ?? []
        for entry in entries where StagingName.isStagedMarker(entry.name) {
            fileSystem.removeIfPresent("\(path)/\(entry.name)")
        }
    }

    /// Checks that the container is there and is the right one. Nothing is to be written, and nothing concluded from
    /// what is missing, unless this returns.
    ///
    /// - Throws: ``LogSyncError/Code/containerUnavailable`` where the container, the folder or its marker is not there
    ///   or the marker cannot be read (yet); ``LogSyncError/Code/newerFormat`` where a newer logsync wrote it;
    ///   ``LogSyncError/Code/configuration`` where it belongs to another content;
    ///   ``LogSyncError/Code/noPermission``; ``LogSyncError/Code/ioError``.
    package func checkAvailable() throws(LogSyncError) {
        try checkContainer()
        switch try markerState() {
        case .valid: return
        case .missing:
            throw LogSyncError(
                .containerUnavailable,
                "\(path) has no marker (\(Self.markerName)): it is unmounted, wiped or not yet "
                    + "delivered; \(purpose.kept)", help: contentsHint + purpose.unavailableHelp,
                subject: .container(path))
        case .unreadable:
            throw LogSyncError(
                .containerUnavailable, "\(markerPath) is incomplete or damaged; \(purpose.kept)",
                help: "Wait for the sync engine to deliver it; logsync rebuild writes it anew from a store of it",
                subject: .container(path))
        case .otherContent(let other):
            throw LogSyncError(
                .configuration,
                "\(path) belongs to the content \(other.debugDescription), not to "
                    + "\"\(name)\"; \(purpose.kept)", help: purpose.otherContentHelp,
                subject: .container(path))
        case .newer(let format):
            throw LogSyncError(
                .newerFormat,
                "\(path) has format \(format), this logsync knows \(Marker.currentFormat); \(purpose.kept)",
                help: "Install a newer logsync on this machine", subject: .container(path))
        }
    }

    /// The contents that are in the container, where this one is not, or the container that was meant; empty where there
    /// are none.
    private var contentsHint: String {
        if let containerAround { return containerAround + ". " }
        let limit = 10
        // A container that cannot be listed has been looked at before, and says nothing of its contents.
        let entries = (try? fileSystem.list(container, statuses: false)) ?? []
        let names = entries.compactMap { ContentName($0.name) }.filter { other in
            other != name
                && (try? fileSystem.status("\(container)/\(other)/\(Self.markerName)", followingLinks: false))?.isFile
                    ?? false
        }.map(\.description).sorted()
        guard !names.isEmpty else { return "" }
        let shown = names.prefix(limit).joined(separator: ", ") + (names.count > limit ? ", …" : "")
        let nearest = name.description.nearest(among: names).map { ": did you mean \($0.debugDescription)?" } ?? "."
        return "The contents in \(container) are \(shown)\(nearest) "
    }

    /// The folders beside this one, by name, whose markers say that they are this content.
    package func copies() -> [String] {
        // What cannot be looked at may be anything.
        let entries = (try? fileSystem.list(container, statuses: false)) ?? []
        return entries.map(\.name).filter { other in
            guard other != name.description,
                let bytes = try? fileSystem.readWhole(
                    "\(container)/\(other)/\(Self.markerName)", limit: Marker.maximumLength)
            else { return false }
            return Marker.State(reading: bytes, content: name) == .valid
        }.sorted()
    }

    private func checkContainer() throws(LogSyncError) {
        do throws(FileSystemError) {
            let status = try fileSystem.status(container, followingLinks: true)
            guard status.isDirectory else { throw FileSystemError("open", container, number: ENOTDIR) }
        } catch {
            throw error.explained(kept: purpose.kept, isRoot: true, unavailableHelp: purpose.unavailableHelp)
        }
    }

    private func markerState() throws(LogSyncError) -> Marker.State {
        do throws(FileSystemError) {
            return try readMarker()
        } catch {
            throw error.explained(kept: purpose.kept, isRoot: true, unavailableHelp: purpose.unavailableHelp)
        }
    }

    private func readMarker() throws(FileSystemError) -> Marker.State {
        do throws(FileSystemError) {
            guard try fileSystem.status(path, followingLinks: false).isDirectory else {
                throw FileSystemError("open", path, number: ENOTDIR)
            }
            return Marker.State(
                reading: try fileSystem.readWhole(markerPath, limit: Marker.maximumLength), content: name)
        } catch let error where error.number == ENOENT {
            return .missing
        }
    }
}

extension ContentFolder.Purpose {
    var kept: String {
        switch self {
        case .replication: Kept.outbox
        case .founding: "nothing was done"
        case .removal: "nothing was removed"
        }
    }

    var unavailableHelp: String {
        switch self {
        case .replication: FileSystemError.unavailableHelp
        case .founding:
            "Mount it, wait for its sync engine to deliver it, or give the shared folder that is meant with --container"
        case .removal: "Mount it, or give the shared folder that is meant with --container"
        }
    }

    var otherContentHelp: String {
        switch self {
        case .replication: "logsync attach names the folder that is meant"
        case .founding, .removal: "Give the folder and the content that are meant with --container and --content"
        }
    }
}
