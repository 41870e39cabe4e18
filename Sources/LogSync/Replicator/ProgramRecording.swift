import Foundation
import GRDB
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Synchronization

/// Recording within the program's own transactions, which cannot wait for a step: by what the last step found out, and by the
/// state file where another process has written that since.
final class ProgramRecording: Sendable {
    private enum State {
        /// No step has found out which peer the store is.
        case unknown
        /// The database is no store yet, and all that it holds is recorded when it becomes one; or it has left, and is none
        /// any more.
        case unfounded
        case expected(Expectation)
    }

    private struct Expectation {
        var store: ExpectedStore
        var directory: StateDirectory
        /// The state file that says so.
        var file: FileMark?
        /// Its path.
        var path: String

        init(_ store: ExpectedStore, _ directory: StateDirectory, _ file: FileMark?) {
            (self.store, self.directory, self.file) = (store, directory, file)
            path = directory.path(of: store.peer)
        }
    }

    private let recording: EmbeddedRecording
    private let state = Mutex(State.unknown)

    init(_ configuration: StoreConfiguration) { recording = EmbeddedRecording(configuration) }

    // MARK: Which store it is

    /// Within a step: so no other process writes the state file.
    ///
    /// - Parameter settles: false where it is only what was expected before that may have moved on.
    func expect(_ file: StateFile, in directory: StateDirectory, settles: Bool) {
        let mark = FileMark(directory.path(of: file.peer))
        state.withLock {
            switch $0 {
            case .expected(let former) where former.file == mark && former.store.peer == file.peer: return
            case .unknown, .unfounded: guard settles else { return }
            case .expected: break
            }
            $0 = .expected(Expectation(file.expected, directory, mark))
        }
    }

    /// The peer that the store is expected to be; nil where that is not known.
    var peer: PeerID? {
        state.withLock { if case .expected(let expected) = $0 { expected.store.peer } else { nil } }
    }

    func expectFounding() { state.withLock { $0 = .unfounded } }

    func expectNothing() { state.withLock { $0 = .unknown } }

    /// What is expected of the store that is written; nil where it is none.
    ///
    /// - Throws: `locked` where that is not known.
    private func expected() throws -> ExpectedStore? {
        let expectation: Expectation
        switch state.withLock({ $0 }) {
        case .unfounded: return nil
        case .unknown:
            throw LogSyncError(
                .locked, "nothing was recorded: this replicator does not know yet which peer the store is",
                help: "Open it by Replicator.open, or sync once before")
        case .expected(let known): expectation = known
        }
        let peer = expectation.store.peer
        let mark = FileMark(expectation.path)
        // Another process has recorded: a database that was restored since is behind that. One that is lost says nothing.
        guard mark != expectation.file, let file = try? expectation.directory.load(peer),
            file.inode == expectation.store.inode
        else { return expectation.store }
        let now = file.expected
        state.withLock {
            guard case .expected(let latest) = $0, latest.store.peer == peer, latest.file == expectation.file else {
                return
            }
            $0 = .expected(Expectation(now, expectation.directory, mark))
        }
        return now
    }

    // MARK: Recording

    func record(_ db: Database, author: String?, context: String?) throws {
        guard let expected = try expected() else { return }
        try recording.record(on: db, expected, author: author, context: context)
    }

    /// - Parameter isUndone: whether the program's transaction is undone where this throws.
    func record<Result>(
        _ db: Database, author: String?, context: String?, isUndone: Bool = false, _ updates: () throws -> Result
    ) throws -> Result {
        guard let expected = try expected() else { return try updates() }
        return try recording.record(
            on: db, expected, author: author, context: context, isUndone: isUndone, updates)
    }
}

/// Tells whether a file that is put in place whole is another one now.
struct FileMark: Equatable {
    private let inode: UInt64
    private let seconds: Int
    private let nanoseconds: Int

    /// nil where there is no file.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        inode = UInt64(status.st_ino)
        (seconds, nanoseconds) = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
    }
}
