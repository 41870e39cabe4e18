package import LogSyncFormat
package import LogSyncModel

/// Well-formed transactions that make no sense, as a stream of bytes says: what a fuzzer changes, or a seed makes.
///
/// They are about the tables of ``schema``, by their names and by others; every number, value and identity that the format
/// can hold comes up, most of all those at the ends.
package struct Nonsense {
    private var bytes: ArraySlice<UInt8>

    /// What a store has that is told of them.
    package static let schema = """
        CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, body TEXT, stars INTEGER, score REAL UNIQUE);
        CREATE TABLE item(
            id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT COLLATE NOCASE UNIQUE, parent INTEGER REFERENCES item(id),
            note TEXT REFERENCES note(id) ON DELETE SET NULL, CHECK (name <> 'never'));
        CREATE TABLE link(a TEXT, b INTEGER REFERENCES item(id), c TEXT NOT NULL DEFAULT 'c', PRIMARY KEY(a, b))
            WITHOUT ROWID;
        CREATE TABLE loose(x, y);
        INSERT INTO note VALUES('k0', 'zero', 0, 0.5), ('k1', 'one', 1, NULL);
        INSERT INTO item(id, name, parent, note) VALUES(1, 'first', NULL, 'k0'), (2, 'second', 1, NULL);
        INSERT INTO link VALUES('a', 1, 'x');
        INSERT INTO loose VALUES(1, 2), (1, 2);
        """

    /// Tables that it is about in the place of those of ``schema``, by the names of these, with their columns.
    package var tables: [String: (name: String, columns: [String])] = [:]

    package init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes)[...] }

    /// Whether all that is still to come is zeros.
    package var isAtEnd: Bool { bytes.isEmpty }

    // MARK: Choices

    private mutating func byte() -> UInt8 { bytes.popFirst() ?? 0 }
    private mutating func below(_ count: Int) -> Int { Int(byte()) % count }
    private mutating func chance(_ one: Int) -> Bool { below(one) == one - 1 }
    private mutating func one<T>(of all: [T]) -> T { all[below(all.count)] }

    /// A number below another.
    package mutating func choice(of count: Int) -> Int { below(count) }

    private static let ends: [Int64] = [
        0, 1, 2, 3, -1, .max, .min, .max - 1, 1 << 53, (1 << 53) + 1, -(1 << 53), 1 << 31, 1 << 32, 255,
    ]

    // MARK: Transactions

    /// The next transaction of a peer.
    ///
    /// - Parameters:
    ///   - dot: which it is.
    ///   - vector: what is known of peers: it depends on some of that, and on some that is not.
    package mutating func transaction(_ dot: Dot, knowing vector: VersionVector) -> ForgedTransaction {
        var dependencies: [Dependency] = []
        for known in vector.dots.sorted(by: { $0.peer < $1.peer }) where known.peer != dot.peer && !chance(4) {
            dependencies.append(Dependency(Dot(known.peer, chance(8) ? known.sequence + 1 : known.sequence)))
        }
        let groups = (0...below(3)).map { _ in group(dot, vector) }
        var transaction = ForgedTransaction(dot, dependencies: dependencies, groups: groups)
        if chance(8) {
            transaction.time = HybridTime(milliseconds: one(of: [0, 1, 1_700_000_000_001, 1_600_000_000_000]))
        }
        return transaction
    }

    private mutating func group(_ dot: Dot, _ vector: VersionVector) -> ForgedGroup {
        let table = one(of: [
            "note", "item", "loose", "note", "item", "NOTE", "unheardof", "logsync_setting", "logsync_store",
            "sqlite_master",
        ])
        let kind: RowGroup.Kind = one(of: [.insert, .update, .insert, .delete])
        var identities = (0...below(3)).map { _ in identity(of: table) }
        // No list holds natural keys of several numbers of parts, nor both kinds.
        if let first = identities.first { identities = identities.filter { Self.shape($0) == Self.shape(first) } }
        var group = ForgedGroup(kind, table, identities: identities)
        if chance(3) { group.integers = identities.map { _ in one(of: Self.ends) } }
        if chance(6) {
            let offset: Int64 = one(of: [-1_700_000_000_000, -1, 1, 3_600_000, 281_474_976_000_000 - 1_700_000_000_000])
            group.times = [0] + Forge.zigzag(offset) + Forge.varint(UInt64(below(3)))
        }
        guard kind != .delete else { return group }
        var seen: Set<String> = []
        for _ in 0..<below(4) {
            let column = column(of: table, identities.count, dot, vector, isInsert: kind == .insert)
            if seen.insert(column.name.folded).inserted { group.columns.append(column) }
        }
        rename(&group)
        return group
    }

    /// Makes a group one of another table.
    private mutating func rename(_ group: inout ForgedGroup) {
        guard let other = tables[group.table], !other.columns.isEmpty else { return }
        let first = below(other.columns.count)
        group.table = other.name
        group.columns = Array(group.columns.prefix(other.columns.count))
        for index in group.columns.indices {
            group.columns[index].name = other.columns[(first + index) % other.columns.count]
        }
    }

    private static func shape(_ identity: [UInt8]) -> Int {
        RowIdentity(checking: identity[...])?.naturalParts?.count ?? -1
    }

    private mutating func column(
        of table: String, _ rows: Int, _ dot: Dot, _ vector: VersionVector, isInsert: Bool
    ) -> ForgedGroup.Column {
        let names: [String] =
            switch table {
            case "item": ["name", "parent", "note", "id", "Name", "rowid"]
            // Its key is its identity's to say: what contradicts that is found out only where no reference is a part of it.
            case "link": ["c", "none", "C"]
            case "loose": ["x", "y", "_rowid_"]
            case "logsync_setting": ["value", "kind", "target"]
            default: ["body", "stars", "score", "id", "BODY", "none"]
            }
        var column = ForgedGroup.Column(one(of: names), [])
        switch isInsert ? 0 : below(8) {
        case 5: column.operation = .fill
        case 6, 7:
            column.operation = .add
            let known = vector.dots.sorted { $0.peer < $1.peer }.filter { $0.peer != dot.peer }
            column.bases = (0..<rows).map { _ in
                let base = known.isEmpty ? dot : one(of: known)
                return chance(4) ? Dot(dot.peer, dot.sequence) : Dot(base.peer, one(of: [base.sequence, 1, 0, 7]))
            }
            column.values =
                chance(3)
                ? Self.reals((0..<rows).map { _ in one(of: [0, -0.0, .infinity, .nan, 1e308]) })
                : ForgedValues.integers((0..<rows).map { _ in one(of: Self.ends) })
            return column
        default: break
        }
        switch below(8) {
        case 0: column.values = ForgedValues.nulls()
        case 1, 2: column.values = ForgedValues.integers((0..<rows).map { _ in one(of: Self.ends) })
        case 3: column.values = Self.reals((0..<rows).map { _ in one(of: [0, -0.0, 0.5, .infinity, .nan, 1e308]) })
        case 4, 5:
            column.values = ForgedValues.texts(
                (0..<rows).map { _ in
                    one(of: [
                        "", "x", "never", "first", "FIRST", "1", "a\0b", "last-writer", "sum", "union", "[1, 2]",
                        "note", "\u{202E}",
                    ])
                })
        default:
            let parent = one(of: ["item", "note", "link", "unheardof"])
            var identities = (0..<rows).map { _ in identity(of: parent) }
            if let first = identities.first {
                identities = identities.map { Self.shape($0) == Self.shape(first) ? $0 : first }
            }
            column.values = ForgedValues.references(ForgedIdentity.plain(identities))
            column.referencedTable = parent
        }
        return column
    }

    private static func reals(_ values: [Double]) -> [UInt8] {
        [3] + Forge.joined(values.map { Forge.littleEndian($0.bitPattern) })
    }

    private mutating func identity(of table: String) -> [UInt8] {
        func text(_ text: String) -> KeyPart { .text(Array(text.utf8)[...]) }
        let key = one(of: ["k0", "k1", "k2", "k3", "", "K1"])
        switch table {
        case "item", "loose": return surrogate()
        case "link":
            let parent = RowIdentity(checking: surrogate()[...])
            let part: KeyPart = parent.map { .reference($0) } ?? text("")
            return Array(RowIdentity(natural: [text(one(of: ["a", "b"])), part]).bytes)
        case "logsync_setting":
            let kind = one(of: [
                "policy", "reference", "identity", "skip", "local", "key", "rename", "retired", "unenforced", "name",
                "x",
            ])
            let target = one(of: ["note", "item", "note.stars", "item.parent", "link", "note.body", "k", ""])
            return Array(RowIdentity(natural: [text(kind), text(target)]).bytes)
        default:
            if chance(8) { return surrogate() }
            if chance(8) { return Array(RowIdentity(natural: [.integer(one(of: Self.ends))]).bytes) }
            return Array(RowIdentity(natural: [text(key)]).bytes)
        }
    }

    private mutating func surrogate() -> [UInt8] { [0] + [UInt8](repeating: UInt8(below(5)), count: 16) }
}

// MARK: Snapshots

extension Nonsense {
    /// The rows of a snapshot, as its author's vector allows.
    ///
    /// - Parameter peers: of its manifest, in that order.
    package mutating func rows(_ peers: [(id: PeerID, sequence: UInt64)]) -> [SnapshotRows] {
        var all: [SnapshotRows] = []
        for _ in 0...below(4) {
            let table = one(of: ["note", "item", "loose", "Note", "unheardof", "logsync_setting"])
            if chance(2) {
                all.append(.spelled(SpelledRows(table: table, rows: (0...below(3)).map { _ in spelled(table, peers) })))
            } else if let plain = plain(table, peers) {
                all.append(.plain(plain))
            }
        }
        return all
    }

    private mutating func plain(_ table: String, _ peers: [(id: PeerID, sequence: UInt64)]) -> PlainRows? {
        var rows = PlainRows(table: table)
        for _ in 0...below(3) {
            guard let identity = RowIdentity(checking: identity(of: table)[...]) else { continue }
            rows.identities.append(identity)
            rows.stamps.append(stamp(peers))
        }
        guard !rows.identities.isEmpty else { return nil }
        if chance(2) { rows.integers = rows.identities.map { _ in one(of: Self.ends) } }
        var seen: Set<String> = []
        for _ in 0..<below(5) {
            let name = columnName(of: table)
            guard seen.insert(name.folded).inserted else { continue }
            var column = PlainRows.Column(name: name, values: chance(6) ? nil : rows.identities.map { _ in value() })
            for row in rows.identities.indices where chance(3) {
                column.exceptions.append(PlainRows.Exception(row: row, stamp: stamp(peers)))
            }
            rows.columns.append(column)
        }
        return rows
    }

    private mutating func spelled(_ table: String, _ peers: [(id: PeerID, sequence: UInt64)]) -> SpelledRows.Row {
        let identity = RowIdentity(checking: identity(of: table)[...])
        var row = SpelledRows.Row(identity: identity ?? RowIdentity(surrogate: [UInt8](repeating: 9, count: 16)))
        if chance(2) { row.integer = one(of: Self.ends) }
        row.inserts = stamps(below(3), peers)
        row.deletes = stamps(below(2), peers)
        var seen: Set<String> = []
        for _ in 0..<below(4) {
            let name = columnName(of: table)
            guard seen.insert(name.folded).inserted else { continue }
            var cell = SpelledRows.Cell(column: name)
            cell.versions = stamps(1 + below(3), peers).map {
                SpelledRows.Version(stamp: $0, value: chance(8) ? nil : value())
            }
            if chance(3) {
                cell.additions = stamps(1 + below(2), peers).map { own in
                    let base = stamp(peers)
                    return SpelledRows.Addition(
                        basePeer: base.peer, baseSequence: base.sequence, stamp: own,
                        cumulative: chance(3) ? .real(one(of: [.infinity, 0.5, 1e308])) : .integer(one(of: Self.ends)))
                }
            }
            row.cells.append(cell)
        }
        return row
    }

    private mutating func columnName(of table: String) -> String {
        switch table {
        case "item": one(of: ["name", "parent", "note", "id", "Name"])
        case "link": one(of: ["c", "none"])
        case "loose": one(of: ["x", "y", "z"])
        case "logsync_setting": one(of: ["value", "kind", "target"])
        default: one(of: ["body", "stars", "score", "id", "BODY", "none"])
        }
    }

    /// Some, each of another transaction.
    private mutating func stamps(_ count: Int, _ peers: [(id: PeerID, sequence: UInt64)]) -> [EntryStamp] {
        var all: [EntryStamp] = []
        for _ in 0..<count {
            let next = stamp(peers)
            if !all.contains(where: { ($0.peer, $0.sequence) == (next.peer, next.sequence) }) { all.append(next) }
        }
        return all
    }

    private mutating func stamp(_ peers: [(id: PeerID, sequence: UInt64)]) -> EntryStamp {
        let peer = below(peers.count)
        let sequence = peers[peer].sequence
        return EntryStamp(
            peer: peer, sequence: chance(3) ? sequence : 1 + UInt64(below(Int(clamping: min(sequence, 200)))),
            time: HybridTime(milliseconds: one(of: [0, 1_600_000_000_000, 1_700_000_000_000, 1_700_000_000_001])))
    }

    private mutating func value() -> Value {
        switch below(7) {
        case 0: .null
        case 1: .integer(one(of: Self.ends))
        case 2: .real(one(of: [0, 0.5, -0.0, .infinity, 1e308]))
        case 3: .blob([0, 255])
        case 4:
            RowIdentity(checking: identity(of: one(of: ["item", "note", "link"]))[...]).map { .reference($0) } ?? .null
        default: .text(one(of: ["", "x", "never", "FIRST", "k0", "sum", "a\0b"]))
        }
    }

    /// What a program does to its tables meanwhile; nil where it does nothing.
    package mutating func statement() -> String? {
        one(of: [
            nil, nil, nil, "INSERT INTO item(name) VALUES(hex(randomblob(4)))", "UPDATE note SET stars = stars + 1",
            "DELETE FROM note WHERE id = 'k0'", "INSERT OR REPLACE INTO note(id, score) VALUES('k2', 0.5)",
            "UPDATE item SET parent = id", "DELETE FROM item", "UPDATE OR REPLACE note SET id = 'k1' WHERE id = 'k0'",
            "DELETE FROM loose WHERE rowid = 1", "UPDATE loose SET x = NULL",
        ])
    }
}
