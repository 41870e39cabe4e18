import GRDBSQLite
import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// The values of many rows of one table, as a statement gave them, row by row.
struct RowBuffer {
    /// One value.
    struct Cell {
        /// Where its bytes begin, or the number itself.
        var word: UInt64
        var count: Int32
        /// SQLite's, or ``external``.
        var type: UInt8
    }

    /// The type of a cell whose word is the index of an external value; none of SQLite's.
    static let external: UInt8 = 255

    let width: Int
    private(set) var cells: [Cell] = []
    private var content = ByteArena()
    /// Values that are not in the content: their bytes are in blob files.
    private var externals: [Value] = []

    init(width: Int) { self.width = width }

    /// How many rows there are.
    var count: Int { cells.count / width }
    /// How many bytes of memory they take.
    var size: Int { content.count + cells.count * MemoryLayout<Cell>.stride }

    /// Makes room for as many rows, of the size that the rows so far have.
    mutating func reserve(rows: Int, limit: Int) {
        guard count > 0 else { return }
        cells.reserveCapacity(min(rows * width, limit / MemoryLayout<Cell>.stride))
        content.reserve(min(content.count / count * (rows + rows / 16), limit))
    }

    /// Takes a row from a statement's columns.
    @inline(__always)
    mutating func append(_ statement: Statement, from first: Int) {
        for column in first..<first + width {
            let type = statement.type(column)
            var cell = Cell(word: 0, count: 0, type: UInt8(type))
            switch type {
            case SQLITE_INTEGER: cell.word = UInt64(bitPattern: statement.integer(column))
            case SQLITE_FLOAT: cell.word = statement.real(column).bitPattern
            case SQLITE_TEXT, SQLITE_BLOB:
                cell.word = UInt64(content.count)
                statement.withBytes(column) {
                    cell.count = Int32($0.count)
                    content.append($0)
                }
            default: break
            }
            cells.append(cell)
        }
    }

    /// Puts the digest of each of a row's values into `digests`.
    @inline(__always)
    func digest(_ row: Int, by digest: ValueDigest, into digests: UnsafeMutableBufferPointer<UInt64>) {
        content.bytes.withUnsafeBytes { content in
            for position in digests.indices {
                let cell = cells[row * width + position]
                switch Int32(cell.type) {
                case SQLITE_INTEGER: digests[position] = digest.of(integer: Int64(bitPattern: cell.word))
                case SQLITE_FLOAT: digests[position] = digest.of(real: Double(bitPattern: cell.word))
                case SQLITE_TEXT, SQLITE_BLOB:
                    let start = Int(cell.word)
                    let bytes = UnsafeRawBufferPointer(rebasing: content[start..<start + Int(cell.count)])
                    digests[position] = digest.of(bytes: bytes, isText: cell.type == UInt8(SQLITE_TEXT))
                default: digests[position] = digest.ofNull
                }
            }
        }
    }

    /// Gives a cell another value.
    mutating func replace(_ row: Int, _ position: Int, with value: Value) {
        cells[row * width + position] = Cell(word: UInt64(externals.count), count: 0, type: Self.external)
        externals.append(value)
    }

    /// The length of a text or blob; 0 of other values.
    func byteCount(_ row: Int, _ position: Int) -> Int { Int(cells[row * width + position].count) }

    /// The values of one column, of some rows.
    func values(of position: Int, _ rows: [Int], integer: (Int64) throws -> Value) rethrows -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(rows.count)
        for row in rows {
            let value = value(row, position)
            if case .integer(let number) = value { values.append(try integer(number)) } else { values.append(value) }
        }
        return values
    }

    /// One value, be it large or not.
    @inline(__always)
    func value(_ row: Int, _ position: Int) -> Value {
        let cell = cells[row * width + position]
        switch Int32(cell.type) {
        case SQLITE_INTEGER: return .integer(Int64(bitPattern: cell.word))
        case Int32(Self.external): return externals[Int(cell.word)]
        case SQLITE_FLOAT: return .real(Double(bitPattern: cell.word))
        case SQLITE_TEXT: return .text(content.bytes[Int(cell.word)..<Int(cell.word) + Int(cell.count)])
        case SQLITE_BLOB: return .blob(content.bytes[Int(cell.word)..<Int(cell.word) + Int(cell.count)])
        default: return .null
        }
    }
}
