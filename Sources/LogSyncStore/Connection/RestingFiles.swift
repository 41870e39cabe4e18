import Foundation

/// What is seen of a database's files without opening them, so that it can be told later whether anybody has written.
///
/// A write changes the time at which a file was last modified, unless it falls into the same tick of the kernel's clock as
/// the one before: so files are at rest only when the last write lies some ticks back. The index of the log, which is
/// written through memory, is not looked at: what matters is committed to the log first.
package struct RestingFiles: Equatable, Sendable {
    private struct State: Equatable {
        let device: UInt64
        let inode: UInt64
        let size: Int64
        /// In Unix nanoseconds, of which there may be more than 64 bits hold: anybody can give a file any time.
        let modified: Int128

        init?(_ path: String) {
            var status = stat()
            // `stat` opens nothing: closing a descriptor of a database would drop SQLite's locks on it.
            guard stat(path, &status) == 0 else { return nil }
            device = UInt64(status.st_dev)
            inode = UInt64(status.st_ino)
            size = Int64(status.st_size)
            modified = Int128(status.st_mtim.tv_sec) * 1_000_000_000 + Int128(status.st_mtim.tv_nsec)
        }
    }

    private var states: [String: State] = [:]

    /// What stands at a path now.
    package init(_ path: String) {
        for suffix in ["", "-wal", "-journal"] { states[suffix] = State(path + suffix) }
    }

    /// When one of them was last written, in Unix nanoseconds.
    package var lastWrite: Int128 { states.values.map(\.modified).max() ?? 0 }

    /// Whether there is a log with something in it.
    package var hasLog: Bool { (states["-wal"]?.size ?? 0) > 0 }

    /// Whether the database is the same file, whatever was written into it.
    package func isSameDatabase(as other: RestingFiles) -> Bool {
        guard let state = states[""], let other = other.states[""] else { return false }
        return state.device == other.device && state.inode == other.inode
    }
}
