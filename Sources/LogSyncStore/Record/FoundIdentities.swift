// The identities of rows that were there before anything was recorded of them (Documentation/model.md, particular rules).
//
// The problem. Founders that began with the same packaged rows have to have each of them once, so the identity of a
// found row is a hash of what it holds. What a reference holds is an integer that means something on this peer alone:
// (entry 1, account 1, 30.00) is Ann's here and Bob's there. So the rows that a row refers to come first, and their
// identities stand in the hash in place of the integers. Two rows then are one where they, and all that they refer to,
// directly or not, are the same.
//
// The steps. Rows and the rows that they refer to are a graph; its strong components come dependencies first (Tarjan),
// without recursion, because chains may be long, and beginning anew at each row, so that of all rows only those on the
// way from it to its furthest ancestor are in memory.
//
// The exception. Rows in a circle would each have to come before the other. There a reference within the circle is
// hashed as the sketch of the row that it names: what that row holds but for its own references within the circle. A
// sketch needs no other sketch, and does not depend on where the circle was entered.
//
// In a table without a key rows may hold the same: they are as many different rows, the first, the second and so on. So
// they are in a table that a migration has made (`LaterRows`): on each machine it has given them integers as they came.
//
// An example. A photo is in an album, and an album has a cover.
//
//   album(1, 'Holiday', cover 7)   photo(7, album 1, 'a.jpg')   photo(8, album 1, 'b.jpg')
//
// Album 1 and photo 7 are a circle: the album's identity is H(1, 'Holiday', sketch of 7), the photo's is H(7, sketch of 1,
// 'a.jpg'). Photo 8 is in no circle, and is H(8, identity of album 1, 'b.jpg').

import LogSyncModel
import LogSyncSQLite

/// Finds out who the rows are that were there before anything was recorded of them.
final class FoundIdentities {
    /// Where a row that may be referred to by an integer stands.
    private struct Place: Hashable {
        var table: Int64
        var integer: Int64
    }

    /// A row on the way.
    private final class Visit {
        let table: TrackedTable
        let place: Place
        let row: TableReader.Row
        /// The rows that have to come first, by column position.
        let parents: [(position: Int, place: Place)]
        let number: Int
        var low: Int
        var next = 0

        init(_ table: TrackedTable, _ place: Place, _ row: TableReader.Row, _ parents: [(Int, Place)], number: Int) {
            self.table = table
            self.place = place
            self.row = row
            self.parents = parents
            self.number = number
            low = number
        }
    }

    private let store: OpenStore
    private unowned let recorder: Recorder
    /// The tables, by id, whose integers say nothing elsewhere (``LaterRows``).
    private let byValues: Set<Int64>
    /// Of which the only row that they can have is the same for all.
    private let byKey: Set<Int64>
    /// On which rows are read; nil for the store's own.
    private let source: Connection?
    /// The identity of the row that has an integer, once it has one.
    private let find: (Int64, TrackedTable) throws -> RowIdentity?
    /// Keeps a row's identity, so that it is known from then on.
    private let assign: (TrackedTable, Int64, TableReader.Row, RowIdentity) throws -> Void
    private let tables: [Int64: TrackedTable]
    /// Rows that were assigned before their turn, by table: when it comes they are passed over.
    private var hasEarly: Set<Int64> = []
    /// What was found lately.
    private var found: [Place: RowIdentity] = [:]

    /// How many rows that hold the same were found where integers do not tell them apart, by a hash of what they hold: some 20 bytes for
    /// each that holds something else, because all of them are numbered in one go.
    private var equalRows: [UInt64: UInt32] = [:]

    /// How many identities are remembered at a time.
    private static let limit = 1 << 16

    init(
        _ store: OpenStore, _ recorder: Recorder, byValues: Set<Int64>, byKey: Set<Int64>,
        reading source: Connection? = nil,
        known: @escaping (Int64, TrackedTable) throws -> RowIdentity?,
        assign: @escaping (TrackedTable, Int64, TableReader.Row, RowIdentity) throws -> Void
    ) {
        self.store = store
        self.recorder = recorder
        self.byValues = byValues
        self.byKey = byKey
        self.source = source
        find = known
        self.assign = assign
        tables = Dictionary(uniqueKeysWithValues: store.catalog.tables.map { ($0.id, $0) })
    }

    /// The identity of a row that has none yet. The rows that it refers to are assigned theirs first; where it is in a
    /// circle with them it is assigned its own, too.
    ///
    /// - Returns: nil where the row has been assigned its identity.
    func identity(of row: TableReader.Row, _ rowid: Int64?, _ table: TrackedTable) throws -> RowIdentity? {
        let integer = table.localInteger == nil ? nil : rowid
        if let integer, hasEarly.contains(table.id), try known(integer, table) != nil { return nil }
        let parents = try unknownParents(of: row, table)
        if parents.isEmpty { return try identity(of: row, rowid, table, circle: [:]) }
        if let integer {
            try visit(Place(table: table.id, integer: integer), row)
            return nil
        }
        for parent in parents { try visit(parent.place) }
        return try identity(of: row, rowid, table, circle: [:])
    }

    private func known(_ integer: Int64, _ table: TrackedTable) throws -> RowIdentity? {
        let place = Place(table: table.id, integer: integer)
        if let identity = found[place] { return identity }
        guard let identity = try find(integer, table) else { return nil }
        if found.count >= Self.limit { found.removeAll(keepingCapacity: true) }
        found[place] = identity
        return identity
    }

    private func reader(_ table: TrackedTable) -> TableReader {
        TableReader(table: table, store: store, on: source)
    }

    // MARK: The graph

    /// The rows that a row's identity is made of, as far as they are there and have no identity yet.
    private func unknownParents(
        of row: TableReader.Row, _ table: TrackedTable
    ) throws -> [(position: Int, place: Place)] {
        guard store.configuration.hashesParents else { return [] }
        let positions = isNamedByKey(row, table) ? table.key.map(\.index) : Array(table.columns.indices)
        return try positions.compactMap { position in
            guard let (integer, parent) = reference(row, position, table), try known(integer, parent) == nil,
                try reader(parent).exists(integer)
            else { return nil }
            return (position, Place(table: parent.id, integer: integer))
        }
    }

    private func isNamedByKey(_ row: TableReader.Row, _ table: TrackedTable) -> Bool {
        table.kind != .surrogate && !table.key.isEmpty && table.key.allSatisfy { !row.values[$0.index].isNull }
    }

    private func reference(
        _ row: TableReader.Row, _ position: Int, _ table: TrackedTable
    ) -> (integer: Int64, parent: TrackedTable)? {
        guard case .integer(let integer) = row.values[position], let name = table.columns[position].reference,
            let parent = store.catalog[name]
        else { return nil }
        return (integer, parent)
    }

    private func visit(_ root: Place, _ row: TableReader.Row? = nil) throws {
        // Rows that have been met and have no identity yet.
        var visits: [Place: Visit] = [:]
        var next = 0
        var stack: [Visit] = []
        var path: [Visit] = []
        func enter(_ place: Place, _ row: TableReader.Row? = nil) throws {
            guard let table = tables[place.table], try known(place.integer, table) == nil,
                let row = try row ?? reader(table).row(at: place.integer)
            else { return }
            let visit = Visit(table, place, row, try unknownParents(of: row, table), number: next)
            next += 1
            visits[place] = visit
            stack.append(visit)
            path.append(visit)
        }
        try enter(root, row)
        while let last = path.last {
            if last.next < last.parents.count {
                let parent = last.parents[last.next].place
                last.next += 1
                if let met = visits[parent] {
                    last.low = min(last.low, met.number)
                } else {
                    try enter(parent)
                }
                continue
            }
            path.removeLast()
            if let child = path.last { child.low = min(child.low, last.low) }
            guard last.low == last.number, let first = stack.lastIndex(where: { $0 === last }) else { continue }
            let component = Array(stack[first...])
            stack.removeSubrange(first...)
            try name(component)
            for visit in component { visits[visit.place] = nil }
        }
    }

    /// Gives the rows of a strong component their identities.
    private func name(_ component: [Visit]) throws {
        var sketches: [Place: RowIdentity] = [:]
        if component.count > 1 || component[0].parents.contains(where: { $0.place == component[0].place }) {
            let members = Set(component.map(\.place))
            for visit in component {
                sketches[visit.place] = try hash(visit.row, visit.place.integer, visit.table) { position, place in
                    members.contains(place) ? .null : nil
                }
            }
        }
        // A key that names another row of the circle needs that row's identity, not a sketch of it.
        var keyed = component.filter { isNamedByKey($0.row, $0.table) }
        for visit in component where !isNamedByKey(visit.row, visit.table) { try name(visit, circle: sketches) }
        while !keyed.isEmpty {
            let ready = try keyed.firstIndex { try unknownParents(of: $0.row, $0.table).isEmpty } ?? 0
            try name(keyed.remove(at: ready), circle: [:])
        }
    }

    private func name(_ visit: Visit, circle: [Place: RowIdentity]) throws {
        let identity = try identity(of: visit.row, visit.place.integer, visit.table, circle: circle)
        hasEarly.insert(visit.table.id)
        try assign(visit.table, visit.place.integer, visit.row, identity)
    }

    // MARK: The hash

    private func identity(
        of row: TableReader.Row, _ rowid: Int64?, _ table: TrackedTable, circle: [Place: RowIdentity]
    ) throws -> RowIdentity {
        if table.kind != .surrogate,
            let natural = try reader(table).naturalIdentity({
                try recorder.translated(row.values[$0], $0, in: table)
            })
        {
            return natural
        }
        if byKey.contains(table.id), let only = table.onlyIdentity(at: rowid) { return only }
        let content = try hash(row, rowid, table) { _, place in circle[place].map { .reference($0) } }
        return goesByValues(table) ? identity(ofRowThatHolds: content) : content
    }

    /// Whether a table's rowids say nothing elsewhere.
    private func goesByValues(_ table: TrackedTable) -> Bool {
        byValues.contains(table.id) || table.kind == .natural && table.key.isEmpty
    }

    /// Rows that hold the same are told apart by how many there are.
    private func identity(ofRowThatHolds content: RowIdentity) -> RowIdentity {
        // Of 17 bytes the last ten are of the hash. Two that meet by chance are told apart like rows that hold the same.
        let key = content.bytes.suffix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        let number = equalRows[key, default: 0]
        equalRows[key] = number + 1
        guard number > 0 else { return content }
        var hash = IdentityHash("again")
        hash.combine(content.bytes)
        hash.combine(UInt64(number))
        return hash.identity(prefix: UInt64(number))
    }

    /// - Parameter replacing: what is hashed in place of a reference; nil for what it refers to.
    private func hash(
        _ row: TableReader.Row, _ rowid: Int64?, _ table: TrackedTable, replacing: (Int, Place) -> Value?
    ) throws -> RowIdentity {
        let rowid = goesByValues(table) ? nil : rowid
        var hash = IdentityHash("found")
        hash.combine(table.name)
        hash.combine(UInt64(bitPattern: rowid ?? 0))
        for (position, value) in row.values.enumerated() {
            guard store.configuration.hashesParents, let (integer, parent) = reference(row, position, table)
            else {
                hash.combine(value)
                continue
            }
            if let replaced = replacing(position, Place(table: parent.id, integer: integer)) {
                hash.combine(replaced)
            } else {
                // An integer that no row has means the same to all who hold it, as far as can be told.
                hash.combine(try known(integer, parent).map { .reference($0) } ?? value)
            }
        }
        return hash.identity(prefix: UInt64(bitPattern: rowid ?? 0))
    }
}
