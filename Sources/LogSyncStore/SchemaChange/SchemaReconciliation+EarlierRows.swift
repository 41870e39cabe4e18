import LogSyncModel
import LogSyncState

/// Rows that other peers have put into a table before it came here.
extension SchemaReconciliation {
    /// Whether rows of a table that has just come are here already, and have other identities than its key spells: where they
    /// were inserted, it had another.
    func hasRowsOfAnotherKey(_ table: TrackedTable) throws -> Bool {
        guard !table.keepsIdentities else { return false }
        return try HiddenRows(store).rows(.unknownTable, of: table.name).contains { row in
            guard row.clock.isAlive else { return false }
            guard table.kind == .natural, !table.key.isEmpty else {
                return table.kind == .surrogate && !row.identity.isSurrogate
            }
            let said = row.identity.naturalParts ?? []
            return try !table.isSpelled(row.identity) { position in
                let name = table.columns[position].name
                let cell = row.clock.cellsByName.first { $0.key.folded == name.folded }?.value
                // An insert leaves to the identity what that says.
                let part = table.key.firstIndex { $0.index == position }
                let value =
                    cell.flatMap { store.shown($0, table.name, name) }
                    ?? part.flatMap { said.indices.contains($0) ? said[$0].value : nil } ?? .null
                return try store.keyValue(value, at: position, of: table)
            }
        }
    }

    /// Tells other peers by which columns a table that has just come names rows which rows of theirs refer to by integers: their
    /// program's next release has another key there, and the one before it has never been here.
    func tellOtherNames(of table: TrackedTable) throws {
        let naming = table.columns.compactMap { column in
            store.catalog.naming(column, in: table).map { (column: column, key: $0.column) }
        }
        guard store.hasHidden, !naming.isEmpty else { return }
        let rows = try HiddenRows(store).rows(.unknownTable, of: table.name)
        for (column, key) in naming {
            let areReferences = rows.contains { row in
                let cell = row.clock.cellsByName.first { $0.key.folded == column.name.folded }?.value
                return cell?.versions.contains { if case .reference? = $0.value { true } else { false } } ?? false
            }
            if areReferences { try store.tell([key], of: column, in: table) }
        }
    }
}
