import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Which keys tables had, as far as it has to be known.
///
/// A row's identity is given once, by what its key was then (Documentation/model.md, keys that change). The content's
/// setting `key` says which columns a table's key consisted of at first; where it consists of others by now, new rows are
/// named by these and a part before them that tells the two apart. That a table's rows have identities which their keys do
/// not spell, each store notes for itself.
struct KeyHistory: Equatable {
    /// The tables whose rows keep their identities, by id.
    let tables: Set<Int64>
    /// The names in logs of a table's first key, by the table's lower-case name in logs.
    private let first: [String: [String]]

    /// The kind of the setting.
    static let setting = "key"
    private static let prefix = "identities "
    /// Before the name of a table of which the setting is known before it comes with the transaction that made it.
    static let known = "first key "

    init(_ connection: Connection) throws {
        let facts = StoreFacts(connection)
        tables = Set(try facts.values(under: Self.prefix).compactMap { Int64($0.name) })
        let settings = try connection.rows(
            "SELECT target, value FROM logsync_setting WHERE kind = ?", .text(Self.setting))
        var first: [String: [String]] = [:]
        for (table, key) in try facts.values(under: Self.known) + settings.map({ (String(text: $0[0]), $0[1]) }) {
            // Anybody writes settings; what is no list says nothing.
            first[table.folded] = try? KeyList.decode(String(text: key))
        }
        self.first = first
    }

    func firstKey(of table: String) -> [String]? { first[table.folded] }

    /// - Parameter key: of names in logs.
    func epoch(of table: String, key: [String]) -> KeyPart? {
        let key = key.map { $0.folded }
        guard let first = firstKey(of: table), first.map({ $0.folded }) != key else { return nil }
        let digest = Digest.of(key.joined(separator: "\u{1F}"))
        return .blob(withUnsafeBytes(of: digest.bigEndian) { Array($0)[...] })
    }

    /// Whether an identity of these parts may have been given under another key than its table's first one.
    static func isOfLaterKey(_ parts: [KeyPart]) -> Bool {
        if case .blob(let bytes)? = parts.first { bytes.count == MemoryLayout<UInt64>.size } else { false }
    }

    /// Notes that a table has had a key which it has no more.
    ///
    /// - Parameter names: in logs.
    static func noteFormer(
        _ kind: TrackedTable.IdentityKind, _ names: [String], of table: Int64, on connection: Connection
    ) throws { try StoreFacts(connection).set(formerKey(kind, names, of: table), .integer(1)) }

    /// Whether a table has had the key before that it has now.
    static func hadKey(_ table: TrackedTable, on connection: Connection) throws -> Bool {
        try StoreFacts(connection).value(formerKey(table.kind, table.orderedKeyNames, of: table.id)) != nil
    }

    private static func formerKey(_ kind: TrackedTable.IdentityKind, _ names: [String], of table: Int64) -> String {
        let key = kind == .surrogate ? [] : names.map(\.folded)
        return (["former key \(table)", kind.rawValue] + key).joined(separator: "\u{1F}")
    }

    /// From now on the table's records keep the identities of their rows.
    static func keepIdentities(of table: Int64, on connection: Connection) throws {
        try connection.run(
            "INSERT OR IGNORE INTO logsync_store(key, value) VALUES(?, 1)", .text(prefix + String(table)))
    }
}

/// A table's first key, the columns of which identities say.
struct FirstKey {
    /// By names in logs, in key order.
    var names: [String]
    /// Whether no peer has met another key: no identity was given under one.
    var isOnly: Bool

    /// What an identity says of the key's columns; nil where it was given under another key, or is no name.
    func parts(of identity: RowIdentity) -> [KeyPart]? {
        guard let parts = identity.naturalParts, parts.count == names.count,
            isOnly || !KeyHistory.isOfLaterKey(parts)
        else { return nil }
        return parts
    }
}

extension TrackedTable {
    /// The identity of a new row of a key: that says which key it is, where it is not the table's first one.
    func named(_ spelled: RowIdentity) -> RowIdentity {
        epoch.map { RowIdentity(natural: [$0] + (spelled.naturalParts ?? [])) } ?? spelled
    }

    /// Whether a row may have been named under another key than the table's.
    ///
    /// - Parameter cells: of columns that are not here, among them one that is an integer of this store's own by now.
    func isOfOtherKey(_ identity: RowIdentity, _ cells: [String: CellState] = [:]) -> Bool {
        if let localInteger, !columnNames.contains(where: { $0.folded == localInteger.folded }) {
            if cells.contains(where: { $0.key.folded == localInteger.folded }) { return true }
        }
        if identity.isSurrogate { return kind != .surrogate && !key.isEmpty }
        guard identity.beginsWithBlob, let parts = identity.naturalParts else { return false }
        return KeyHistory.isOfLaterKey(parts) && parts.first != epoch
    }

    /// What an identity says of the columns of the table's key; nil where it was given under another key, or is no name.
    func keyParts(of identity: RowIdentity) -> [KeyPart]? {
        guard epoch == nil else { return nil }
        return FirstKey(names: orderedKeyNames, isOnly: !keepsIdentities).parts(of: identity)
    }
}
