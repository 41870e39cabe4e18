import LogSyncModel
import LogSyncSQLite

/// The integers of the rows that a table's references name, each looked up once.
///
/// What it knows holds as long as no row of the tables referred to goes, comes back or moves. A merge of anything but new
/// rows and other cells makes a new cache.
final class ParentIntegerCache {
    private let store: OpenStore
    /// By column position: nil where there is no reference.
    private let parents: [Parent?]

    /// Of one table; several columns may refer to it.
    private final class Parent {
        let find: Statement
        var known: [RowIdentity: Int64] = [:]

        init(_ find: Statement) { self.find = find }
    }

    /// How many rows of a table are remembered at a time.
    private static let limit = 1 << 16

    init(_ table: TrackedTable, _ store: OpenStore) throws {
        self.store = store
        var byTable: [Int64: Parent] = [:]
        parents = try table.columns.map { column in
            guard let parent = column.reference.flatMap({ store.catalog[$0] }) else { return nil }
            if let known = byTable[parent.id] { return known }
            let made = Parent(try store.connection.prepare(parent.clockRowByIdentity))
            byTable[parent.id] = made
            return made
        }
    }

    /// A cell's value as this store has it; nil where that takes more than to look the row up: no row stands here under
    /// the identity, or the column holds something else than a reference.
    func local(_ value: Value, at position: Int) throws -> Value? {
        switch value {
        case .reference(let identity):
            guard let parent = parents[position] else { return nil }
            return try integer(of: identity, parent).map { .integer($0) }
        case .external: return nil
        case .null: return value
        default: return parents[position] == nil ? value : nil
        }
    }

    private func integer(of identity: RowIdentity, _ parent: Parent) throws -> Int64? {
        if let integer = parent.known[identity] { return integer }
        parent.find.reset()
        defer { parent.find.reset() }
        parent.find.bind(blob: identity.bytes, at: 1)
        guard try parent.find.step() else { return nil }
        let integer = parent.find.integer(0)
        if parent.known.count >= Self.limit { parent.known.removeAll(keepingCapacity: true) }
        parent.known[identity] = integer
        return integer
    }
}
