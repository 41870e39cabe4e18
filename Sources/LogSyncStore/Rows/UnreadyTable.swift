import LogSyncModel

/// A row came that a table is not ready for: its author's schema means something else by the table. Nothing was changed;
/// ``Store/prepare(_:)`` makes the table ready, or says that it cannot be.
package struct UnreadyTable: Error, Hashable {
    package enum Need: Hashable, Sendable {
        /// Rows have identities that are not what their keys spell: the author's key is another one.
        case identities
        /// A column refers to the rows of another table, by names in logs.
        case reference(column: String, parent: String)
        /// A trigger of the content's schema fails, in a clone that no program has seen.
        case withoutTrigger(String, reason: String)
    }

    /// The name in logs.
    package var table: String
    package var need: Need
}

extension UnreadyTable {
    /// Whether the table is what it was not ready for.
    func isMet(by catalog: Catalog) -> Bool {
        if case .withoutTrigger = need { return true }
        guard let table = catalog[table] else { return false }
        return switch need {
        case .identities: table.keepsIdentities
        case .reference(let column, _): table.positions[column.folded].flatMap { table.columns[$0].reference } != nil
        case .withoutTrigger: true
        }
    }

    /// - Throws: where a column is to refer to a table's rows from here on, and does not yet.
    static func check(
        _ column: TrackedTable.Column, in table: TrackedTable, refersTo parent: String, _ catalog: Catalog
    )
        throws
    {
        guard column.reference == nil, let parent = catalog[parent], table.mayRefer(column, to: parent) else { return }
        throw UnreadyTable(table: table.name, need: .reference(column: column.name, parent: parent.name))
    }

    /// - Throws: where a row of the content's settings says so.
    static func check(_ setting: RowIdentity, _ value: Value?, _ catalog: Catalog) throws {
        guard let parts = setting.naturalParts, parts.count == 2, case .text(let kind) = parts[0].value,
            kind.elementsEqual("reference".utf8), case .text(let target) = parts[1].value,
            case .text(let parent)? = value
        else { return }
        let name = String(decoding: target, as: UTF8.self).folded
        for table in catalog.tables {
            for column in table.columns where "\(table.name).\(column.name)".folded == name {
                try check(column, in: table, refersTo: String(decoding: parent, as: UTF8.self), catalog)
            }
        }
    }
}
