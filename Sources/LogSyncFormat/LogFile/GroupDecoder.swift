import LogSyncModel

/// Decodes the groups of one frame. Texts and blobs are slices of its payload.
struct GroupDecoder {
    /// The payload that `reader` reads.
    let payload: [UInt8]
    let time: HybridTime
    private var cells = 0

    init(payload: [UInt8], time: HybridTime) {
        self.payload = payload
        self.time = time
    }

    /// Decodes a frame's payload, and tells which blobs it names.
    static func groups(
        of payload: [UInt8], time: HybridTime, offset: Int
    ) throws -> (groups: [RowGroup], blobs: Set<BlobID>) {
        try payload.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes, offset: offset)
            var decoder = GroupDecoder(payload: payload, time: time)
            var groups: [RowGroup] = []
            repeat {
                groups.append(try decoder.group(from: &reader))
            } while !reader.isAtEnd
            return (groups, reader.blobs)
        }
    }

    private mutating func group(from reader: inout ByteReader) throws -> RowGroup {
        let rawKind = try reader.byte()
        guard let kind = RowGroup.Kind(rawValue: rawKind) else { throw reader.newer("kind of change \(rawKind)") }
        let flags = try reader.byte()
        guard flags & ~GroupFlags.known == 0 else { throw reader.newer("group flags \(flags)") }
        let table = try reader.name("table")
        let rowCount = try reader.count(of: "rows")
        guard rowCount > 0 else { throw reader.damaged("a group without rows") }
        try account(cells: rowCount, &reader)
        var group = RowGroup(table: table, kind: kind)
        group.identities = try IdentityDecoder(payload: payload).decode(rowCount, from: &reader)
        group.times = try times(rowCount, from: &reader)
        if flags & GroupFlags.integers != 0 { group.integers = try integers(rowCount, from: &reader) }
        // A column takes at least a name's length, a letter, an operation, flags and an encoding.
        let columnCount = try reader.count(of: "columns", size: 5)
        // Neither is above 2³¹.
        try account(cells: rowCount * columnCount, &reader)
        var names: Set<[UInt8]> = []
        group.columns.reserveCapacity(columnCount)
        for _ in 0..<columnCount {
            let column = try column(of: group.identities, from: &reader)
            guard names.insert(Array(column.name.utf8)).inserted else {
                throw reader.damaged("column \(column.name.debugDescription) stands twice in a group")
            }
            group.columns.append(column)
        }
        return group
    }

    private mutating func account(cells count: Int, _ reader: inout ByteReader) throws {
        guard count <= Limits.cellsPerFrame - cells else {
            throw reader.damaged("a frame with more than \(Limits.cellsPerFrame) cells")
        }
        cells += count
    }

    private func column(of identities: [RowIdentity], from reader: inout ByteReader) throws -> RowGroup.Column {
        let name = try reader.name("column")
        let rawOperation = try reader.byte()
        guard let operation = RowGroup.Operation(rawValue: rawOperation) else {
            throw reader.newer("operation \(rawOperation)")
        }
        let flags = try reader.byte()
        guard flags & ~ColumnFlags.known == 0 else { throw reader.newer("column flags \(flags)") }
        var column = RowGroup.Column(name: name, operation: operation)
        if flags & ColumnFlags.referencedTable != 0 { column.referencedTable = try reader.name("referenced table") }
        column.values = try ColumnDecoder(payload: payload).decode(identities, from: &reader)
        if flags & ColumnFlags.times != 0 { column.times = try times(identities.count, from: &reader) }
        if flags & ColumnFlags.bases != 0 { column.bases = try bases(identities.count, from: &reader) }
        guard (operation == .add) == !column.bases.isEmpty else {
            throw reader.damaged("amounts and bases must come together")
        }
        guard operation != .add || column.values.allSatisfy(\.isNumeric) else {
            throw reader.damaged("an amount is not a number")
        }
        return column
    }

    private func times(_ count: Int, from reader: inout ByteReader) throws -> [HybridTime] {
        let encoding = try TimeEncoding(from: &reader)
        guard encoding == .constant else {
            return try TimeColumn(base: time.milliseconds, encoding: encoding).decode(count, from: &reader)
        }
        let time = HybridTime(
            milliseconds: try reader.milliseconds(after: time.milliseconds), counter: try reader.timeCounter())
        return [HybridTime](repeating: time, count: count)
    }

    private func integers(_ count: Int, from reader: inout ByteReader) throws -> [Int64] {
        guard count <= reader.remaining else { throw reader.damaged("the payload ends early") }
        var integers: [Int64] = []
        integers.reserveCapacity(count)
        var previous: Int64 = 0
        for _ in 0..<count {
            previous &+= try reader.zigzag()
            integers.append(previous)
        }
        return integers
    }

    private func bases(_ count: Int, from reader: inout ByteReader) throws -> [Dot] {
        var peers: [PeerID] = []
        for _ in 0..<(try reader.count(of: "peers", size: 16)) { peers.append(try reader.peer()) }
        guard count <= reader.remaining / 2 else { throw reader.damaged("the payload ends early") }
        var bases: [Dot] = []
        bases.reserveCapacity(count)
        for _ in 0..<count {
            let number = try reader.varint()
            guard number < UInt64(peers.count) else { throw reader.damaged("there is no peer \(number)") }
            bases.append(Dot(peers[Int(number)], try reader.varint()))
        }
        return bases
    }
}
