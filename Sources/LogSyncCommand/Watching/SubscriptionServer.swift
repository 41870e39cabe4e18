import Dispatch
import LogSync
import Logging
import Synchronization

/// Serves the subscriptions of one store: prints what fires, and runs its command, one at a time.
struct SubscriptionServer: Sendable {
    let store: String
    let printer: EventPrinter
    let logger: Logger
    /// Called with a subscription's name where its command ended: with true where it ended with 0, with false where it did not
    /// or takes long.
    let onEnd: @Sendable (String, Bool) -> Void

    /// How long a command may go on once the daemon has been told to end.
    private static let patience = DispatchTimeInterval.seconds(5)

    /// Runs until the task is cancelled.
    func run(_ replicator: Replicator) async {
        for await event in replicator.firings() {
            guard await printer.print(event) else { return }
            if let command = event.command, await !run(command, event) { return }
            // In a task that is not cancelled: what was done is not to be done again.
            await Task {
                do {
                    try await replicator.markTold(event)
                } catch {
                    logger.error("\(LogSyncError(describing: error).description)")
                }
            }.value
        }
    }

    /// Returns whether the command came to its end; a command that failed did, too.
    private func run(_ text: String, _ event: SubscriptionEvent) async -> Bool {
        let command = ShellCommand(text)
        let name = event.subscription
        let place = "\(store): subscription \(name.debugDescription)"
        let isLate = Mutex(false)
        return await withTaskCancellationHandler {
            var failure: LogSyncError?
            do {
                failure = try await command.failure(input: JSONText.line(event) + "\n") {
                    isLate.withLock { $0 = true }
                    onEnd(name, false)
                    logger.warning(
                        """
                        \(place): the command \(text.debugDescription) has run for \
                        \(ShellCommand.longRun.components.seconds) seconds and not ended; what fires meanwhile waits for it
                        """)
                }
            } catch {
                failure = LogSyncError(describing: error)
            }
            if let failure { logger.error("\(place): \(failure.message)") }
            // That it took long has been counted.
            if failure == nil || !isLate.withLock({ $0 }) { onEnd(name, failure == nil) }
            return !command.isEnding
        } onCancel: {
            DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) { command.terminate() }
        }
    }
}
