import LogSyncModel
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
    /// What was published and imported is to be said in the receipt.
    static let acknowledge = Wake(rawValue: 32)
}

/// What a running replicator was woken for, and where.
struct Waking {
    var wake = Wake()
    /// The peers in whose folders something changed; nil where it may be anywhere.
    var peers: Set<PeerID>? = []
}

/// Gathers wakes, however many, until the one who is to be woken takes them.
final class Wakes: Sendable {
    /// One signal for any number of wakes that nobody has taken yet.
    let signals: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    private let pending = Mutex(Waking())

    init() {
        (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// - Parameter peer: the peer in whose folder something changed, for ``Wake/folder``; nil where it may be anywhere.
    func wake(_ wake: Wake, in peer: PeerID? = nil) {
        pending.withLock { pending in
            pending.wake.formUnion(wake)
            guard wake.contains(.folder) else { return }
            if let peer { pending.peers?.insert(peer) } else { pending.peers = nil }
        }
        continuation.yield()
    }

    func take() -> Waking {
        pending.withLock { pending in
            defer { pending = Waking() }
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
