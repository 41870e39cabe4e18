import Synchronization

/// Hands each value to all streams that are listened to at that moment.
final class EventHub<Element: Sendable>: Sendable {
    private struct State {
        var nextKey = 0
        var continuations: [Int: AsyncStream<Element>.Continuation] = [:]
    }

    private let state = Mutex(State())

    /// Values from now on. A listener that falls behind by more than `limit` values loses the oldest.
    func stream(limit: Int = 10_000) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: .bufferingNewest(limit))
        let key = state.withLock { state in
            state.nextKey += 1
            state.continuations[state.nextKey] = continuation
            return state.nextKey
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.continuations.removeValue(forKey: key) }
        }
        return stream
    }

    func send(_ element: Element) {
        for continuation in state.withLock({ Array($0.continuations.values) }) { continuation.yield(element) }
    }
}
