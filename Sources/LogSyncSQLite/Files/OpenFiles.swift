import CLogSyncSQLite
import Foundation
import GRDBSQLite
import LogSyncModel

/// Which files a connection has open: the database, its write-ahead log and the index of that log.
///
/// SQLite finds the log and its index by name when a connection first reads, and never looks again. Where a program
/// restores a database by renaming its files into place one after the other, a connection may have opened the database
/// before the log was back: the log at the path is then another file than the one that the connection reads, writes and,
/// as the last one that closes, copies over the database, and with it over whatever the other programs had committed. So
/// these files are compared with the paths after each beginning of a write transaction and before closing.
///
/// While a connection is open in WAL mode nothing but such a replacement makes a name lead to another file: SQLite removes
/// a log only when nobody has its database open, or together with the mode.
/// Sources: <https://www.sqlite.org/howtocorrupt.html>, section 4; <https://www.sqlite.org/wal.html>.
package struct OpenFiles: Sendable {
    /// A file, whatever its name.
    private struct FileID: Equatable {
        let device: UInt64
        let inode: UInt64

        /// What a path leads to; nil where there is nothing.
        init?(_ path: String) {
            var status = stat()
            // `stat` opens nothing: closing a descriptor of a database would drop SQLite's locks on it.
            guard stat(path, &status) == 0 else { return nil }
            device = UInt64(status.st_dev)
            inode = UInt64(status.st_ino)
        }
    }

    private let path: String
    private let database: FileID?
    /// The log and its index; nil where there were none yet.
    private var besides: [String: FileID]

    private static let suffixes = ["-wal", "-shm"]

    /// What stands at a path now.
    package init(_ path: String) {
        self.path = path
        database = FileID(path)
        besides = Self.besides(path)
    }

    private static func besides(_ path: String) -> [String: FileID] {
        suffixes.reduce(into: [:]) { $0[path + $1] = FileID(path + $1) }
    }

    /// Whether everything that stood at the paths earlier still does.
    package func include(_ earlier: OpenFiles) -> Bool {
        (earlier.database == nil || earlier.database == database)
            && earlier.besides.allSatisfy { besides[$0.key] == $0.value }
    }

    /// The path of a file that is open and is not the one at that path any more; nil where there is none.
    ///
    /// - Parameter isLogged: whether the connection has a write-ahead log; asked only where it matters.
    package mutating func displaced(isLogged: () throws -> Bool) rethrows -> String? {
        guard FileID(path) == database else { return path }
        let now = Self.besides(path)
        guard now != besides else { return nil }
        let gone = besides.keys.sorted().first { now[$0] != besides[$0] }
        if let gone, try isLogged() { return gone }
        // The journal's mode was changed, or the log made only now.
        besides = now
        return nil
    }

    /// Whether another database stands at the path by now, and the log that is open still beside it, with something in it.
    func leavesLog() -> Bool {
        guard let database, let now = FileID(path), now != database, besides.count == Self.suffixes.count else {
            return false
        }
        var status = stat()
        return Self.besides(path) == besides && stat(path + "-wal", &status) == 0 && status.st_size > 0
    }

    /// The database that is open, whatever its name, for reading; nil where it cannot be had.
    func openFormer() -> Int32? {
        let descriptors = "/proc/self/fd"
        for name in (try? FileManager.default.contentsOfDirectory(atPath: descriptors)) ?? [] {
            guard FileID("\(descriptors)/\(name)") == database else { continue }
            let file = open("\(descriptors)/\(name)", O_RDONLY | O_CLOEXEC)
            return file >= 0 ? file : nil
        }
        return nil
    }

    /// The log that these files leave beside another database (``StrandedLog``); nil for none.
    package func strandedLog() -> StrandedLog? { StrandedLog(path, self) }
}

extension Connection {
    /// Whether changes go to a write-ahead log.
    package var isLogged: Bool {
        get throws { try scalar("PRAGMA journal_mode") == .text("wal") }
    }

    /// Has the transaction that is about to be committed raise the database's change counter, which is on its first page.
    ///
    /// A program that has read, and then takes the log away by `PRAGMA journal_mode`, tells by that counter alone whether the
    /// pages that it has in memory are still the database's: where it stands still, the program writes them over what others
    /// have committed. With a log SQLite raises it only where the transaction has changed the first page, and there is no call
    /// for that; giving the program's own number the value that it has changes that page and nothing else.
    ///
    /// SQLite counts from what it has last read of that page, and a connection does not read again what it has committed
    /// itself, so that its next commit would have the same number. Undoing a change of the page has it look there.
    ///
    /// Source: <https://www.sqlite.org/fileformat2.html#file_change_counter>; `pager_write_changecounter` and
    /// `pager_playback_one_page` in <https://www.sqlite.org/src/file?name=src/pager.c>.
    package func countChange() throws {
        let change = "PRAGMA user_version = \(try integer("PRAGMA user_version") ?? 0)"
        let name = "logsync_count"
        for statement in ["SAVEPOINT \(name)", change, "ROLLBACK TO \(name)", "RELEASE \(name)", change] {
            try run(statement)
        }
    }

    /// Copies the log into the database and empties it, where nobody reads or writes it. It waits for nobody as long as the
    /// connection has no busy handler that does.
    ///
    /// - Returns: whether it is empty.
    /// - Throws: `ioError`, `diskFull` as SQLite has it.
    /// Source: <https://www.sqlite.org/c3ref/wal_checkpoint_v2.html>.
    package func emptyLog() throws -> Bool {
        // The first copies and synchronizes while programs write; only where all has been copied, the second has next to
        // nothing to do, and keeps writers out for no longer.
        for mode in [SQLITE_CHECKPOINT_PASSIVE, SQLITE_CHECKPOINT_TRUNCATE] {
            var (frames, copied): (Int32, Int32) = (0, 0)
            let code = sqlite3_wal_checkpoint_v2(handle, "main", mode, &frames, &copied)
            if code & 0xFF == SQLITE_BUSY || code & 0xFF == SQLITE_LOCKED { return false }
            guard code == SQLITE_OK else { throw failure(code, "PRAGMA wal_checkpoint") }
            guard frames == copied else { return false }
        }
        return true
    }

    /// Has the database for this connection alone, which is to be closed next, and says whether it does: nobody else has it
    /// open then, nor opens it, until SQLite has removed the log, which it does by name.
    package func lockAlone() -> Bool { logsync_lock_alone(handle) == SQLITE_OK }

    /// Gives that back, where the connection could not be closed.
    package func unlockAlone() { logsync_unlock_alone(handle) }

    /// Leaves the database and its log as they are when the connection closes, the last one too.
    /// Source: <https://www.sqlite.org/c3ref/c_dbconfig_defensive.html>.
    package func disableCheckpointOnClose() throws {
        var state: Int32 = 0
        let code = logsync_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, &state)
        guard code == SQLITE_OK else { throw failure(code, "SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE") }
    }
}
