extension OpenStore {
    /// Whether something beside a table's rows may have to do with any of them, so that they are recorded and merged row
    /// by row: a row is hidden whose identity or unique key one of them may have, or an integer is reserved that a row
    /// may turn out to be the one for.
    ///
    /// Merging asks ``hasFolded`` beside: a reference may name a row that was folded into another. New rows of others are looked
    /// at one by one whether this holds of them (``BatchInserter``).
    func isContested(_ table: TrackedTable) throws -> Bool {
        if hasReserved, table.localInteger != nil { return true }
        return try HiddenRows(self).hasAny(of: table)
    }
}
