import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// The columns of natural keys, by their names in logs, of tables that are here and of such as are not.
///
/// Inserts in logs of before store format 5, and in seeds, leave out key columns where the identity says what they hold;
/// rows that are kept for want of their table lack those cells until their names are known.
struct KeyNames {
    let store: OpenStore

    init(_ store: OpenStore) { self.store = store }

    static let prefix = "key_columns "

    /// nil for a table of which nobody here has heard, or whose rows have surrogate identities.
    func names(of table: String) -> [String]? { key(of: table)?.names }

    /// The key that says what inserts leave out: the table's first one.
    func key(of table: String) -> FirstKey? {
        // Where no key was the first, rows say all that they have, but for rows of an earlier version.
        if let first = store.catalog.keys.firstKey(of: table), !first.isEmpty {
            return FirstKey(names: first, isOnly: false)
        }
        if let table = store.catalog[table] {
            // The setting comes with the transaction that has the first row of another key.
            return table.key.isEmpty
                ? nil : FirstKey(names: table.orderedKeyNames, isOnly: !table.keepsIdentities)
        }
        return store.absentKeys[table.folded].map { FirstKey(names: $0, isOnly: true) }
    }

    static func read(on connection: Connection) throws -> [String: [String]] {
        var keys: [String: [String]] = [:]
        for (table, names) in try StoreFacts(connection).values(under: prefix) {
            keys[table] = try KeyList.decode(String(text: names))
        }
        return keys
    }
}

extension RowState {
    /// Adds the cells of a natural key that an insert had left to the identity; returns whether there were any.
    ///
    mutating func spellOutKey(_ key: FirstKey) -> Bool {
        guard !state.inserts.isEmpty, let parts = key.parts(of: identity) else { return false }
        var isAny = false
        for (part, name) in zip(parts, key.names) {
            let known = state.cellsByName.keys.first { $0.folded == name.folded } ?? name
            var cell = state.cellsByName[known] ?? CellState()
            for insert in state.inserts {
                // A version of a transaction that inserted nothing has taken its place, whatever time it says.
                let isSaid = cell.versions.contains { version in
                    version.stamp.isOfSameTransaction(as: insert)
                        || !state.inserts.contains { $0.isOfSameTransaction(as: version.stamp) }
                }
                if isSaid { continue }
                cell.versions.append(Version(stamp: insert, value: part.value))
                isAny = true
            }
            state.cellsByName[known] = cell
        }
        return isAny
    }
}

extension Stamp {
    fileprivate func isOfSameTransaction(as other: Stamp) -> Bool {
        (peer, sequence) == (other.peer, other.sequence)
    }
}
