import LogSyncFormat
package import LogSyncModel
import LogSyncSQLite

/// Whether a transaction can be merged now.
package enum Readiness: Sendable, Equatable {
    case ready
    case alreadyImported
    /// An earlier transaction of the same peer is missing: this sequence is the first that is.
    case gap(UInt64)
    /// It depends on these, which have not been imported.
    case missing([Dot])
    /// It depends on another transaction of this dot than the one imported here: two stores wrote under one id.
    case otherBranch(Dot)
    /// Its time lies this many milliseconds ahead of this machine's clock, beyond the allowed drift and all that was let in.
    case clock(Int64)
    /// Its author's history differs from the one imported here: one dot, different bytes.
    case fork
}

/// A transaction that was handed out to be merged and has to wait.
package struct NotReady: Error {
    package var dot: Dot
    /// What it depends on.
    package var waitsFor: Dot?
    /// Whether that dot has been imported, and is another transaction.
    package var isOtherBranch: Bool
}

extension Readiness {
    /// Whether a transaction of a peer can be merged right after what this store has of that peer.
    init(of header: TransactionHeader, chainBefore: ChainHash, in store: OpenStore) throws {
        let known = store.peers[header.dot.peer]
        let sequence = known?.sequence ?? 0
        let ahead = header.time.milliseconds - store.configuration.clock.now()
        if header.dot.sequence <= sequence {
            self = .alreadyImported
        } else if header.dot.sequence > sequence + 1 {
            self = .gap(sequence + 1)
        } else if !(known?.chain ?? .zero).means(chainBefore) {
            self = .fork
        } else {
            switch try store.peers.dependencies(of: header, on: store.connection) {
            case .missing(let dots): self = .missing(dots)
            case .otherBranch(let dot): self = .otherBranch(dot)
            case .seen where header.time.milliseconds > store.timeLimit && !(known?.acceptsClock ?? false):
                self = .clock(ahead)
            case .seen: self = .ready
            }
        }
    }

    /// - Throws: ``NotReady`` where the transaction has to wait for others; `malformedLog` where it cannot be merged now for
    ///   another reason, of which the caller should have known.
    func check(_ dot: Dot) throws {
        switch self {
        case .ready: return
        case .missing(let dots): throw NotReady(dot: dot, waitsFor: dots.first, isOtherBranch: false)
        case .otherBranch(let other): throw NotReady(dot: dot, waitsFor: other, isOtherBranch: true)
        default:
            throw LogSyncError(
                .malformedLog, "transaction \(dot) cannot be imported now (\(self)); it was held")
        }
    }
}
