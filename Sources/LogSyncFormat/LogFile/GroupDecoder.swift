import LogSyncModel

/// Decodes the groups of one frame. Texts and blobs are slices of its payload.
struct GroupDecoder {
    /// The payload that `reader` reads.
    private let payload: [UInt8]
    /// Of the transaction.
    private let dot: Dot
    private let time: HybridTime
    private var cells = 0

    private init(payload: [UInt8], header: TransactionHeader) {
        self.payload = payload
        dot = header.dot
        time = header.time
    }

    /// What a frame holds.
    struct Frame {
        var groups: [RowGroup] = []
        /// The blobs that it names.
        var blobs: Set<BlobID> = []
        /// The bytes of the values that are in them, each as often as it is a row's.
        var blobBytes = 0
        /// The bytes that its values have beyond those in the payload.
        var repeatedBytes = 0
    }

    /// Decodes a frame's payload.
    ///
    /// - Parameter header: of the transaction that it belongs to.
    static func frame(_ payload: [UInt8], of header: TransactionHeader, offset: Int) throws -> Frame {
        try payload.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes, offset: offset)
            var decoder = GroupDecoder(payload: payload, header: header)
            var groups: [RowGroup] = []
            repeat {
                groups.append(try decoder.group(from: &reader))
            } while !reader.isAtEnd
            guard payload.count <= Limits.sharedFrameLength || groups.count == 1 && groups[0].rowCount == 1 else {
                throw reader.damaged("several rows in a frame of more than \(Limits.sharedFrameLength) bytes")
            }
            return Frame(
                groups: groups, blobs: reader.blobs, blobBytes: reader.blobBytes, repeatedBytes: reader.repeatedBytes)
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
        group.identities = try IdentityDecoder(payload: payload).decode(rows: rowCount, from: &reader)
        group.times = try times(rowCount, from: &reader)
        if flags & GroupFlags.integers != 0 { group.integers = try reader.rowNumbers(rowCount) }
        // A column takes at least a name's length, a letter, an operation, flags and an encoding.
        let columnCount = try reader.count(of: "columns", size: 5)
        // Neither is above 2³¹.
        try account(cells: rowCount * columnCount, &reader)
        // As SQLite tells them apart.
        var names: Set<[UInt8]> = []
        group.columns.reserveCapacity(columnCount)
        for _ in 0..<columnCount {
            let column = try column(of: group.identities, from: &reader)
            guard names.insert(column.name.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }).inserted else {
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

    private func bases(_ count: Int, from reader: inout ByteReader) throws -> [Dot] {
        var peers: [PeerID] = []
        for _ in 0..<(try reader.count(of: "peers", size: 16)) { peers.append(try reader.peer()) }
        guard count <= reader.remaining / 2 else { throw reader.damaged("the payload ends early") }
        var bases: [Dot] = []
        bases.reserveCapacity(count)
        for _ in 0..<count {
            let number = try reader.varint()
            guard number < UInt64(peers.count) else { throw reader.damaged("there is no peer \(number)") }
            let base = Dot(peers[Int(number)], try reader.sequence(from: 0))
            guard base.peer != dot.peer || base.sequence <= dot.sequence else {
                throw reader.damaged("an amount added to what comes later")
            }
            bases.append(base)
        }
        return bases
    }
}
