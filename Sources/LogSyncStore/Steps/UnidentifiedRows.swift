import LogSyncModel

/// The rows of one table that are gone and whose keys are known by their digests alone.
package struct UnidentifiedRows: Sendable {
    /// As logs have it.
    package var table: String
    package var digests: Set<Int32>
}
