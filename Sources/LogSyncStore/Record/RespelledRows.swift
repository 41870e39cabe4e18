import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Rows that other peers have put into a table, or deleted there, before it came here, by what its key spells of them here.
///
/// The key of the table was another to them: it named rows of other tables by keys that these have no more, or had other
/// types. The migration here makes these rows, too, and they are the same.
struct RespelledRows {
    private var identities: [RowIdentity: RowIdentity] = [:]

    /// - Parameter table: one that has come since the last recording.
    init(of table: TrackedTable, in store: OpenStore) throws {
        guard table.keepsIdentities, table.kind == .natural, !table.key.isEmpty else { return }
        let shownRows = ShownRows(store)
        func add(_ identity: RowIdentity, _ value: (_ position: Int, _ part: Int) -> Value?) throws {
            var parts: [KeyPart] = []
            for (index, key) in table.key.enumerated() {
                guard let value = value(key.index, index) else { return }
                let meant = try shownRows.meant(value, at: key.index, in: table)
                let held = try store.keyValue(meant, at: key.index, of: table)
                guard let part = KeyPart(held, collation: key.collation) else { return }
                parts.append(part)
            }
            let spelled = RowIdentity(natural: parts)
            // Of several rows each peer takes the same, whatever it has met first.
            guard spelled != identity, identities[spelled].map({ identity < $0 }) ?? true else { return }
            identities[spelled] = identity
        }
        for row in try HiddenRows(store).rows(.parked, of: table.name) {
            try add(row.identity) { position, _ in
                let name = table.columns[position].name
                return row.clock.cellsByName.first { $0.key.folded == name.folded }
                    .flatMap { store.shown($0.value, table.name, name) }
            }
        }
        let names = KeyNames(store).names(of: table.name) ?? table.orderedKeyNames
        guard names.map(\.folded) == table.orderedKeyNames.map(\.folded) else { return }
        for identity in try AbsentTombstones(store).identities(of: table.name) {
            guard let said = identity.naturalParts, said.count == table.key.count else { continue }
            try add(identity) { _, part in said[part].value }
        }
    }

    /// The identity of the row whose key is spelled so; nil where none is.
    subscript(spelled: RowIdentity) -> RowIdentity? { identities[spelled] }
}

extension OpenStore {
    /// What a column of a key makes of another peer's value; NULL where that says a row in another way than this column does.
    func keyValue(_ value: Value, at position: Int, of table: TrackedTable) throws -> Value {
        if table.isSaidOtherwise(value, at: position) { return .null }
        let affinity = table.schema.affinity(of: table.columns[position].local)
        // How a real number is written out is SQLite's own affair.
        if case (.text, .real) = (affinity, value) {
            return try connection.scalar("SELECT CAST(? AS TEXT)", value) ?? .null
        }
        return affinity.apply(to: value)
    }
}
