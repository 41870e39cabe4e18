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
        let rescanning = Rescan(store: store)
        if try rescanning.isOrphan(identity, in: table) { throw RowGone(table: table.name, identity: identity) }
    }
}

extension Store {
    /// Records the deletion of a row that went away behind the triggers' back, and of those that are found with it.
    ///
    /// - Returns: nil where nothing was found after all.
    package func recordGone(_ gone: RowGone) throws -> RecordedTransaction? {
        try database.write { store in
            guard let table = store.catalog[gone.table] else { return nil }
            if table.findsByKeyDigest {
                try Rescan(store: store).noteDeletions([table.name: [gone.identity]])
            } else {
                store.orphanScans.insert(table.id)
            }
            return try Self.record(store, author: nil, context: nil)
        }
    }
}
