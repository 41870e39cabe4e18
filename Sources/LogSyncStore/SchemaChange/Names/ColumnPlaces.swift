import LogSyncModel
import LogSyncSQLite

/// Where `ALTER TABLE` can have left a table's columns.
///
/// It leaves columns in their order, gives one of them another name at its place, and adds new ones after all others. So
/// the columns that still have their names divide the others: a new name before one of them is that of a column which was
/// between the same two, and as many new names as missing ones there are these, in their order; of fewer of them the
/// values tell. After the last of them a new name may be a former column's or a new one's.
///
/// `a, b, c` that became `b, c, d` are `b`, `c` and a new column. `v, w` that became `v_old, w, v` are not `v` and `w`:
/// nothing new can come before `w`.
struct ColumnPlaces {
    typealias Known = SchemaReconciliation.KnownColumn
    typealias Present = (offset: Int, element: TableSchema.Column)

    private struct Part {
        /// Columns whose names are gone, by id, and new names, by place.
        var missing: [Int64] = []
        var new: [Int] = []
    }

    /// Before the first column that has kept its name, before the next, and so on, and after the last.
    private var parts: [Part]
    private let keepsOrder: Bool

    init(_ known: [Known], _ present: [Present]) {
        let names = Set(known.map { $0.name.folded }).intersection(present.map { $0.element.name.folded })
        let known = known.sorted { $0.ordinal < $1.ordinal }
        let present = present.sorted { $0.offset < $1.offset }
        parts = Array(repeating: Part(), count: names.count + 1)
        var (before, after): ([String], [String]) = ([], [])
        for column in known {
            if names.contains(column.name.folded) {
                before.append(column.name.folded)
            } else {
                parts[min(before.count, names.count)].missing.append(column.id)
            }
        }
        for column in present {
            if names.contains(column.element.name.folded) {
                after.append(column.element.name.folded)
            } else {
                parts[min(after.count, names.count)].new.append(column.offset)
            }
        }
        keepsOrder = before == after
    }

    /// Whether a column whose name is there has another place among the columns that have kept their names, and a new one is
    /// between the same two as it was.
    static func isLeft(by column: Known, to place: Int, _ known: [Known], _ present: [Present]) -> Bool {
        let names = Set(known.map { $0.name.folded }).intersection(present.map { $0.element.name.folded })
            .subtracting([column.name.folded])
        let before = known.sorted { $0.ordinal < $1.ordinal }.map { ($0.name.folded, $0.ordinal) }
        let after = present.map { ($0.element.name.folded, $0.offset) }
        func neighbours(_ place: Int, _ columns: [(name: String, place: Int)]) -> [String?] {
            let others = columns.filter { names.contains($0.name) }
            return [others.last { $0.place < place }?.name, others.first { $0.place > place }?.name]
        }
        guard let bearer = after.first(where: { $0.0 == column.name.folded })?.1 else { return false }
        let former = neighbours(column.ordinal, before)
        return neighbours(place, after) == former && neighbours(bearer, after) != former
    }

    /// Whether all columns whose names are still there may be what they are called.
    var canBeAsNamed: Bool { keepsOrder && parts.dropLast().allSatisfy { $0.new.count <= $0.missing.count } }

    /// The place where a missing column is for certain, under another name.
    func place(of column: Known) -> Int? {
        guard canBeAsNamed else { return nil }
        for part in parts.dropLast() where part.new.count == part.missing.count {
            if let index = part.missing.firstIndex(of: column.id) { return part.new[index] }
        }
        return nil
    }

    /// Whether a missing column may be at a place, if others before it were dropped.
    func mayBe(_ column: Known, at place: Int) -> Bool {
        guard canBeAsNamed else { return false }
        return parts.contains { part in
            guard let index = part.missing.firstIndex(of: column.id), let other = part.new.firstIndex(of: place)
            else { return false }
            return other <= index
        }
    }

    /// Whether a missing column is at a place, if nothing before it was dropped among those between the same two.
    func isSame(_ column: Known, at place: Int) -> Bool {
        guard canBeAsNamed else { return place == column.ordinal }
        guard let last = parts.last, let index = last.missing.firstIndex(of: column.id) else {
            return self.place(of: column) == place
        }
        return index < last.new.count && last.new[index] == place
    }
}
