package import LogSyncModel

/// Turns one transaction into the blocks of its segment, a frame of about 1 MiB at a time.
///
/// ```swift
/// var encoder = try TransactionEncoder(header: header, previous: chain) { try outbox.insert($0.bytes) }
/// for group in groups { try encoder.append(group) }
/// let (chain, counts) = try encoder.finish()
/// ```
///
/// The same header and groups, appended in the same portions, always give the same chain hash.
package struct TransactionEncoder {
    private let time: HybridTime
    private let emit: (EncodedBlock) throws -> Void
    private let packer: BlockPacker
    private let frame = ByteWriter()
    private var chain: ChainHasher
    private var cells = 0
    private var frames = 0
    private var counts: [String: ChangeCounts] = [:]

    /// Emits the header block.
    ///
    /// - Parameters:
    ///   - header: its dependency changes are written by peer, whatever their order.
    ///   - previous: the peer's chain hash before this transaction.
    ///   - compresses: whether to compress where it helps. The chain hash does not depend on it.
    ///   - emit: takes the blocks, in order.
    /// - Throws: `LogSyncError.Code.malformedLog` where the header could not be read back (sequence 0,
    ///   a dependency on itself, two on one peer), and what `emit` throws.
    package init(
        header: TransactionHeader, previous: ChainHash, compresses: Bool = true,
        emit: @escaping (EncodedBlock) throws -> Void
    ) throws {
        time = header.time
        self.emit = emit
        packer = BlockPacker(compresses: compresses)
        chain = ChainHasher(previous: previous, peer: header.dot.peer, sequence: header.dot.sequence)
        try header.encode(to: frame)
        try packer.pack(.header, frame.bytes, chain: &chain, emit: emit)
        frame.removeAll()
    }

    /// Adds a group, splitting it by rows where a frame gets full.
    ///
    /// - Precondition: the group has at least one row, and as many identities as times, integers (if any) and values.
    /// - Throws: `LogSyncError.Code.unsupportedTable` for a name that is empty or holds a NUL, or a row that is larger
    ///   than a frame may be, and what `emit` throws.
    package mutating func append(_ group: RowGroup) throws {
        try group.checkForm()
        count(group)
        var start = 0
        try group.withRowSizes { sizes, overhead in
            while start < group.rowCount {
                let rows = nextRows(of: group, from: start, sizes: sizes, overhead: overhead)
                if rows.isEmpty {
                    try flush()
                    continue
                }
                try GroupEncoder(out: frame, time: time).encode(group, rows: rows)
                guard frame.count <= Limits.frameLength else {
                    throw LogSyncError(
                        .unsupportedTable,
                        "A row of \(group.table.debugDescription) has \(frame.count) bytes, more than a log can hold; nothing was "
                            + "recorded and nothing is lost",
                        help: "Make the row smaller, or leave the table out with logsync init --skip")
                }
                cells += rows.count * (group.columns.count + 1)
                start = rows.upperBound
                if frame.count >= Limits.blockLength { try flush() }
            }
        }
    }

    /// Emits what is left and the end block. The encoder is of no use afterwards.
    ///
    /// - Throws: `LogSyncError.Code.unsupportedTable` where more blobs are named than an end can list.
    /// - Returns: the chain hash after this transaction, and how many rows of each table it changes.
    package mutating func finish() throws -> (chain: ChainHash, counts: [String: ChangeCounts]) {
        try flush()
        SegmentEnd(frames: frames, counts: counts).encode(to: frame)
        guard frame.count <= Limits.recordLength else { throw LogSyncError.tooManyBlobs }
        try packer.pack(.end, frame.bytes, chain: &chain, emit: emit)
        frame.removeAll()
        return (chain.finalize(), counts)
    }

    /// The rows from `start` on that still fit this frame; none where it should be flushed first.
    private func nextRows(
        of group: RowGroup, from start: Int, sizes: UnsafeBufferPointer<Int>, overhead: Int
    ) -> Range<Int> {
        let width = group.columns.count + 1
        let limit = min(group.rowCount, start + (Limits.cellsPerFrame - cells) / width)
        var room = Limits.blockLength - frame.count - overhead
        var end = start
        while end < limit, sizes[end] <= room {
            room -= sizes[end]
            end += 1
        }
        if frame.count == 0 { return start..<max(end, start + 1) }
        // A sliver at a frame's end costs more than it saves.
        let isSliver = end < group.rowCount && Limits.blockLength - frame.count < Limits.blockLength / 8
        return isSliver ? start..<start : start..<end
    }

    private mutating func flush() throws {
        guard frame.count > 0 else { return }
        try packer.pack(.frame, frame.bytes, chain: &chain, emit: emit)
        frame.removeAll()
        cells = 0
        frames += 1
    }

    private mutating func count(_ group: RowGroup) {
        counts[group.table, default: ChangeCounts()] += group.counts
    }
}

extension RowGroup {
    /// How many rows it inserts, updates or deletes.
    var counts: ChangeCounts {
        switch kind {
        case .insert: ChangeCounts(inserted: rowCount)
        case .update: ChangeCounts(updated: rowCount)
        case .delete: ChangeCounts(deleted: rowCount)
        }
    }

    /// Checks on the way out what the decoder checks on the way in.
    fileprivate func checkForm() throws {
        precondition(rowCount > 0, "a group has at least one row")
        precondition(times.count == rowCount, "a group has as many times as rows")
        precondition(integers.isEmpty || integers.count == rowCount, "a group has as many integers as rows, or none")
        try Self.check(table, "table")
        var names: Set<String> = []
        for column in columns {
            precondition(column.values.count == rowCount, "a column has as many values as rows")
            precondition(column.times.isEmpty || column.times.count == rowCount, "a column has as many times as rows")
            precondition(column.bases.count == (column.operation == .add ? rowCount : 0), "only amounts have bases")
            precondition(column.operation != .add || column.values.allSatisfy(\.isNumeric), "amounts are numbers")
            precondition(names.insert(column.name).inserted, "a group has each column once")
            try Self.check(column.name, "column of \(table.debugDescription)")
            if let referenced = column.referencedTable { try Self.check(referenced, "referenced table") }
            guard column.bases.allSatisfy({ $0.sequence <= Limits.sequence }) else {
                throw LogSyncError(
                    .malformedLog, "An amount is added to what no transaction gave; no log was made of it")
            }
        }
        guard columns.count < Limits.cellsPerFrame else {
            throw LogSyncError(
                .unsupportedTable,
                "\(table.debugDescription) has more columns than a log can hold; nothing was recorded",
                help: "Leave the table out with logsync init --skip")
        }
    }

    private static func check(_ name: String, _ what: @autoclosure () -> String) throws {
        guard !name.isEmpty, !name.utf8.contains(0) else {
            throw LogSyncError(
                .unsupportedTable,
                "A \(what()) is named \(name.debugDescription); a log cannot hold this name, so nothing was recorded",
                help: "Give it another name")
        }
    }

    /// Gives an upper bound of each row's encoded size, and of what the group takes besides.
    fileprivate func withRowSizes<R>(_ body: (UnsafeBufferPointer<Int>, _ overhead: Int) throws -> R) throws -> R {
        var overhead = 64 + table.utf8.count
        var fixed = 1
        for column in columns {
            overhead += 96 + column.name.utf8.count + (column.referencedTable?.utf8.count ?? 0)
            fixed += 1 + (column.bases.isEmpty ? 0 : 31)
        }
        return try withUnsafeTemporaryAllocation(of: Int.self, capacity: rowCount) { sizes in
            identities.withUnsafeBufferPointer { identities in
                for row in identities.indices {
                    sizes.initializeElement(at: row, to: fixed + identities[row].bytes.count)
                }
            }
            times.addEncodedSizes(to: sizes)
            var previous: Int64 = 0
            for row in integers.indices {
                let integer = integers[row] ?? ByteWriter.noRowNumber
                sizes[row] += (integer &- previous).zigzag.varintLength
                previous = integer
            }
            for column in columns {
                column.values.withUnsafeBufferPointer { values in
                    for row in values.indices { sizes[row] += values[row].encodedSize }
                }
                column.times.addEncodedSizes(to: sizes)
            }
            return try body(UnsafeBufferPointer(sizes), overhead)
        }
    }
}

extension [HybridTime] {
    /// Adds to each row's size what its time takes.
    fileprivate func addEncodedSizes(to sizes: UnsafeMutableBufferPointer<Int>) {
        guard let first, contains(where: { $0 != first }) else { return }
        var previous = first.milliseconds
        for row in indices {
            sizes[row] +=
                (self[row].milliseconds - previous).zigzag.varintLength + UInt64(self[row].counter).varintLength
            previous = self[row].milliseconds
        }
    }
}

extension Value {
    var isNumeric: Bool {
        switch self {
        case .integer, .real: true
        default: false
        }
    }

    /// About how many bytes the payload takes; not fewer than it does.
    @inline(__always)
    fileprivate var encodedSize: Int {
        switch self {
        case .null: 0
        case .integer(let value): value.zigzag.varintLength
        case .real: 8
        case .text(let bytes), .blob(let bytes): bytes.count + 5
        case .reference(let identity): identity.bytes.count + 5
        case .external: BlobID.encodedSize + 4
        }
    }
}
