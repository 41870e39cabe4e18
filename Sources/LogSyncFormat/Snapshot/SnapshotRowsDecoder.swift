import LogSyncModel

/// Decodes one frame of a snapshot. Texts and blobs are slices of its payload.
struct SnapshotRowsDecoder {
    /// The payload that the reader reads.
    let payload: [UInt8]
    let peers: [SnapshotManifest.Peer]

    func decode(from reader: inout ByteReader) throws -> SnapshotRows {
        let rawKind = try reader.byte()
        guard let kind = SnapshotRowsKind(rawValue: rawKind) else { throw reader.newer("kind of rows \(rawKind)") }
        let flags = try reader.byte()
        let known = kind == .plain ? SnapshotFlags.known : 0
        guard flags & ~known == 0 else { throw reader.newer("flags of rows \(flags)") }
        let table = try reader.name("table")
        let count = try reader.count(of: "rows")
        guard count > 0, count <= Limits.cellsPerFrame else { throw reader.damaged("there cannot be \(count) rows") }
        let identities = try IdentityDecoder(payload: payload).decode(count, from: &reader)
        let rows: SnapshotRows =
            switch kind {
            case .plain:
                .plain(try plain(table, identities, hasIntegers: flags & SnapshotFlags.integers != 0, from: &reader))
            case .spelled: .spelled(try spelled(table, identities, from: &reader))
            }
        guard reader.isAtEnd else { throw reader.damaged("bytes after a frame's rows") }
        return rows
    }

    // MARK: Plain rows

    private func plain(
        _ table: String, _ identities: [RowIdentity], hasIntegers: Bool, from reader: inout ByteReader
    ) throws -> PlainRows {
        let count = identities.count
        var rows = PlainRows(table: table, identities: identities)
        rows.stamps = try stamps(count, from: &reader)
        if hasIntegers { rows.integers = try reader.rowNumbers(count) }
        // A column takes at least a name's length, a letter and flags.
        let columnCount = try reader.count(of: "columns", size: 3)
        guard columnCount < Limits.cellsPerFrame, count <= Limits.cellsPerFrame / (columnCount + 1) else {
            throw reader.damaged("a frame with more than \(Limits.cellsPerFrame) cells")
        }
        var names: Set<[UInt8]> = []
        rows.columns.reserveCapacity(columnCount)
        for _ in 0..<columnCount {
            let column = try column(identities, from: &reader)
            guard names.insert(Array(column.name.utf8)).inserted else {
                throw reader.damaged("column \(column.name.debugDescription) stands twice")
            }
            rows.columns.append(column)
        }
        return rows
    }

    private func column(_ identities: [RowIdentity], from reader: inout ByteReader) throws -> PlainRows.Column {
        var column = PlainRows.Column(name: try reader.name("column"), values: nil)
        let flags = try reader.byte()
        guard flags & ~SnapshotColumnFlags.known == 0 else { throw reader.newer("column flags \(flags)") }
        if flags & SnapshotColumnFlags.lost == 0 {
            column.values = try ColumnDecoder(payload: payload).decode(identities, from: &reader)
        }
        guard flags & SnapshotColumnFlags.exceptions != 0 else { return column }
        let rows = try ascending(below: identities.count, "cells set later", from: &reader)
        guard !rows.isEmpty else { throw reader.damaged("no cells set later, where some were announced") }
        for (row, stamp) in zip(rows, try stamps(rows.count, from: &reader)) {
            column.exceptions.append(PlainRows.Exception(row: row, stamp: stamp))
        }
        return column
    }

    /// A count, and as many ascending numbers below a limit.
    private func ascending(below limit: Int, _ what: String, from reader: inout ByteReader) throws -> [Int] {
        let count = try reader.count(of: what)
        guard count <= limit else { throw reader.damaged("there cannot be \(count) \(what)") }
        var numbers: [Int] = []
        numbers.reserveCapacity(count)
        var next = 0
        for _ in 0..<count {
            let skipped = try reader.varint()
            guard skipped < UInt64(limit - next) else { throw reader.damaged("\(what) beyond the last") }
            numbers.append(next + Int(skipped))
            next += Int(skipped) + 1
        }
        return numbers
    }

    // MARK: Spelled rows

    private func spelled(
        _ table: String, _ identities: [RowIdentity], from reader: inout ByteReader
    ) throws -> SpelledRows {
        // Of two, a store would keep one and count both.
        guard Set(identities).count == identities.count else { throw reader.damaged("a row stands twice") }
        let integers = try ColumnDecoder(payload: payload).decode(alone: identities.count, from: &reader)
        var names: [String] = []
        for _ in 0..<(try reader.count(of: "columns", size: 2)) { names.append(try reader.name("column")) }
        guard Set(names.map { Array($0.utf8) }).count == names.count else {
            throw reader.damaged("a column stands twice")
        }
        var rows: [SpelledRows.Row] = []
        var shapes: [(inserts: Int, deletes: Int, cells: Int)] = []
        rows.reserveCapacity(identities.count)
        shapes.reserveCapacity(identities.count)
        var budget = Limits.cellsPerFrame - identities.count
        for (identity, integer) in zip(identities, integers) {
            var row = SpelledRows.Row(identity: identity)
            switch integer {
            case .integer(let integer): row.integer = Limits.rowNumbers.contains(integer) ? integer : nil
            case .null: break
            default: throw reader.damaged("an integer that is none")
            }
            rows.append(row)
            shapes.append(
                (
                    try entries("inserts", &budget, &reader), try entries("deletes", &budget, &reader),
                    try reader.count(of: "cells")
                ))
        }
        var cells: [[(column: Int, versions: Int, additions: Int)]] = []
        for shape in shapes { cells.append(try self.cells(shape.cells, names.count, &budget, &reader)) }
        let entryCount = Limits.cellsPerFrame - identities.count - budget
        var stamps = entryCount == 0 ? [] : try stamps(entryCount, from: &reader)[...]
        let valueCount = cells.reduce(0) { $0 + $1.reduce(0) { $0 + $1.versions + $1.additions } }
        var values = try self.values(valueCount, from: &reader)[...]
        for index in rows.indices {
            rows[index].inserts = take(shapes[index].inserts, &stamps)
            rows[index].deletes = take(shapes[index].deletes, &stamps)
            for cell in cells[index] {
                var whole = SpelledRows.Cell(column: names[cell.column])
                for stamp in take(cell.versions, &stamps) {
                    whole.versions.append(SpelledRows.Version(stamp: stamp, value: values.popFirst() ?? nil))
                }
                for stamp in take(cell.additions, &stamps) {
                    guard let amount = values.popFirst() ?? nil, amount.isNumeric else {
                        throw reader.damaged("an amount is not a number")
                    }
                    whole.additions.append(
                        SpelledRows.Addition(basePeer: 0, baseSequence: 0, stamp: stamp, cumulative: amount))
                }
                rows[index].cells.append(whole)
            }
        }
        try readBases(into: &rows, from: &reader)
        return SpelledRows(table: table, rows: rows)
    }

    private func entries(_ what: String, _ budget: inout Int, _ reader: inout ByteReader) throws -> Int {
        let count = try reader.varint()
        guard count <= UInt64(budget) else { throw reader.damaged("there cannot be \(count) \(what)") }
        budget -= Int(count)
        return Int(count)
    }

    private func cells(
        _ count: Int, _ columns: Int, _ budget: inout Int, _ reader: inout ByteReader
    ) throws -> [(column: Int, versions: Int, additions: Int)] {
        guard count <= columns else { throw reader.damaged("a row with more cells than columns") }
        var cells: [(column: Int, versions: Int, additions: Int)] = []
        var seen: Set<Int> = []
        for _ in 0..<count {
            let column = try reader.varint()
            guard column < UInt64(columns), seen.insert(Int(column)).inserted else {
                throw reader.damaged("a cell of no column, or of the same again")
            }
            let versions = try entries("versions", &budget, &reader)
            let additions = try entries("additions", &budget, &reader)
            guard versions + additions > 0 else { throw reader.damaged("a cell without entries") }
            cells.append((Int(column), versions, additions))
        }
        return cells
    }

    private func values(_ count: Int, from reader: inout ByteReader) throws -> [Value?] {
        guard count > 0 else { return [] }
        let lost = try ascending(below: count, "lost values", from: &reader)
        var values: [Value?] = try ColumnDecoder(payload: payload).decode(alone: count, from: &reader)
        for index in lost { values[index] = nil }
        return values
    }

    private func readBases(into rows: inout [SpelledRows.Row], from reader: inout ByteReader) throws {
        for row in rows.indices {
            for cell in rows[row].cells.indices {
                for addition in rows[row].cells[cell].additions.indices {
                    let (peer, sequence) = (try reader.varint(), try reader.sequence(from: 0))
                    guard peer < UInt64(peers.count) else {
                        throw reader.damaged("there is no peer \(peer)")
                    }
                    rows[row].cells[cell].additions[addition].basePeer = Int(peer)
                    rows[row].cells[cell].additions[addition].baseSequence = sequence
                }
            }
        }
    }

    private func take(_ count: Int, _ stamps: inout ArraySlice<EntryStamp>) -> [EntryStamp] {
        defer { stamps = stamps.dropFirst(count) }
        return Array(stamps.prefix(count))
    }

    // MARK: Stamps

    /// - Parameter count: bounded by the caller; at least 1.
    private func stamps(_ count: Int, from reader: inout ByteReader) throws -> [EntryStamp] {
        let encoding = try TimeEncoding(from: &reader)
        if encoding == .constant {
            let (peer, sequence, time) = (try reader.varint(), try reader.varint(), try reader.varint())
            let stamp = try stamp(peer, Int64(bitPattern: sequence), HybridTime(rawValue: time), reader)
            return [EntryStamp](repeating: stamp, count: count)
        }
        // Peer, sequence and milliseconds take at least a byte each.
        guard count <= reader.remaining / 3 else { throw reader.damaged("the payload ends early") }
        var stamps: [EntryStamp] = []
        stamps.reserveCapacity(count)
        var numbers: [UInt64] = []
        numbers.reserveCapacity(count)
        for _ in 0..<count { numbers.append(try reader.varint()) }
        var sequence: Int64 = 0
        for peer in numbers {
            sequence &+= try reader.zigzag()
            stamps.append(try stamp(peer, sequence, .zero, reader))
        }
        let times = try TimeColumn(base: 0, encoding: encoding).decode(count, from: &reader)
        for index in stamps.indices { stamps[index].time = times[index] }
        return stamps
    }

    private func stamp(
        _ peer: UInt64, _ sequence: Int64, _ time: HybridTime, _ reader: ByteReader
    ) throws -> EntryStamp {
        guard peer < UInt64(peers.count), sequence >= 1, UInt64(sequence) <= peers[Int(peer)].sequence else {
            throw reader.damaged("an entry that the vector does not cover")
        }
        return EntryStamp(peer: Int(peer), sequence: UInt64(sequence), time: time)
    }
}
