import Synchronization

/// A clock that goes on only when it is asked.
final class PassingSeconds: Sendable {
    private let passed = Mutex(0)

    func next(_ seconds: Int) -> Duration {
        passed.withLock { passed in
            passed += seconds
            return .seconds(passed)
        }
    }
}
