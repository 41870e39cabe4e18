import LogSyncModel
import LogSyncSQLite
import LogSyncState

// What becomes of rows when a column comes to refer to other rows (Documentation/model.md, references that are declared
// later).
//
// The problem. As long as nothing says that a column's numbers name rows, logs and records have them as numbers. A
// program's next release declares a foreign key there. From then on the column is a reference, which is an identity in
// logs, and a number that stood for itself would mean whatever row has it in this store: another one on each peer.
//
// The rule. Only the peer that wrote a number knows which row it meant. So that peer alone says it, once: a version of a
// time just above the number's, so that every other write wins over it. Until then a number is a number, and shown as
// that, by every peer; it names no row, and no constraint asks for one.
//
// The steps, in the write transaction that meets the declaration:
//
//   1. `note` finds the columns, notes what they refer to (`ReferenceHistory`), and makes it a setting of the content, so
//      that peers without the declaration, and clones of theirs, take it up, too (`UnreadyTable`).
//   2. A table whose key has such a column keeps its rows' identities (`KeyChange`).
//   3. `translate` goes through the records. What a row shows that another peer wrote is spelled out as the number that it
//      is. The rows that show a number of this peer's are recorded (`RowRecorder`, `ParkedRowRecorder`).
//
// The exception. A declaration that goes takes nothing with it: the setting stays, the column goes on being a reference,
// and no value changes its meaning.
//
// An example. Peers a and b each have a parent 2 of their own, and a child that names it in a plain column. Both declare
// the key. To a, b's child shows 2, which a's record has as the number 2; its own child it records as a reference to its
// parent. When b's record comes, b's child shows the integer that b's parent has at a.

struct ReferenceChange {
    let store: OpenStore

    private var connection: Connection { store.connection }
    private var identities: IdentityMap { IdentityMap(store: store) }

    /// What columns referred to until now, by table and column id; nil for nothing.
    typealias Former = [Int64: [Int: String?]]

    /// Notes what columns are said to refer to. The catalog is the caller's to read again where that is something.
    ///
    /// - Parameter retyped: the columns, by table and column id, that have another type than before.
    /// - Returns: the columns of which that is another table than it was; and, by table, the columns of which it is none any more,
    ///   or that name rows of the same table by another of its columns.
    func note(
        retyped: [Int64: Set<Int>]
    ) throws -> (former: Former, ended: SchemaFindings.NamingChanges) {
        let (history, names) = (try ReferenceHistory(connection), try NamingColumns(connection))
        var former: Former = [:]
        var ended: SchemaFindings.NamingChanges = [:]
        for table in store.catalog.programTables {
            var now: [Int: String?] = [:]
            for column in table.columns where history.contains(column.id, of: table.id) {
                let noted = history.parent(of: column.id, in: table.id)
                guard noted?.folded != column.declaredReference?.folded else { continue }
                let name = "\(table.name).\(column.name)"
                if let declared = column.declaredReference {
                    guard let parent = store.catalog[declared], table.mayRefer(column, to: parent),
                        noted == nil || !column.isKey
                    else { continue }
                    former[table.id, default: [:]][column.id] = .some(noted)
                    now[column.id] = .some(declared)
                    try Settings(store).set("reference", name, declared)
                } else if let parent = column.reference {
                    try store.facts.set(ReferenceHistory.dropped + name, .text(parent))
                    try Settings(store).set("reference", name, parent)
                } else if let noted, store.catalog[noted] != nil {
                    // Its rows have no integers any more.
                    now[column.id] = .some(nil)
                    ended[table.id, default: [:]][column.id] = .some(nil)
                    if let name = store.catalog.naming(column, in: table) {
                        try store.tell([name.column], of: column, in: table)
                    }
                }
            }
            ended[table.id, default: [:]].merge(try renamed(in: table, names, retyped[table.id] ?? [])) { former, _ in
                former
            }
            if ended[table.id]?.isEmpty ?? false { ended[table.id] = nil }
            if !now.isEmpty { try ReferenceHistory.note(now, of: table.id, on: connection) }
        }
        return (former, ended)
    }

    /// The columns that named rows by their keys and name rows of the same table by another key now, with the column of that
    /// table by which they did. Peers are told of it, and of keys that are of another type.
    private func renamed(
        in table: TrackedTable, _ names: NamingColumns, _ retyped: Set<Int>
    ) throws -> [Int: String?] {
        var renamed: [Int: String?] = [:]
        for column in table.columns {
            guard let former = names.name(of: column.id, in: table.id) else { continue }
            let now = store.catalog.naming(column, in: table)
            if let now, now == former, retyped.contains(column.id) {
                try store.tell([now.column], of: column, in: table)
            }
            guard now != former, (now?.table ?? column.declaredReference)?.folded == former.table.folded else {
                continue
            }
            try store.tell([former.column, now?.column].compactMap(\.self), of: column, in: table)
            // A part of the row's own key says which row it is, unless the row has its identity from another.
            if !column.isKey || table.keepsIdentities { renamed[column.id] = .some(former.column) }
        }
        return renamed
    }

    /// The columns that go on referring to the same rows and hold integers now, among those whose type has changed.
    func retyped(_ columns: Set<Int>, in table: TrackedTable) -> Set<Int> {
        columns.filter { id in
            guard let column = table.columns.first(where: { $0.id == id }), column.reference != nil, !column.isKey
            else { return false }
            return ![.text, .real].contains(table.schema.affinity(of: column.local))
        }
    }

    /// Lets records say what numbers were that they had left to the rows, and finds the rows of this peer's.
    ///
    /// - Parameters:
    ///   - former: what the table's columns referred to until now.
    ///   - retyped: columns, by id, that referred to the same, and have been given a type that keeps integers: as texts or real
    ///     numbers what was written there named no row.
    func translate(
        _ table: TrackedTable, _ former: [Int: String?], retyped: Set<Int> = []
    ) throws -> SchemaFindings.NewReferences {
        let clock = ClockTable(table: table, connection: connection)
        let continued = try ContinuedRows(of: table, in: store)
        let own = try store.formerSelves()
        let former = former.merging(retyped.map { ($0, nil) }) { own, _ in own }
        var found = SchemaFindings.NewReferences(columns: Set(former.keys), own: own)
        for position in try clock.allRows() {
            guard var record = try clock.record(at: position),
                let (row, rowid) = try continued.row(of: record, at: position)
            else { continue }
            var (isSpelledOut, isOwn) = (false, false)
            for (place, column) in table.columns.enumerated() {
                // What was written since the last recording is recorded as what it means now.
                guard let parent = former[column.id], column.id < record.digests.count,
                    holds(row, record.digests[column.id], at: place, in: table),
                    let number = try number(row.values[place], of: parent, at: place, in: table)
                else { continue }
                var cell = record.state.cell(column.id)
                if store.wrote(cell, of: column, in: table, own) {
                    isOwn = true
                    continue
                }
                // What another peer has written here may be a row as well as a text that says its integer there.
                guard !retyped.contains(column.id) else { continue }
                let shown = cell.versions.indices.filter { cell.versions[$0].value == nil }
                for index in shown { cell.versions[index].value = number }
                record.state.setCell(column.id, cell)
                isSpelledOut = isSpelledOut || !shown.isEmpty
            }
            if isSpelledOut {
                try clock.update(
                    record, at: position, formerUniques: table.findsByKeyDigest ? [] : record.uniques)
            }
            if isOwn { found.rows.append(rowid) }
        }
        return found
    }

    /// Whether a row holds what its record says, or an integer that the column's new type has made of that: `'2'` has become 2.
    private func holds(_ row: TableReader.Row, _ digest: UInt32, at place: Int, in table: TrackedTable) -> Bool {
        if UInt32(truncatingIfNeeded: row.digests[place]) == digest { return true }
        return row.values[place].otherTypes.contains { UInt32(truncatingIfNeeded: table.valueDigest.of($0)) == digest }
    }

    /// The clock records of rows that have the integer of another row in columns whose rows are named by other keys now. No
    /// statement has to have touched them: the same number may have become the key.
    ///
    /// - Parameter columns: by id.
    func rows(of table: TrackedTable, naming columns: Set<Int>) throws -> [Int64] {
        let clock = ClockTable(table: table, connection: connection)
        let continued = try ContinuedRows(of: table, in: store)
        let places = table.columns.indices.filter { columns.contains(table.columns[$0].id) }
        return try clock.allRows().compactMap { position in
            guard let record = try clock.record(at: position),
                let found = try continued.row(of: record, at: position),
                places.contains(where: { record.isReference(found.row.values[$0], in: table.columns[$0].id) })
            else { return nil }
            return found.rowid
        }
    }

    /// What an integer was in logs until now; nil for a value that is the same now.
    ///
    /// - Parameter parent: what the column referred to.
    private func number(_ value: Value, of parent: String?, at place: Int, in table: TrackedTable) throws -> Value? {
        guard case .integer(let integer) = value else { return nil }
        if let parent = parent.flatMap({ store.catalog[$0] }),
            let identity = try identities.knownIdentity(of: integer, in: parent)
        {
            return .reference(identity)
        }
        if integer > 0 { return value }
        let parent = table.columns[place].reference.flatMap { store.catalog[$0] }
        return try parent.flatMap { try identities.knownIdentity(of: integer, in: $0) } == nil ? nil : value
    }
}
