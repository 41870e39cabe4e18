import LogSyncModel

/// The rows of one table that are gone and of whose keys only digests are kept.
package struct NamelessRows: Sendable {
    /// As logs have it.
    package var table: String
    package var digests: Set<Int32>
}
