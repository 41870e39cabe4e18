import Dispatch
import Foundation
import LogSync
import LogSyncModel
import Logging
import ServiceLifecycle
import Synchronization

/// Runs the user's commands by which what carries the folder fetches and brings: one at a time, beside everything else.
/// Recording, publishing and importing never wait for them; what they fetch is found like anything that arrives.
final class CarrierHooks: Service {
    /// How long a command may go on once the daemon has been told to end.
    private static let patience = DispatchTimeInterval.seconds(5)
    /// After how long a publishing command that failed is run again; each time twice as long, up to the latter.
    private static let retryPauses = (first: Duration.seconds(2), last: Duration.seconds(300))

    private struct Run {
        let hook: Hook
        let command: ShellCommand
        let start = ContinuousClock.now
        /// Whether it is ended, because another command is to have its place.
        var isReplaced = false
    }

    private struct State {
        var settings: CarrierSettings
        var logger: Logger
        /// The content folders of the stores, as far as files have been published there and no command has taken them.
        var published: Set<String> = []
        /// Whether the command is to take them now.
        var isPublishDue = false
        /// After how long a command that fails now is run again.
        var retryPause = CarrierHooks.retryPauses.first
        var retry: Task<Void, Never>?
        var isScanDue = true
        var running: Run?
        var isEnding = false
        /// Makes the next scan due.
        var timer: Task<Void, Never>?

        /// The command that runs now, where the configuration has another one, or none, in its place.
        var outdated: Run? {
            running.flatMap { run in
                let text = run.hook == .beforeScan ? settings.beforeScan : settings.afterPublish
                return text == run.command.text ? nil : run
            }
        }
    }

    private let state: Mutex<State>
    private let lateAfter: Duration
    private let onEnd: @Sendable (Hook, Bool) -> Void
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    /// - Parameters:
    ///   - lateAfter: how long a command may take that the configuration has no more.
    ///   - onEnd: called where a command has ended: whether with 0 and in time.
    init(
        _ settings: CarrierSettings, logger: Logger, lateAfter: Duration = ShellCommand.longRun,
        onEnd: @escaping @Sendable (Hook, Bool) -> Void
    ) {
        self.lateAfter = lateAfter
        state = Mutex(State(settings: settings, logger: logger))
        self.onEnd = onEnd
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Runs other commands from now on. One that runs already comes to its end, unless it takes long and is another now: then
    /// it is ended, and the other begins.
    func change(to settings: CarrierSettings, logger: Logger) {
        let outdated = state.withLock { state in
            state.isScanDue = state.isScanDue || settings != state.settings
            state.settings = settings
            state.logger = logger
            return state.outdated
        }
        wake.yield()
        guard let outdated else { return }
        logger.notice(
            """
            carrier.\(outdated.hook.rawValue): the command \(outdated.command.text.debugDescription), which the configuration \
            has no more, comes to its end first; it is ended where it takes \(lateAfter.components.seconds) seconds
            """)
        Task { [weak self, lateAfter] in
            // Nobody cancels it.
            try? await Task.sleep(until: outdated.start + lateAfter, clock: .continuous)
            self?.replace(outdated)
        }
    }

    private func replace(_ run: Run) {
        let isReplaced = state.withLock { state in
            guard state.outdated?.command === run.command, state.running?.isReplaced == false else { return false }
            state.running?.isReplaced = true
            state.retryPause = Self.retryPauses.first
            return true
        }
        if isReplaced { run.command.terminate() }
    }

    /// Takes the path of a file that was put into a container or removed from one.
    func noteChange(of file: String) {
        // Only what lies in a peer's folder is published; the rest is on its way there.
        guard let peers = file.range(of: "/peers/", options: .backwards) else { return }
        noteFiles(in: String(file[..<peers.lowerBound]))
    }

    /// There may be files in a content folder that no command has taken: some were published, or a process that published
    /// some may have ended before.
    func noteFiles(in folder: String) {
        let isNews = state.withLock { state in
            guard state.settings.afterPublish != nil else { return false }
            let isNews = state.published.insert(folder).inserted || !state.isPublishDue
            state.isPublishDue = true
            return isNews
        }
        if isNews { wake.yield() }
    }

    /// Ends the command that runs now without any further grace, and lets none begin.
    func kill() {
        let running = state.withLock { state in
            state.isEnding = true
            return state.running?.command
        }
        running?.kill()
    }

    func run() async throws {
        await withGracefulShutdownHandler {
            wake.yield()
            for await _ in wakes { await runWhatIsDue() }
            // What was published last is carried, too.
            await publish()
        } onGracefulShutdown: { [self] in
            wake.finish()
            DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) { [self] in
                let running = state.withLock { state in
                    state.isEnding = true
                    return state.running?.command
                }
                running?.terminate()
            }
        }
    }

    private func runWhatIsDue() async {
        if state.withLock({ $0.isPublishDue }) { await publish() }
        let scan = state.withLock { state in
            defer { state.isScanDue = false }
            return state.isScanDue ? state.settings.beforeScan : nil
        }
        guard let scan else { return }
        await run(scan, .beforeScan, input: "")
        let interval = state.withLock { $0.settings.interval.duration }
        // The service may have ended when this is over; then nobody hears it.
        let timer = Task { [weak self] in
            // Cancelled by another that begins anew.
            guard (try? await Task.sleep(for: interval)) != nil else { return }
            self?.state.withLock { $0.isScanDue = true }
            self?.wake.yield()
        }
        state.withLock { state in
            state.timer?.cancel()
            state.timer = timer
        }
    }

    private func publish() async {
        let (command, folders) = state.withLock { state in
            defer { (state.published, state.isPublishDue) = ([], false) }
            return (state.settings.afterPublish, state.published)
        }
        guard let command, !folders.isEmpty else { return }
        if await run(command, .afterPublish, input: folders.sorted().joined(separator: "\n") + "\n") {
            return state.withLock { state in
                state.retryPause = Self.retryPauses.first
                state.retry?.cancel()
            }
        }
        let pause = state.withLock { state in
            state.published.formUnion(folders)
            defer { state.retryPause = min(state.retryPause * 2, Self.retryPauses.last) }
            return state.retryPause
        }
        // The service may have ended when this is over; then nobody hears it.
        let retry = Task { [weak self] in
            // Cancelled by a later one.
            guard (try? await Task.sleep(for: pause)) != nil else { return }
            self?.state.withLock { $0.isPublishDue = true }
            self?.wake.yield()
        }
        state.withLock { state in
            state.retry?.cancel()
            state.retry = retry
        }
    }

    /// Runs a command to its end, or to the end of the time that it is given. Returns whether it ended with 0 before that.
    @discardableResult
    private func run(_ text: String, _ hook: Hook, input: String) async -> Bool {
        let command = ShellCommand(text)
        let (mayRun, timeout) = state.withLock { state in
            if !state.isEnding { state.running = Run(hook: hook, command: command) }
            return (!state.isEnding, state.settings.timeout.duration)
        }
        guard mayRun else { return false }
        let isLate = Mutex(false)
        let limit = Task {
            // Cancelled where the command was faster.
            guard (try? await Task.sleep(for: timeout)) != nil else { return }
            isLate.withLock { $0 = true }
            command.terminate()
        }
        defer {
            limit.cancel()
            state.withLock { $0.running = nil }
        }
        do {
            try await command.run(input: input)
            onEnd(hook, true)
            return true
        } catch {
            let (isReplaced, logger) = state.withLock { ($0.running?.isReplaced ?? false, $0.logger) }
            if isReplaced {
                logger.notice(
                    "carrier.\(hook.rawValue): the command \(text.debugDescription) was ended, because the configuration has another"
                )
                return false
            }
            onEnd(hook, false)
            let why = isLate.withLock { $0 } ? "; it had taken \(timeout.components.seconds.counted("second"))" : ""
            logger.error("carrier.\(hook.rawValue): \(LogSyncError(describing: error).message)\(why)")
            return false
        }
    }
}
