import Dispatch
import Foundation
import LogSync
import Synchronization

/// Writes to a standard stream for a daemon, whose replication is not to wait until a program reads it.
///
/// A file takes what is written at once, or says that its disk is full. A pipe, a terminal or a socket does so as long as it is
/// read: for these a thread writes, and what it has not come to yet is kept, up to a limit. At the limit whatever comes is
/// left out and counted, until all that was kept has been written; then the stream says how much is missing in this place.
final class OutputWriter: Sendable {
    private struct Entry {
        var bytes: [UInt8]
        /// Hears whether it was written; nil where nobody waits for that.
        var waiter: AsyncStream<Result<Void, LogSyncError>>.Continuation?
        var number = 0
    }

    private struct State {
        /// The first one may be half written.
        var entries: [Entry] = []
        var bytes = 0
        var isRunning = false
        /// How many were left out since the limit was reached.
        var omitted = 0
        /// Numbers the entries that are waited for.
        var count = 0
    }

    static let usualLimit = 16 << 20

    private let descriptor: CInt
    private let limit: Int
    private let isFile: Bool
    private let notice: @Sendable (Int) -> String
    private let onOmission: @Sendable () -> Void
    private let onFailure: @Sendable (LogSyncError) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - limit: how many bytes are kept at the most.
    ///   - notice: what the stream says where that many entries were left out.
    ///   - onOmission: called when the limit is reached.
    ///   - onFailure: called where the thread could not write; what it was to write is lost.
    init(
        _ descriptor: CInt, limit: Int = OutputWriter.usualLimit, notice: @escaping @Sendable (Int) -> String,
        onOmission: @escaping @Sendable () -> Void = {},
        onFailure: @escaping @Sendable (LogSyncError) -> Void = { _ in }
    ) {
        self.descriptor = descriptor
        self.limit = limit
        isFile = Terminal.isFile(descriptor)
        self.notice = notice
        self.onOmission = onOmission
        self.onFailure = onFailure
    }

    /// Has bytes written, or left out where too many wait.
    ///
    /// - Throws: as ``Terminal/write(_:to:)``, where it is a file.
    func write(_ bytes: [UInt8]) throws {
        if isFile { return try Terminal.write(bytes, to: descriptor) }
        let beginsOmission = state.withLock { state in
            guard state.omitted == 0, state.entries.isEmpty || state.bytes + bytes.count <= limit else {
                state.omitted += 1
                return state.omitted == 1
            }
            append(Entry(bytes: bytes), to: &state)
            return false
        }
        if beginsOmission { onOmission() }
    }

    /// Has bytes written, however many wait, and returns when that is done.
    ///
    /// - Returns: whether it is; false where the task was cancelled before.
    /// - Throws: as ``Terminal/write(_:to:)``.
    func deliver(_ bytes: [UInt8]) async throws -> Bool {
        if isFile {
            try Terminal.write(bytes, to: descriptor)
            return true
        }
        let (ends, end) = AsyncStream.makeStream(of: Result<Void, LogSyncError>.self)
        let number = state.withLock { state in
            state.count += 1
            append(Entry(bytes: bytes, waiter: end, number: state.count), to: &state)
            return state.count
        }
        for await result in ends {
            try result.get()
            return true
        }
        state.withLock { state in
            // The first one is being written.
            guard let place = state.entries.dropFirst().firstIndex(where: { $0.number == number }) else { return }
            state.bytes -= state.entries.remove(at: place).bytes.count
        }
        return false
    }

    /// Has a line written; as ``deliver(_:)-([UInt8])``.
    func deliver(_ line: String) async throws { _ = try await deliver(Array((line + "\n").utf8)) }

    /// Waits until everything is written, or that many seconds have passed.
    func finish(within seconds: Double) {
        let deadline = Date(timeIntervalSinceNow: seconds)
        while state.withLock({ $0.isRunning }), Date() < deadline { Thread.sleep(forTimeInterval: 0.005) }
    }

    private func append(_ entry: Entry, to state: inout State) {
        state.entries.append(entry)
        state.bytes += entry.bytes.count
        guard !state.isRunning else { return }
        state.isRunning = true
        // Not a thread of Swift's or of Dispatch's: there are only so many of these, and this one may wait for days.
        Thread.detachNewThread { [self] in run() }
    }

    /// Runs on a thread of its own until everything is written.
    private func run() {
        while let entry = next() {
            do {
                try Terminal.write(entry.bytes, to: descriptor)
                entry.waiter?.yield(.success(()))
            } catch {
                let error = LogSyncError(describing: error)
                onFailure(error)
                entry.waiter?.yield(.failure(error))
            }
            state.withLock { state in
                state.bytes -= state.entries.removeFirst().bytes.count
            }
        }
    }

    /// What is to be written next; nil where nothing is, and the thread ends.
    private func next() -> Entry? {
        state.withLock { state in
            if state.entries.isEmpty, state.omitted > 0 {
                let bytes = Array(notice(state.omitted).utf8)
                state.entries.append(Entry(bytes: bytes))
                state.bytes += bytes.count
                state.omitted = 0
            }
            state.isRunning = !state.entries.isEmpty
            return state.entries.first
        }
    }
}
