import LogSyncModel

/// How rows stand in a frame (Documentation/snapshot-format.md, frames).
enum SnapshotRowsKind: UInt8 {
    case plain = 1
    case spelled = 2
}

enum SnapshotFlags {
    static let integers: UInt8 = 1
    static let known: UInt8 = 1
}

enum SnapshotColumnFlags {
    static let exceptions: UInt8 = 1
    /// The author does not know the values any more.
    static let lost: UInt8 = 2
    static let known: UInt8 = 3
}

/// Encodes rows of one table with all their entries, columns together.
struct SnapshotRowsEncoder {
    let out: ByteWriter
    let peers: [SnapshotManifest.Peer]

    func encode(_ rows: SnapshotRows) throws {
        precondition(rows.count > 0, "a frame has at least one row")
        try check(name: rows.table, "table")
        switch rows {
        case .plain(let rows): try encode(rows)
        case .spelled(let rows): try encode(rows)
        }
    }

    private func encode(_ rows: PlainRows) throws {
        let count = rows.identities.count
        precondition(rows.stamps.count == count, "one stamp a row")
        precondition(rows.integers.isEmpty || rows.integers.count == count, "one integer a row, or none")
        guard count <= Limits.cellsPerFrame / (rows.columns.count + 1) else { throw tooManyCells(rows.table) }
        out.append(SnapshotRowsKind.plain.rawValue)
        out.append(rows.integers.isEmpty ? 0 : SnapshotFlags.integers)
        out.append(rows.table)
        out.append(varint: UInt64(count))
        try rows.identities.withUnsafeBufferPointer { try IdentityEncoder(out: out).encode($0) }
        try encode(stamps: rows.stamps)
        out.append(rowNumbers: rows.integers)
        out.append(varint: UInt64(rows.columns.count))
        for column in rows.columns {
            try check(name: column.name, "column of \(rows.table.debugDescription)")
            out.append(column.name)
            out.append(
                (column.exceptions.isEmpty ? 0 : SnapshotColumnFlags.exceptions)
                    | (column.values == nil ? SnapshotColumnFlags.lost : 0))
            if let values = column.values {
                precondition(values.count == count, "one value a row")
                try rows.identities.withUnsafeBufferPointer { identities in
                    try values.withUnsafeBufferPointer {
                        try ColumnEncoder(out: out).encode($0, identities: identities)
                    }
                }
            }
            if !column.exceptions.isEmpty { try encode(column.exceptions) }
        }
    }

    private func encode(_ exceptions: [PlainRows.Exception]) throws {
        out.append(varint: UInt64(exceptions.count))
        var next = 0
        for exception in exceptions {
            precondition(exception.row >= next, "exceptions stand by ascending row")
            out.append(varint: UInt64(exception.row - next))
            next = exception.row + 1
        }
        try encode(stamps: exceptions.map(\.stamp))
    }

    private func encode(_ rows: SpelledRows) throws {
        var names: [String] = []
        var places: [String: Int] = [:]
        var (stamps, values, bases): ([EntryStamp], [Value?], [(peer: Int, sequence: UInt64)]) = ([], [], [])
        for row in rows.rows {
            stamps += row.inserts + row.deletes
            for cell in row.cells {
                if places.updateValue(places[cell.column] ?? names.count, forKey: cell.column) == nil {
                    try check(name: cell.column, "column of \(rows.table.debugDescription)")
                    names.append(cell.column)
                }
                stamps += cell.versions.map(\.stamp) + cell.additions.map(\.stamp)
                values += cell.versions.map(\.value) + cell.additions.map { .some($0.cumulative) }
                bases += cell.additions.map { ($0.basePeer, $0.baseSequence) }
            }
        }
        guard stamps.count + rows.rows.count <= Limits.cellsPerFrame else { throw tooManyCells(rows.table) }
        out.append(SnapshotRowsKind.spelled.rawValue)
        out.append(0 as UInt8)
        out.append(rows.table)
        out.append(varint: UInt64(rows.rows.count))
        try rows.rows.map(\.identity).withUnsafeBufferPointer { try IdentityEncoder(out: out).encode($0) }
        try ColumnEncoder(out: out).encode(alone: rows.rows.map { $0.integer.map { .integer($0) } ?? .null })
        out.append(varint: UInt64(names.count))
        for name in names { out.append(name) }
        for row in rows.rows {
            out.append(varint: UInt64(row.inserts.count))
            out.append(varint: UInt64(row.deletes.count))
            out.append(varint: UInt64(row.cells.count))
        }
        for row in rows.rows {
            for cell in row.cells {
                precondition(!cell.versions.isEmpty || !cell.additions.isEmpty, "a cell has entries")
                out.append(varint: UInt64(places[cell.column] ?? 0))
                out.append(varint: UInt64(cell.versions.count))
                out.append(varint: UInt64(cell.additions.count))
            }
        }
        if !stamps.isEmpty { try encode(stamps: stamps) }
        try encode(values)
        for base in bases {
            guard peers.indices.contains(base.peer), base.sequence <= Limits.sequence else { throw uncovered }
            out.append(varint: UInt64(base.peer))
            out.append(varint: base.sequence)
        }
    }

    /// Values of which some may not be known: which those are, then all, with NULL in their places.
    private func encode(_ values: [Value?]) throws {
        guard !values.isEmpty else { return }
        let lost = values.indices.filter { values[$0] == nil }
        out.append(varint: UInt64(lost.count))
        var next = 0
        for index in lost {
            out.append(varint: UInt64(index - next))
            next = index + 1
        }
        try ColumnEncoder(out: out).encode(alone: values.map { $0 ?? .null })
    }

    private func encode(stamps: [EntryStamp]) throws {
        for stamp in stamps {
            guard peers.indices.contains(stamp.peer), stamp.sequence >= 1,
                stamp.sequence <= peers[stamp.peer].sequence
            else { throw uncovered }
        }
        let first = stamps[0]
        if stamps.allSatisfy({ $0 == first }) {
            out.append(TimeEncoding.constant.rawValue)
            out.append(varint: UInt64(first.peer))
            out.append(varint: first.sequence)
            out.append(varint: first.time.rawValue)
            return
        }
        let times = stamps.map(\.time)
        let encoding = TimeEncoding(of: times)
        out.append(encoding.rawValue)
        for stamp in stamps { out.append(varint: UInt64(stamp.peer)) }
        var sequence: Int64 = 0
        for stamp in stamps {
            let next = Int64(bitPattern: stamp.sequence)
            out.append(zigzag: next &- sequence)
            sequence = next
        }
        TimeColumn(base: 0, encoding: encoding).encode(times, to: out)
    }

    private var uncovered: LogSyncError {
        LogSyncError(.malformedLog, "An entry that the version vector does not cover; no snapshot was made of it")
    }

    private func tooManyCells(_ table: String) -> LogSyncError {
        LogSyncError(
            .unsupportedTable, "More cells of \(table.debugDescription) at once than a snapshot's frame can hold")
    }

    private func check(name: String, _ what: String) throws {
        guard !name.isEmpty, !name.utf8.contains(0) else {
            throw LogSyncError(
                .unsupportedTable, "A \(what) is named \(name.debugDescription); a snapshot cannot hold this name")
        }
    }
}
