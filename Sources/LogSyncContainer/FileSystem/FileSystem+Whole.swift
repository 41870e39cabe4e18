import Glibc

extension FileSystem {
    /// Reads a small file. Returns nil where it is longer than `limit`.
    func readWhole(_ path: String, limit: Int) throws(FileSystemError) -> [UInt8]? {
        let bytes = try open(path).read(at: 0, count: limit + 1)
        return bytes.count <= limit ? bytes : nil
    }

    /// Makes one directory of a peer's own, as ``ensureDirectory(_:in:permissions:)`` does. What else has its name is renamed,
    /// so that nobody can keep the peer from publishing, and so from importing, by putting something there.
    func ensureOwnDirectory(
        _ path: String, in parent: String, permissions: FilePermissions
    ) throws(FileSystemError) {
        if let status = try? status(path, followingLinks: false), !status.isDirectory {
            try moveAside(path, as: "no directory")
        }
        try ensureDirectory(path, in: parent, permissions: permissions)
    }

    /// Gives something another name, beside its own, that is free: who can put things here may have taken one already,
    /// and what a file is renamed to would be gone.
    ///
    /// - Parameter what: what it is, or is not, for people who find it.
    private func moveAside(_ path: String, as what: String) throws(FileSystemError) {
        let names = (1...1000).lazy.map { $0 == 1 ? "\(path) (\(what))" : "\(path) (\(what) \($0))" }
        guard let free = names.first(where: { (try? status($0, followingLinks: false)) == nil }) else {
            throw FileSystemError("rename", path, number: EEXIST)
        }
        try rename(path, to: free)
    }

    /// Makes one directory, or finds it made, and makes that last. Its parent has to be there.
    func ensureDirectory(
        _ path: String, in parent: String, permissions: FilePermissions
    ) throws(FileSystemError) {
        do throws(FileSystemError) {
            try makeDirectory(path, permissions: permissions)
        } catch let error where error.number == EEXIST {
            let status = try status(path, followingLinks: false)
            guard status.isDirectory else {
                throw FileSystemError("create", path, number: EEXIST, found: "\(status.kind.name) is in its place")
            }
            return
        }
        try synchronizeDirectory(parent)
    }

    /// Replaces a small file atomically: a reader sees the old bytes or the new.
    ///
    /// A directory that has the file's name is renamed, so that nobody can keep the file from being written by making one.
    ///
    /// - Parameter staging: where to write first, in the same directory; whatever was left there is removed.
    func replaceFile(
        _ path: String, with bytes: [UInt8], staging: String, permissions: FilePermissions
    ) throws(FileSystemError) {
        removeIfPresent(staging)
        do throws(FileSystemError) {
            let file = try create(staging, permissions: permissions)
            try file.write(bytes)
            try file.synchronize()
            try file.close()
            try place(staging, at: path)
        } catch {
            removeIfPresent(staging)
            throw error
        }
        try synchronizeDirectory(path.parentDirectory)
    }

    /// Renames a file to its place. A directory that is there goes where it is empty, and is renamed where it is not.
    func place(_ staged: String, at path: String) throws(FileSystemError) {
        do throws(FileSystemError) {
            try rename(staged, to: path)
        } catch let error where [EISDIR, ENOTEMPTY, EEXIST].contains(error.number) {
            do throws(FileSystemError) { try removeDirectory(path) } catch { try moveAside(path, as: "directory") }
            try rename(staged, to: path)
        }
    }

    /// Tidies up after a failure, where a second failure would only hide the first.
    func removeIfPresent(_ path: String) {
        try? remove(path)
    }

    /// Feeds a file's bytes to `body`, at most a mebibyte at a time.
    func forEachChunk(of file: any ReadableFile, _ body: ([UInt8]) -> Void) throws(FileSystemError) {
        var offset: UInt64 = 0
        while true {
            let chunk = try file.read(at: offset, count: 1 << 20)
            if chunk.isEmpty { return }
            body(chunk)
            offset += UInt64(chunk.count)
        }
    }
}

extension String {
    /// The path up to the last slash.
    var parentDirectory: String {
        guard let slash = lastIndex(of: "/") else { return "." }
        return slash == startIndex ? "/" : String(self[..<slash])
    }

    /// What follows the last slash.
    var lastComponent: String { lastIndex(of: "/").map { String(self[index(after: $0)...]) } ?? self }
}
