import Foundation
import ServiceLifecycle

/// Tells systemd's watchdog again and again that the daemon is alive: from the threads that serve events and stores, so that
/// it falls silent with them. A store whose disk or folder hangs has a thread of its own, and keeps nobody from being alive.
///
/// Source: <https://www.freedesktop.org/software/systemd/man/latest/sd_watchdog_enabled.html>.
struct Watchdog: Service {
    private let interval: Duration
    private let readiness: Readiness

    /// Nil where systemd does not ask for it.
    init?(_ readiness: Readiness, environment: [String: String] = ProcessInfo.processInfo.environment) {
        guard let microseconds = environment["WATCHDOG_USEC"].flatMap({ Int64($0) }), microseconds > 0,
            environment["WATCHDOG_PID"].map({ $0 == "\(getpid())" }) ?? true
        else { return nil }
        interval = .microseconds(microseconds) / 2
        self.readiness = readiness
    }

    func run() async throws {
        let (interval, readiness) = (interval, readiness)
        let pings = AsyncStream<Void> {
            readiness.ping()
            // Cancelled when the daemon is told to end.
            try? await Task.sleep(for: interval)
            return Task.isCancelled ? nil : ()
        }
        for await _ in pings.cancelOnGracefulShutdown() {}
    }
}
