package import LogSyncModel

/// A row that another peer writes went away here with no trigger to say so.
///
/// Merged all the same, it would come back without the values that nobody knows here any more. Its deletion has to be
/// recorded first, see ``Store/recordGone(_:)``.
package struct RowGone: Error {
    /// As logs have it.
    package var table: String
    package var identity: RowIdentity

    /// Looks for the record of a row that is not there, in a table whose records are found by the digest of the key.
    static func check(_ identity: RowIdentity, in table: TrackedTable, _ store: OpenStore) throws {
        guard table.findsByKeyDigest, !identity.isSurrogate else { return }
        if try OrphanRecords(table: table, store: store).contain(identity) {
            throw RowGone(table: table.name, identity: identity)
        }
    }
}
