import Foundation
import LogSyncModel
import Synchronization

/// Waits for a database that another program has locked, as SQLite's own time-out does, and says who has it where that lasts.
///
/// Source: `sqliteDefaultBusyCallback`, and <https://www.sqlite.org/c3ref/busy_handler.html>.
final class BusyWait: Sendable {
    private struct State {
        var start = ContinuousClock.now
        /// Who was said to have it, and when.
        var said: (process: Int32?, time: ContinuousClock.Instant)?
        var isSaid = false
        var isInhibited = false
    }

    private let path: String
    private let configuration: StoreConfiguration
    private let state = Mutex(State())

    /// In microseconds; the last one again and again.
    private static let pauses: [UInt32] = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100].map { $0 * 1000 }
    /// After how long it is said who has the database, and how long after that the same one is said again.
    private static let unsaid = Duration.milliseconds(1500)
    private static let repetition = Duration.seconds(60)

    init(_ path: String, _ configuration: StoreConfiguration) {
        self.path = path
        self.configuration = configuration
    }

    /// Runs `body`, in which nobody is waited for.
    func inhibited<Result>(_ body: () throws -> Result) rethrows -> Result {
        state.withLock { $0.isInhibited = true }
        defer { state.withLock { $0.isInhibited = false } }
        return try body()
    }

    /// Whether to try again, after a pause.
    ///
    /// - Parameter tries: how often it was tried again already.
    func goesOn(after tries: Int) -> Bool {
        let elapsed: Duration? = state.withLock { state in
            if state.isInhibited { return nil }
            if tries == 0 { (state.start, state.isSaid) = (.now, false) }
            return state.start.duration(to: .now)
        }
        guard let elapsed, elapsed < .seconds(configuration.busyTimeout) else { return false }
        if elapsed >= Self.unsaid { say() }
        usleep(Self.pauses[min(tries, Self.pauses.count - 1)])
        return true
    }

    private func say() {
        guard state.withLock({ !$0.isSaid }) else { return }
        let process = configuration.lockHolder(path)
        let isNews = state.withLock { state in
            state.isSaid = true
            if let said = state.said, said.process == process, said.time.duration(to: .now) < Self.repetition {
                return false
            }
            state.said = (process, .now)
            return true
        }
        if isNews { configuration.isDelayed(path, process) }
    }
}
