import LogSyncModel
import Synchronization

/// What a running replicator is woken for.
struct WakeReasons: OptionSet {
    let rawValue: Int
    /// The store's files were written.
    static let local = WakeReasons(rawValue: 1)
    /// The time has come to look for a commit that was on its way.
    static let commit = WakeReasons(rawValue: 2)
    /// Something changed in the content folder.
    static let folder = WakeReasons(rawValue: 4)
    /// Everything is to be looked at again.
    static let full = WakeReasons(rawValue: 8)
    /// Another process asks for the store.
    static let request = WakeReasons(rawValue: 16)
    /// What was published and imported is to be said in the receipt.
    static let acknowledge = WakeReasons(rawValue: 32)
    /// Nothing has happened for a while: the store's files may be let go of.
    static let rest = WakeReasons(rawValue: 64)
    /// So much was published that the own folder is to be maintained.
    static let maintenance = WakeReasons(rawValue: 128)
}

/// What a running replicator was woken for, and where.
struct Wake {
    var reasons = WakeReasons()
    /// The peers in whose folders something changed; nil where it may be anywhere.
    var peers: Set<PeerID>? = []

    /// Leaves out what happened in the folder of one peer.
    mutating func leaveOut(_ peer: PeerID) {
        guard peers?.remove(peer) != nil, peers?.isEmpty ?? false else { return }
        reasons.remove(.folder)
    }
}

/// Gathers wakes, however many, until the running replicator takes them as one.
final class WakeQueue: Sendable {
    /// One signal for any number of wakes that were not taken yet.
    let signals: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    private let pending = Mutex(Wake())

    init() {
        (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// - Parameter peer: the peer in whose folder something changed, for ``WakeReasons/folder``; nil where it may be anywhere.
    func wake(_ reasons: WakeReasons, in peer: PeerID? = nil) {
        pending.withLock { pending in
            pending.reasons.formUnion(reasons)
            guard reasons.contains(.folder) else { return }
            if let peer { pending.peers?.insert(peer) } else { pending.peers = nil }
        }
        continuation.yield()
    }

    func take() -> Wake {
        pending.withLock { pending in
            defer { pending = Wake() }
            return pending
        }
    }

    /// Wakes later, unless the task is cancelled before.
    func wake(_ reasons: WakeReasons, after delay: Duration) -> Task<Void, Never> {
        Task {
            // A sleep fails when the task is cancelled: then this wake is no longer wanted.
            guard (try? await Task.sleep(for: delay)) != nil else { return }
            self.wake(reasons)
        }
    }
}
