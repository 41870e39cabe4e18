import Foundation
import LogSyncModel
import LogSyncStore

/// Where this machine keeps what it knows of its stores outside of them: one ``StateFile`` a peer, and the locks.
struct StateDirectory: Equatable {
    let path: String

    var stores: String { path + "/stores" }
    var locks: String { path + "/locks" }
    /// Where files are staged before they are published, where it is on the container's file system.
    var staging: String { path + "/staging" }

    /// What helps where this user may not write there.
    static let permissionHelp =
        "Let this user write that directory and what is in it, or mount its disk read-write; then run the command again"

    init(_ path: String) {
        self.path = StorePlace.absolute(path)
    }

    /// Where this machine keeps what it knows of a store: the directory that the store names, where that knows this very
    /// file, and otherwise this one.
    ///
    /// Programs that were given different directories would not see each other's locks, and each would take what the other
    /// does for a copy's work: the store would become another peer at nearly every step.
    ///
    /// - Throws: `noPermission` where the directory that the store names is there and may not be looked into, and where
    ///   this is root, who would leave files that the store's user may not read.
    func followed(
        _ registration: StoreRegistration, at place: StorePlace, machine: String?
    ) throws -> StateDirectory {
        guard !isOfAnotherUser(registration.peer) else { throw anothersStore(place, in: path) }
        guard let named = registration.stateDirectory, named != path else { return self }
        // What another machine, or one of which nothing is known, calls so is not this directory.
        if let machine, let former = registration.machineID, machine != former { return self }
        let other = StateDirectory(named)
        guard !other.isAnotherUsers else {
            // Only the file that was there is refused: a copy has a right to a directory of its own.
            guard registration.path == place.path, registration.inode == place.inode else { return self }
            throw anothersStore(place, in: named)
        }
        // One that cannot be read is no better than none; its own programs say so.
        guard let state = try? other.load(registration.peer), state.inode == place.inode else { return self }
        return other
    }

    private func anothersStore(_ place: StorePlace, in directory: String) -> LogSyncError {
        if let closed = StateDirectory(directory).closedToOwner { return closed }
        let owner = FileOwner.name(of: directory).map { " (\($0))" } ?? ""
        return LogSyncError(
            .noPermission,
            "\(place.path) is kept by another user\(owner): locks, and what tells it from a copy, lie in \(directory), which "
                + "is not this user's; nothing was done",
            help: "Run logsync as that user, or let this user read and write that directory")
    }

    /// Whether this is root, and another user's logsync keeps the peer here: in place of that user's files there would be
    /// root's, which that user may not read.
    private func isOfAnotherUser(_ peer: PeerID) -> Bool {
        var status = stat()
        return geteuid() == 0 && stat(path(of: peer), &status) == 0 && status.st_uid != 0
    }

    /// Whether it is closed to this user; or open only because this is root, who would leave files there that its user may
    /// not read.
    private var isAnotherUsers: Bool {
        guard access(stores, X_OK) == 0 else { return errno == EACCES }
        var status = stat()
        return geteuid() == 0 && stat(stores, &status) == 0 && status.st_uid != 0
    }

    /// Why this user's own directory is of no use to him; nil where it is, or is not his.
    private var closedToOwner: LogSyncError? {
        for directory in [path, stores, locks, staging] {
            var status = stat()
            guard let reason = FileOwner.refusal(directory, R_OK | W_OK | X_OK), reason != EROFS,
                stat(directory, &status) == 0, status.st_uid == geteuid()
            else { continue }
            return LogSyncError(
                .noPermission,
                "\(directory) may not be read, written and entered: \(String(cString: strerror(reason))); nothing was "
                    + "changed",
                help: "chmod u+rwx \(directory.asShellArgument)")
        }
        return nil
    }

    /// What keeps this user from using the directory: a part of it that is there and may not be read, written and entered, or a
    /// lock that may not be written.
    ///
    /// - Parameter lock: the name of a store's locks; nil for none.
    func closedPlace(lock: String? = nil) -> String? {
        let parts = [stores, locks, staging]
        // Where all parts are there, nothing is made beside them.
        let isWhole = parts.allSatisfy { access($0, F_OK) == 0 }
        if let reason = FileOwner.refusal(path, isWhole ? X_OK : R_OK | W_OK | X_OK), reason != EROFS { return path }
        let isClosed = { (part: String, mode: CInt) in FileOwner.refusal(part, mode).map { $0 != EROFS } ?? false }
        if let part = parts.first(where: { isClosed($0, R_OK | W_OK | X_OK) }) { return part }
        guard let lock else { return nil }
        return [".step", ".use"].map { "\(locks)/\(lock)\($0)" }.first { isClosed($0, R_OK | W_OK) }
    }

    /// A state file that this user may not read.
    var closedStateFile: String? {
        // A directory that cannot be listed is closed itself.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: stores)) ?? []
        return names.sorted().map { "\(stores)/\($0)" }.first { FileOwner.refusal($0, R_OK) != nil }
    }

    /// The error of a place that ``closedPlace(lock:)`` has found.
    func closed(_ place: String, _ reason: CInt = EACCES) -> LogSyncError {
        let owner = FileOwner.name(of: place).map { "; it is \($0)'s" } ?? ""
        return LogSyncError(
            .noPermission,
            "\(place) may not be read and written: \(String(cString: strerror(reason)))\(owner); nothing was changed",
            help: "Run logsync as its owner, or give all of the state directory to this user: sudo chown -R "
                + "\(FileOwner.name(geteuid())) \(path.asShellArgument)")
    }

    /// The inodes of the directories that ``create()`` makes; nil for one that is not there.
    var inodes: [UInt64?] {
        [stores, locks, staging].map { directory in
            var status = stat()
            return stat(directory, &status) == 0 ? UInt64(status.st_ino) : nil
        }
    }

    /// Whether one of the directories is not there, or is another than it was, made again by what needed it first.
    ///
    /// - Parameter before: what ``inodes`` were.
    func isRemoved(since before: [UInt64?]) -> Bool {
        zip(before, inodes).contains { before, now in now == nil || before != nil && now != before }
    }

    /// Makes the directories.
    ///
    /// - Throws: `cannotCreate`; `noPermission` where one that is there is closed to this user.
    func create() throws(LogSyncError) {
        if let closed = closedToOwner { throw closed }
        if let place = closedPlace() { throw closed(place) }
        do {
            for directory in [stores, locks, staging] {
                try FileManager.default.createDirectory(
                    atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            }
        } catch {
            throw LogSyncError(
                .cannotCreate,
                "the state directory \(path) could not be made: "
                    + (obstacle ?? error.localizedDescription),
                help: obstacle == nil
                    ? "Set XDG_STATE_HOME to a directory that this user may write"
                    : "Move away what is there, or set XDG_STATE_HOME to another directory that this user may write")
        }
    }

    /// What lies in the way of the directories, and is none; nil where nothing does.
    private var obstacle: String? {
        for directory in [stores, locks, staging] {
            var place = ""
            for part in directory.split(separator: "/") {
                place += "/\(part)"
                var (status, target) = (stat(), stat())
                guard lstat(place, &status) == 0 else { break }
                if stat(place, &target) != 0 { return "\(place) is a link that leads nowhere" }
                if target.st_mode & S_IFMT != S_IFDIR { return "\(place) is no directory" }
            }
        }
        return nil
    }

    func path(of peer: PeerID) -> String { "\(stores)/\(peer).json" }

    /// What tells that a state file was written: each time, another file takes its place.
    struct Version: Equatable {
        fileprivate var inode: UInt64
        fileprivate var seconds: Int
        fileprivate var nanoseconds: Int
    }

    /// nil where there is none.
    func version(of peer: PeerID) -> Version? {
        var status = stat()
        guard stat(path(of: peer), &status) == 0 else { return nil }
        return Version(
            inode: UInt64(status.st_ino), seconds: status.st_mtim.tv_sec, nanoseconds: status.st_mtim.tv_nsec)
    }

    /// The state file of a peer; nil where there is none, or none that can be decoded: a lost state file is a case of its
    /// own.
    ///
    /// - Throws: `newerFormat`; `ioError` where it is there and cannot be read; `noPermission` where this user may not.
    func load(_ peer: PeerID) throws -> StateFile? {
        let path = path(of: peer)
        let data: Data
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch  where Self.isAbsent(path) {
            return nil
        } catch {
            try checkReadable(path)
            var isDirectory: ObjCBool = false
            if FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), isDirectory.boolValue {
                throw LogSyncError(
                    .ioError,
                    "the state file \(path) could not be read: a directory is in its place; nothing was changed",
                    help: "Move it away, which nothing reads, and run the command again")
            }
            throw LogSyncError(
                .ioError,
                "the state file \(path) could not be read: \(error.localizedDescription); nothing was changed",
                help: "Check the disk")
        }
        struct Version: Decodable { var format: Int }
        // A file that is cut short or not JSON counts as lost.
        guard let version = try? JSONDecoder().decode(Version.self, from: data) else { return nil }
        guard version.format <= StateFile.currentFormat else {
            throw LogSyncError(
                .newerFormat, "the state file \(path) has format \(version.format); nothing was changed",
                help: "Install a newer logsync on this machine")
        }
        guard let state = try? JSONDecoder().decode(StateFile.self, from: data), state.peer == peer else { return nil }
        return state
    }

    /// Whether nothing is at a path, which a path that may not be looked at does not say.
    private static func isAbsent(_ path: String) -> Bool {
        guard access(path, F_OK) != 0 else { return false }
        // Before anything else is asked of the system, such as memory.
        let number = errno
        return number == ENOENT || number == ENOTDIR
    }

    /// - Throws: `noPermission` where this user may not read a file or directory, with its owner's name where that shows.
    private func checkReadable(_ file: String) throws {
        guard let reason = FileOwner.refusal(file, R_OK) else { return }
        if let closed = closedToOwner { throw closed }
        let owned = [file, stores, path].first { FileOwner.name(of: $0) != nil }
        let owner = owned.flatMap { FileOwner.name(of: $0) }.map { "; \(owned ?? file) is \($0)'s" } ?? ""
        throw LogSyncError(
            .noPermission, "\(file) may not be read: \(String(cString: strerror(reason)))\(owner); nothing was changed",
            help:
                "Run logsync as its owner, or give it to this user: sudo chown -R \(FileOwner.name(geteuid())) \(path.asShellArgument)"
        )
    }

    /// All state files that can be read, in order of their peers.
    ///
    /// - Parameter isWhole: whether one that this user may not read is not passed over.
    /// - Throws: `ioError` where the directory cannot be listed, `noPermission` where this user may not; one that is not
    ///   there has none.
    func all(isWhole: Bool = false) throws -> [StateFile] {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: stores)
        } catch  where Self.isAbsent(stores) {
            return []
        } catch {
            try checkReadable(stores)
            throw LogSyncError(
                .ioError, "the state directory \(stores) could not be listed: \(error.localizedDescription)",
                help: "Check the disk")
        }
        // One that is of a newer format, or cannot be read, is another logsync's or nobody's: its store can be asked by itself.
        return try names.filter { $0.hasSuffix(".json") }.compactMap { PeerID($0.dropLast(5)) }.sorted()
            .compactMap { peer in
                do {
                    return try load(peer)
                } catch let error as LogSyncError where isWhole && error.code == .noPermission {
                    throw error
                } catch {
                    return nil
                }
            }
    }

    /// Of each peer that a path has been the store of, as far as this machine knows.
    ///
    /// - Throws: as ``all(isWhole:)``.
    func all(at path: String) throws -> [StateFile] { try all().filter { $0.path == path } }

    /// These peers.
    func peers(at path: String) throws -> [PeerID] { try all(at: path).map(\.peer) }

    /// Writes a state file so that it survives a power loss, whole or not at all. The directories are made where they were
    /// removed.
    ///
    /// - Parameter mayBeUndone: whether a power loss may leave the former one.
    /// - Throws: `ioError`, `noPermission`, `cannotCreate`.
    func save(_ state: StateFile, mayBeUndone: Bool = false) throws {
        if access(stores, F_OK) != 0 { try create() }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        try DurableFile.write(try encoder.encode(state), to: path(of: state.peer), mayBeUndone: mayBeUndone)
    }

    func remove(_ peer: PeerID) throws {
        do {
            try FileManager.default.removeItem(atPath: path(of: peer))
        } catch CocoaError.fileNoSuchFile {
            return
        }
    }
}
