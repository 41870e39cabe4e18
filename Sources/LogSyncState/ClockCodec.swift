package import LogSyncModel

/// Writes and reads the `extra` column of clock records, and whole rows that are kept beside their tables.
///
/// A list of varints and values; the first byte is the encoding's version. Peers are local numbers. The bytes never
/// leave the store, but a store lives for years: encodings are only added.
package enum ClockCodec {
    private static let version: UInt8 = 1

    /// The bytes of what a record's own columns (base, count of digests) do not say; nil where that is nothing.
    package static func encodeExtra(_ state: RowClock) -> [UInt8]? {
        if state.baseIsInsert && state.inserts.isEmpty && state.cells.isEmpty && state.cellsByName.isEmpty
            && state.deletes.isEmpty
        {
            return nil
        }
        var writer = RecordWriter(bytes: [version])
        writer.append(state.baseIsInsert ? 1 : 0)
        writer.append(list: state.inserts) { $0.append($1) }
        writer.append(list: state.cells.sorted { $0.key < $1.key }) {
            $0.append(UInt64($1.key))
            $0.append($1.value)
        }
        writer.append(list: state.cellsByName.sorted { $0.key < $1.key }) {
            $0.append(counted: Array($1.key.utf8)[...])
            $0.append($1.value)
        }
        writer.append(list: state.deletes) { $0.append($1) }
        return writer.bytes
    }

    /// What ``encodeExtra(_:)`` gives for a row of one insert of which some cells have been set since, by one transaction.
    ///
    /// - Parameter columns: their ids, ascending; at least one.
    package static func encodeExtra(_ columns: [Int], setBy stamp: Stamp) -> [UInt8] {
        var writer = RecordWriter(bytes: [])
        writer.bytes.reserveCapacity(8 + columns.count * 24)
        // The version, an insert for a base, no other inserts.
        writer.bytes.append(version)
        writer.bytes.append(1)
        writer.bytes.append(0)
        writer.append(UInt64(columns.count))
        for column in columns {
            writer.append(UInt64(column))
            // One version, whose value the row shows; no additions.
            writer.bytes.append(1)
            writer.append(stamp)
            writer.bytes.append(RecordReader.noValue)
            writer.bytes.append(0)
        }
        // No unknown columns, no deletes.
        writer.bytes.append(0)
        writer.bytes.append(0)
        return writer.bytes
    }

    package static func decodeExtra(_ bytes: Bytes, into state: inout RowClock) throws {
        var reader = RecordReader(rest: bytes)
        guard try reader.byte() == version else { throw RecordReader.malformed }
        state.baseIsInsert = try reader.integer() == 1
        state.inserts = try reader.list { try $0.stamp() }
        for (column, cell) in try reader.list({ (Int(try $0.integer()), try $0.cell()) }) {
            state.cells[column] = cell
        }
        for (name, cell) in try reader.list({
            (String(decoding: try $0.counted(), as: UTF8.self), try $0.cell())
        }) {
            state.cellsByName[name] = cell
        }
        state.deletes = try reader.list { try $0.stamp() }
    }

    /// A row with all its values, base spelled out.
    package static func encodeHidden(_ state: RowClock) -> [UInt8] {
        var writer = RecordWriter(bytes: [])
        writer.append(list: [state.base].compactMap { $0 }) { $0.append($1) }
        writer.append(UInt64(state.columnCount))
        writer.bytes += encodeExtra(state) ?? []
        return writer.bytes
    }

    package static func decodeHidden(_ bytes: Bytes) throws -> RowClock {
        var reader = RecordReader(rest: bytes)
        var state = RowClock()
        state.base = try reader.list { try $0.stamp() }.first
        state.columnCount = Int(try reader.integer())
        if !reader.rest.isEmpty { try decodeExtra(reader.rest, into: &state) }
        return state
    }
}

extension RecordWriter {
    fileprivate mutating func append(_ stamp: Stamp) {
        append(UInt64(stamp.peer))
        append(stamp.sequence)
        append(stamp.time.rawValue)
    }

    fileprivate mutating func append(_ cell: CellState) {
        append(list: cell.versions) {
            $0.append($1.stamp)
            if let value = $1.value { $0.append(value) } else { $0.bytes.append(RecordReader.noValue) }
        }
        append(list: cell.additions) {
            $0.append(UInt64($1.basePeer))
            $0.append($1.baseSequence)
            $0.append(UInt64($1.peer))
            $0.append($1.stamp)
            $0.append($1.cumulative)
        }
    }
}

extension RecordReader {
    /// In place of a value that the row itself shows.
    static let noValue: UInt8 = 0xFF

    fileprivate mutating func stamp() throws -> Stamp {
        Stamp(
            peer: Int64(bitPattern: try integer()), sequence: try integer(), time: HybridTime(rawValue: try integer()))
    }

    private mutating func shownValue() throws -> Value? {
        if rest.first != Self.noValue { return try value() }
        rest.removeFirst()
        return nil
    }

    fileprivate mutating func cell() throws -> CellState {
        CellState(
            versions: try list { Version(stamp: try $0.stamp(), value: try $0.shownValue()) },
            additions: try list { reader in
                Addition(
                    basePeer: Int64(bitPattern: try reader.integer()), baseSequence: try reader.integer(),
                    peer: Int64(bitPattern: try reader.integer()), stamp: try reader.stamp(),
                    cumulative: try reader.value())
            })
    }
}
