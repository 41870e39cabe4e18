import Synchronization

/// What a running replicator is woken for.
struct Wake: OptionSet {
    let rawValue: Int
    /// The store's files were written.
    static let local = Wake(rawValue: 1)
    /// The time has come to look for a commit that was on its way.
    static let look = Wake(rawValue: 2)
    /// Something changed in the content folder.
    static let folder = Wake(rawValue: 4)
    /// Everything is to be looked at again.
    static let full = Wake(rawValue: 8)
    /// Another process asks for the store.
    static let request = Wake(rawValue: 16)
}

/// Gathers wakes, however many, until the one who is to be woken takes them.
final class Wakes: Sendable {
    /// One signal for any number of wakes that nobody has taken yet.
    let signals: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    private let pending = Mutex(Wake())

    init() {
        (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    func wake(_ wake: Wake) {
        pending.withLock { $0.formUnion(wake) }
        continuation.yield()
    }

    func take() -> Wake {
        pending.withLock { pending in
            defer { pending = [] }
            return pending
        }
    }

    /// Wakes later, unless the task is cancelled before.
    func wake(_ wake: Wake, after delay: Duration) -> Task<Void, Never> {
        Task {
            // Cancelled: nobody is to be woken any more.
            guard (try? await Task.sleep(for: delay)) != nil else { return }
            self.wake(wake)
        }
    }
}
