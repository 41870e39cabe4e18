import Dispatch
import LogSync
import Logging

/// Serves the subscriptions of one store: prints what fires, and runs its command, one at a time.
struct SubscriptionServer: Sendable {
    let printer: EventPrinter
    let logger: Logger

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
        return await withTaskCancellationHandler {
            do {
                try await command.run(input: JSONText.line(event) + "\n")
            } catch {
                logger.error("\(LogSyncError(describing: error).description)")
            }
            return !command.isEnding
        } onCancel: {
            DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) { command.terminate() }
        }
    }
}
