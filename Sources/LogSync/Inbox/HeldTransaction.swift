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
}
