import Foundation

/// Which file a store's path leads to, so that a store which is given by several names is told to be one.
struct StoreFile {
    /// Without links; a path to nothing is itself.
    private let path: String
    /// nil where nothing is there.
    private let file: (device: UInt64, inode: UInt64)?
    /// Of the directory that the file is in, where SQLite keeps its log.
    private let directory: (device: UInt64, inode: UInt64)?

    init(_ path: String) {
        let resolved = realpath(path, nil)
        defer { free(resolved) }
        self.path = resolved.map { String(cString: $0) } ?? path
        file = Self.file(self.path)
        directory = Self.file(URL(fileURLWithPath: self.path).deletingLastPathComponent().path)
    }

    func isSame(as other: StoreFile) -> Bool {
        guard let file, let known = other.file else { return path == other.path }
        return file == known
    }

    /// Whether it is the same file by another name of its own, beside which SQLite keeps another log. A folder that is mounted
    /// twice has one log by both its names.
    ///
    /// Source: <https://www.sqlite.org/howtocorrupt.html>, multiple links to the same file.
    func isHardLink(of other: StoreFile) -> Bool {
        guard let file, let known = other.file, let directory, let place = other.directory else { return false }
        let name = URL(fileURLWithPath: path).lastPathComponent
        return file == known && (directory != place || name != URL(fileURLWithPath: other.path).lastPathComponent)
    }

    private static func file(_ path: String) -> (device: UInt64, inode: UInt64)? {
        var status = stat()
        return stat(path, &status) == 0 ? (UInt64(status.st_dev), UInt64(status.st_ino)) : nil
    }
}
