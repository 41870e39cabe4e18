import LogSyncContainer
import LogSyncFormat
import LogSyncModel

/// A transaction that cannot be imported, before its peer has a name.
struct HeldTransaction {
    var dot: Dot
    var file: LogFileName?
    var reason: HeldItem.Reason
    var detail: String
    var transaction: FoundTransaction?
    /// The blob that it waits for.
    var blob: BlobName?
    /// The transaction that it waits for.
    var waitsFor: Dot?

    /// Of one that waits for another: which is held for a reason of its own, so that the other cannot be imported; nil where
    /// that has not come.
    ///
    /// - Parameter all: what is held, one a peer at most.
    func cause(among all: [HeldTransaction]) -> HeldTransaction? {
        guard reason == .dependency else { return nil }
        var (cause, seen) = (self, Set<Dot>())
        while cause.reason == .dependency {
            guard let dot = cause.waitsFor, seen.insert(dot).inserted,
                let other = all.first(where: { $0.dot.peer == dot.peer && $0.dot.sequence <= dot.sequence })
            else { return nil }
            cause = other
        }
        return cause
    }
}
