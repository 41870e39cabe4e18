package import LogSyncModel

/// A group of rows in a frame, of which nothing is checked.
package struct ForgedGroup {
    package var kind: RowGroup.Kind
    package var table: String
    /// The identities' bytes.
    package var identities: [[UInt8]]
    package var integers: [Int64]?
    /// What its times say: encoding and content.
    package var times: [UInt8] = [0, 0, 0]
    package var columns: [Column]

    package struct Column {
        package var name: String
        package var operation: RowGroup.Operation
        package var referencedTable: String?
        /// What its values say: encoding and content.
        package var values: [UInt8]
        package var bases: [Dot]

        package init(
            _ name: String, _ values: [UInt8], operation: RowGroup.Operation = .set, referencedTable: String? = nil,
            bases: [Dot] = []
        ) {
            self.name = name
            self.operation = operation
            self.referencedTable = referencedTable
            self.values = values
            self.bases = bases
        }
    }

    package init(
        _ kind: RowGroup.Kind, _ table: String, identities: [[UInt8]], integers: [Int64]? = nil, columns: [Column] = []
    ) {
        self.kind = kind
        self.table = table
        self.identities = identities
        self.integers = integers
        self.columns = columns
    }

    /// One row under a key of one text.
    package init(
        _ kind: RowGroup.Kind, _ table: String, key: String, integer: Int64? = nil, columns: [Column] = []
    ) {
        self.init(
            kind, table, identities: [ForgedIdentity.natural(key)], integers: integer.map { [$0] }, columns: columns)
    }

    /// As it stands in a frame's payload.
    package var bytes: [UInt8] {
        var bytes = [kind.rawValue, integers == nil ? 0 : 1] + Forge.text(table)
        bytes += Forge.varint(UInt64(identities.count)) + ForgedIdentity.plain(identities) + times
        if let integers { bytes += Forge.differences(integers) }
        return bytes + Forge.varint(UInt64(columns.count)) + Forge.joined(columns.map(\.bytes))
    }
}

extension ForgedGroup.Column {
    fileprivate var bytes: [UInt8] {
        let flags: UInt8 = (referencedTable == nil ? 0 : 1) | (bases.isEmpty ? 0 : 4)
        var bytes = Forge.text(name) + [operation.rawValue, flags]
        if let referencedTable { bytes += Forge.text(referencedTable) }
        bytes += values
        if bases.isEmpty { return bytes }
        bytes += Forge.varint(UInt64(bases.count)) + bases.flatMap(\.peer.bytes)
        for (index, base) in bases.enumerated() { bytes += Forge.varint(UInt64(index)) + Forge.varint(base.sequence) }
        return bytes
    }
}

/// Identities as bytes, and lists of them.
package enum ForgedIdentity {
    package static func natural(_ key: String) -> [UInt8] {
        Array(RowIdentity(natural: [.text(Array(key.utf8)[...])]).bytes)
    }

    /// A surrogate within so many references, each in the key of the one around it.
    package static func nested(_ depth: Int, in core: [UInt8] = [UInt8](repeating: 0, count: 17)) -> [UInt8] {
        (0..<depth).reduce(core) { inner, _ in
            [1, 5] + withUnsafeBytes(of: UInt32(inner.count).bigEndian, Array.init) + inner
        }
    }

    /// A list as lengths and bytes, which holds any.
    package static func plain(_ identities: [[UInt8]]) -> [UInt8] {
        [1] + identities.flatMap { Forge.varint(UInt64($0.count)) } + identities.flatMap { $0 }
    }

    /// A list of one identity that is nested so deeply part by part, around a plain list of another.
    package static func shaped(_ depth: Int, around identity: [UInt8]) -> [UInt8] {
        (0..<depth).reduce(plain([identity])) { inner, _ in [2, 1, 5] + inner }
    }
}

/// Values as encoding and content.
package enum ForgedValues {
    package static func nulls() -> [UInt8] { [0] }
    package static func integers(_ values: [Int64]) -> [UInt8] { [1] + values.flatMap(Forge.zigzag) }
    package static func texts(_ values: [String]) -> [UInt8] {
        [4] + values.flatMap { Forge.varint(UInt64($0.utf8.count)) } + Forge.joined(values.map { Array($0.utf8) })
    }
    /// - Parameter identities: a list of identities, as it stands.
    package static func references(_ identities: [UInt8]) -> [UInt8] { [6] + identities }
    /// One text for all rows.
    package static func constant(_ text: [UInt8]) -> [UInt8] { [9, 3] + Forge.counted(text) }
    /// The part of the key with that number.
    package static func keyPart(_ number: UInt8) -> [UInt8] { [8, number] }
}
