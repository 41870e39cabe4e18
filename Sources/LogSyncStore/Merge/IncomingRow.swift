import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// One row's change in a transaction that is being merged.
struct IncomingRow {
    var group: RowGroup
    let index: Int
    let target: GroupTarget
    /// Of the row's entries.
    let stamp: Stamp
    /// The group's, in the order in which the transaction's groups come.
    let number: Int

    /// - Parameter stamp: the transaction's; the row's time is the group's to say.
    init(_ group: RowGroup, _ index: Int, _ target: GroupTarget, _ stamp: Stamp, number: Int = 0) {
        self.group = group
        self.number = number
        self.index = index
        self.target = target
        self.stamp = Stamp(peer: stamp.peer, sequence: stamp.sequence, time: group.times[index])
    }

    var table: TrackedTable? { target.table }
    /// The table's name here, where it is; else as the author has it.
    var tableName: String { target.table?.name ?? group.table }
    /// What the columns that it gives are called in this store.
    var names: [String] { target.names }
    var identity: RowIdentity { group.identities[index] }
    /// The row's integer at its author.
    var integer: Int64? { group.integers.isEmpty ? nil : group.integers[index] }

    /// The column's name as this store has it in logs: its spelling may differ.
    func name(of column: RowGroup.Column) -> String {
        guard let table, let position = table.positions[column.name.folded] else { return column.name }
        return table.columns[position].name
    }

    /// When a cell of the row was set.
    func time(of column: RowGroup.Column) -> HybridTime { column.times.isEmpty ? stamp.time : column.times[index] }

    /// An insert's cells by column name. Key columns that the group leaves out are the identity's.
    ///
    /// - Parameter key: nil where it is not known.
    func cells(key: FirstKey?) -> [(name: String, time: HybridTime, value: Value)] {
        var cells: [(name: String, time: HybridTime, value: Value)] = []
        var given: Set<String> = []
        for column in group.columns {
            let name = name(of: column)
            given.insert(name)
            cells.append((name, time(of: column), column.values[index]))
        }
        if let key, !given.isSuperset(of: key.names), let parts = key.parts(of: identity) {
            for (part, name) in zip(parts, key.names) where !given.contains(name) {
                cells.append((name, stamp.time, part.value))
            }
        }
        return cells
    }

    /// Whether it says other rows in another way than this store's columns do: what the table shows does not say it.
    func hasOtherReferences(_ shownRows: ShownRows) throws -> Bool {
        guard let table else { return false }
        return try zip(group.columns, target.positions).contains { column, position in
            try position.map {
                let value = column.values[index]
                return try table.isSaidOtherwise(value, at: $0) || shownRows.meant(value, at: $0, in: table) != value
                    || IdentityMap(store: shownRows.store).isNumberOfRow(value, in: table.columns[$0])
            } ?? false
        }
            || table.key.contains { key in
                keyPart(at: key.index, in: table).map { table.isSaidOtherwise($0.value, at: key.index) } ?? false
            }
    }

    /// Whether foreign keys of other rows name the table's rows by one of the columns that it gives.
    func changesNames(_ rules: ReferenceRules, of table: TrackedTable) -> Bool {
        rules.to(table).contains { rule in
            rule.parts.contains {
                if case .column(let position) = $0 { target.positions.contains(position) } else { false }
            }
        }
    }

    /// What an insert says of a column, as logs have it; NULL of one that it leaves out.
    func value(at position: Int, in table: TrackedTable) -> Value {
        if let column = target.positions.firstIndex(of: position) { return group.columns[column].values[index] }
        return keyPart(at: position, in: table)?.value ?? .null
    }

    /// The rows that it refers to, as far as it says by what identity.
    func parents(_ rules: ReferenceRules) -> [RowIdentity] {
        var parents: [RowIdentity] = []
        for column in group.columns {
            if case .reference(let parent) = column.values[index] { parents.append(parent) }
        }
        for case .reference(let parent) in identity.naturalParts ?? [] { parents.append(parent) }
        guard let table, group.kind != .delete else { return parents }
        for rule in rules.of(table) where !rule.isByInteger {
            let values = rule.columns.map { value(at: $0, in: table) }
            if !values.contains(.null), let parent = rule.named(by: values) { parents.append(parent) }
        }
        return parents
    }

    /// The part of the identity that a column of the table's key holds; nil for any other column.
    func keyPart(at position: Int, in table: TrackedTable) -> KeyPart? {
        guard let key = table.key.firstIndex(where: { $0.index == position }) else { return nil }
        return table.keyParts(of: identity)?[key]
    }
}

/// Where a group's columns go in this store's table.
struct GroupTarget {
    let table: TrackedTable?
    /// By the group's columns: the position in the table, nil for a column that is not here.
    let positions: [Int?]
    /// What the columns of the group that are here are called in this store.
    let names: [String]
    /// By the group's columns: the table that its references name.
    let references: [String?]
    /// Whether every column of the group is here.
    let isKnown: Bool
    /// The positions of the table's columns that the group does not give, nor the identities.
    let missing: [Int]
    /// Whether the group or the identities give all columns of the key.
    let saysKey: Bool
    /// Whether the group gives every column of the table a value and no other. What identities say they give.
    var isComplete: Bool { table != nil && isKnown && saysKey && missing.isEmpty }
    let hasNoKey: Bool
    let hasWholeKey: Bool
    let hasReferences: Bool
    /// Whether this store's columns give back just what the group gives them.
    let keepsValues: Bool

    init(_ group: RowGroup, _ table: TrackedTable?) {
        self.table = table
        let positions = group.columns.map { table?.positions[$0.name.folded] }
        self.positions = positions
        names = positions.compactMap { position in position.flatMap { table?.columns[$0].local } }
        references = zip(group.columns, positions).map { column, position in
            column.referencedTable ?? position.flatMap { table?.columns[$0].reference }
        }
        isKnown = positions.allSatisfy { $0 != nil }
        hasReferences = references.contains { $0 != nil }
        let given = Set(positions.compactMap { $0 })
        let keys = Set(table?.key.map(\.index) ?? [])
        missing = table?.columns.indices.filter { !given.contains($0) && !keys.contains($0) } ?? []
        saysKey =
            given.isSuperset(of: keys)
            || table.map { table in
                group.identities.allSatisfy { table.keyParts(of: $0) != nil }
            } ?? false
        hasNoKey = given.isDisjoint(with: keys)
        hasWholeKey = given.isSuperset(of: keys)
        keepsValues = table.map { Self.keeps(group, positions, in: $0, omitsKey: !given.isSuperset(of: keys)) } ?? false
    }

    private static func keeps(
        _ group: RowGroup, _ positions: [Int?], in table: TrackedTable, omitsKey: Bool
    ) -> Bool {
        for case (let column, let position?) in zip(group.columns, positions) {
            guard table.keeps(column.values, at: position) else { return false }
        }
        guard group.kind == .insert, omitsKey, !table.key.isEmpty else { return true }
        let keepers = table.key.map { table.schema.keeper(of: table.columns[$0.index].local) }
        return group.identities.allSatisfy { identity in
            zip(identity.naturalParts ?? [], keepers).allSatisfy { $1($0.value) }
        }
    }

    /// - Throws: ``UnreadyTable`` where a column refers to other rows at the author, and not here.
    func check(_ group: RowGroup, _ catalog: Catalog) throws {
        guard let table else { return }
        guard table.holdsSettings else {
            for (column, position) in zip(group.columns, positions) {
                guard let parent = column.referencedTable, let position else { continue }
                try UnreadyTable.check(table.columns[position], in: table, refersTo: parent, catalog)
            }
            return
        }
        guard group.kind != .delete, let value = group.columns.first(where: { $0.name == "value" }) else { return }
        for (index, identity) in group.identities.enumerated() {
            try UnreadyTable.check(identity, value.values[index], catalog)
        }
    }

    /// Whether every table is here whose rows the group's references name. What refers to another shows nothing, and is
    /// kept for when that table comes.
    func hasParents(in catalog: Catalog) -> Bool {
        !hasReferences || references.allSatisfy { $0.map { catalog[$0] != nil } ?? true }
    }

    func reference(of column: RowGroup.Column, at position: Int) -> String? {
        column.referencedTable ?? table?.columns[position].reference
    }
}

extension TrackedTable {
    /// Whether a column gives back just these values.
    func keeps(_ values: [Value], at position: Int) -> Bool {
        values.allSatisfy(schema.keeper(of: columns[position].local))
    }
}
