import Dispatch
import Foundation
import LogSync
import Synchronization
import UnixSignals

/// SIGINT, SIGTERM and SIGQUIT for subcommands that do one thing: the step under way is given up, what was done is kept.
enum Interruption {
    /// How long a step may take to come to its end: a few times as long as one that looks whether it is to go on. Ending
    /// any other in its middle does no harm: a store and a container can be left anywhere.
    private static let patience = DispatchTimeInterval.milliseconds(250)

    private static let isHangup = Atomic(false)

    /// Whether SIGHUP came before the daemon listened for it; says so once.
    static func takeHangup() -> Bool { isHangup.exchange(false, ordering: .relaxed) }

    /// Has a daemon hear signals from its first moment. One that ends it finds nothing begun until the daemon listens.
    static func prepareDaemon() {
        for number in [SIGTERM, SIGINT, SIGQUIT] { signal(number) { _ in _exit(0) } }
        // Makes what the handler may not make.
        _ = takeHangup()
        signal(SIGHUP) { _ in Interruption.isHangup.store(true, ordering: .relaxed) }
    }

    /// - Throws: what `body` throws; `interrupted` or `terminated` where a signal came first.
    static func watch(
        isJSON: Bool, _ body: @escaping @Sendable () async throws -> ExitStatus
    ) async throws -> ExitStatus {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm, .sigquit)
        let received = Mutex<UnixSignal?>(nil)
        let work = Task { try await body() }
        let watcher = Task {
            for await signal in signals {
                let isFirst = received.withLock { first in
                    defer { first = first ?? signal }
                    return first == nil
                }
                guard isFirst else { end(signal, isJSON) }
                work.cancel()
                DispatchQueue.global().asyncAfter(deadline: .now() + patience) { end(signal, isJSON) }
            }
        }
        defer { watcher.cancel() }
        let result = await work.result
        if let signal = received.withLock({ $0 }) { throw error(signal) }
        return try result.get()
    }

    /// Ends the process in the middle of the step, which a store and a container are made for.
    private static func end(_ signal: UnixSignal, _ isJSON: Bool) -> Never {
        let error = error(signal)
        // Only what nobody would ever look for again is cleared away.
        ScratchFolder.removeAll()
        Complaint.print(error, isJSON: isJSON)
        exit(ExitStatus(error.code).rawValue)
    }

    private static func error(_ signal: UnixSignal) -> LogSyncError {
        LogSyncError(signal == .sigint ? .interrupted : .terminated, "interrupted; what was done is kept")
    }
}

/// Runs something that blocks on a thread of its own, so that signals are still heard on a machine with one core.
func blocking<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global().async {
            continuation.resume(with: Swift.Result { try body() })
        }
    }
}
