import LogSync
import Synchronization

/// Progress on stderr, on a terminal only and not before a second has passed.
final class Progress: Sendable {
    private let what: String
    private let state = Mutex<SyncProgress?>(nil)

    private init(_ what: String) {
        self.what = what
    }

    func update(_ progress: SyncProgress) {
        state.withLock { $0 = progress }
    }

    /// Runs `body` and shows how far it has come.
    static func show<Result>(
        _ what: String, in session: Session, _ body: (Progress) async throws -> Result
    ) async rethrows -> Result {
        let progress = Progress(what)
        guard Terminal.showsProgress, !session.isQuiet else { return try await body(progress) }
        let painter = Task { await progress.paint() }
        do {
            let result = try await body(progress)
            painter.cancel()
            await painter.value
            return result
        } catch {
            painter.cancel()
            await painter.value
            throw error
        }
    }

    /// Paints over one line until the task is cancelled, then clears it.
    private func paint() async {
        let start = ContinuousClock.now
        var isPainted = false
        // Cancellation is how this ends.
        while (try? await Task.sleep(for: isPainted ? .milliseconds(200) : .seconds(1))) != nil {
            let elapsed = start.duration(to: .now).components.seconds
            let count = state.withLock { $0 }.map { " \($0.imported) of \($0.total) transactions" } ?? ""
            Terminal.writeError("\r\u{1B}[K\(what)…\(count) (\(elapsed) s)")
            isPainted = true
        }
        if isPainted { Terminal.writeError("\r\u{1B}[K") }
    }
}
