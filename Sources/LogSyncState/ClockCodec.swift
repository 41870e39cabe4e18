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
        var writer = Writer(bytes: [version])
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
        var writer = Writer(bytes: [])
        writer.bytes.reserveCapacity(8 + columns.count * 24)
        // The version, an insert for a base, no other inserts.
        writer.bytes += [version, 1, 0]
        writer.append(UInt64(columns.count))
        for column in columns {
            writer.append(UInt64(column))
            // One version, whose value the row shows; no additions.
            writer.bytes.append(1)
            writer.append(stamp)
            writer.bytes += [0xFF, 0]
        }
        // No unknown columns, no deletes.
        writer.bytes += [0, 0]
        return writer.bytes
    }

    package static func decodeExtra(_ bytes: Bytes, into state: inout RowClock) throws {
        var reader = Reader(rest: bytes)
        guard try reader.byte() == version else { throw Reader.malformed }
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
    package static func encodeKept(_ state: RowClock) -> [UInt8] {
        var writer = Writer(bytes: [])
        writer.append(list: [state.base].compactMap { $0 }) { $0.append($1) }
        writer.append(UInt64(state.columnCount))
        writer.bytes += encodeExtra(state) ?? []
        return writer.bytes
    }

    package static func decodeKept(_ bytes: Bytes) throws -> RowClock {
        var reader = Reader(rest: bytes)
        var state = RowClock()
        state.base = try reader.list { try $0.stamp() }.first
        state.columnCount = Int(try reader.integer())
        if !reader.rest.isEmpty { try decodeExtra(reader.rest, into: &state) }
        return state
    }

    private struct Writer {
        var bytes: [UInt8]

        mutating func append(_ integer: UInt64) {
            var rest = integer
            while rest >= 0x80 {
                bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
                rest >>= 7
            }
            bytes.append(UInt8(rest))
        }

        mutating func append(counted content: Bytes) {
            append(UInt64(content.count))
            bytes.append(contentsOf: content)
        }

        mutating func append<Element>(list: [Element], _ body: (inout Writer, Element) -> Void) {
            append(UInt64(list.count))
            for element in list { body(&self, element) }
        }

        mutating func append(_ stamp: Stamp) {
            append(UInt64(stamp.peer))
            append(stamp.sequence)
            append(stamp.time.rawValue)
        }

        mutating func append(_ value: Value) {
            switch value {
            case .null: bytes.append(0)
            case .integer(let integer):
                bytes.append(1)
                append(UInt64(bitPattern: integer << 1 ^ integer >> 63))
            case .real(let real):
                bytes.append(2)
                withUnsafeBytes(of: real.bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
            case .text(let content):
                bytes.append(3)
                append(counted: content)
            case .blob(let content):
                bytes.append(4)
                append(counted: content)
            case .reference(let identity):
                bytes.append(5)
                append(counted: identity.bytes)
            case .external(let blob):
                bytes.append(blob.kind == .text ? 6 : 7)
                append(counted: blob.id.hash[...])
                append(UInt64(blob.id.length))
            }
        }

        mutating func append(_ cell: CellState) {
            append(list: cell.versions) {
                $0.append($1.stamp)
                if let value = $1.value { $0.append(value) } else { $0.bytes.append(0xFF) }
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

    private struct Reader {
        var rest: Bytes

        static let malformed = LogSyncError(
            .invalidStore, "a clock record of the store is malformed; nothing was changed",
            help: "Check the database with PRAGMA integrity_check, or clone the store again from its container.")

        mutating func byte() throws -> UInt8 {
            guard let byte = rest.popFirst() else { throw Self.malformed }
            return byte
        }

        mutating func integer() throws -> UInt64 {
            var result: UInt64 = 0
            for shift in stride(from: 0, to: 64, by: 7) {
                let byte = try byte()
                result |= UInt64(byte & 0x7F) << UInt64(shift)
                if byte < 0x80 { return result }
            }
            throw Self.malformed
        }

        mutating func take(_ count: Int) throws -> Bytes {
            guard count >= 0, rest.count >= count else { throw Self.malformed }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }

        mutating func counted() throws -> Bytes {
            guard let count = Int(exactly: try integer()) else { throw Self.malformed }
            return try take(count)
        }

        mutating func list<Element>(_ body: (inout Reader) throws -> Element) throws -> [Element] {
            var elements: [Element] = []
            for _ in 0..<(try integer()) { elements.append(try body(&self)) }
            return elements
        }

        mutating func stamp() throws -> Stamp {
            Stamp(
                peer: Int64(bitPattern: try integer()), sequence: try integer(),
                time: HybridTime(rawValue: try integer()))
        }

        mutating func value() throws -> Value? {
            switch try byte() {
            case 0: return .null
            case 1:
                let raw = try integer()
                return .integer(Int64(bitPattern: raw >> 1) ^ -Int64(bitPattern: raw & 1))
            case 2:
                let word = try take(8).reversed().reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
                return .real(Double(bitPattern: word))
            case 3: return .text(try counted())
            case 4: return .blob(try counted())
            case 5:
                guard let identity = RowIdentity(checking: try counted()) else { throw Self.malformed }
                return .reference(identity)
            case 6: return .external(BlobReference(try blob(), .text))
            case 7: return .external(BlobReference(try blob(), .blob))
            case 0xFF: return nil
            default: throw Self.malformed
            }
        }

        /// Where rows of a snapshot are put aside; a store's own records have the bytes.
        mutating func blob() throws -> BlobID {
            let hash = try counted()
            guard let length = Int(exactly: try integer()), let id = BlobID(hash: hash, length: length) else {
                throw Self.malformed
            }
            return id
        }

        mutating func cell() throws -> CellState {
            CellState(
                versions: try list { Version(stamp: try $0.stamp(), value: try $0.value()) },
                additions: try list { reader in
                    let basePeer = Int64(bitPattern: try reader.integer())
                    let baseSequence = try reader.integer()
                    let peer = Int64(bitPattern: try reader.integer())
                    let stamp = try reader.stamp()
                    guard let cumulative = try reader.value() else { throw Self.malformed }
                    return Addition(
                        basePeer: basePeer, baseSequence: baseSequence, peer: peer, stamp: stamp,
                        cumulative: cumulative)
                })
        }
    }
}
