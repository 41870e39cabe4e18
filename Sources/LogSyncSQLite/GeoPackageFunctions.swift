import GRDBSQLite
import LogSyncModel

/// The functions that a GeoPackage's triggers call to keep its R-trees, and that each program brings with it: `ST_MinX`,
/// `ST_MaxX`, `ST_MinY`, `ST_MaxY` and `ST_IsEmpty`. With them the triggers are made in clones, and are run for rows that come.
///
/// Source: OGC 12-128r18, "RTree Spatial Indexes" (<https://www.geopackage.org/spec131/#extension_rtree>).
enum GeoPackageFunctions {
    private static let names = ["ST_MinX", "ST_MaxX", "ST_MinY", "ST_MaxY", "ST_IsEmpty"]

    /// They compute, and read nothing but their argument. Of what is no geometry they are NULL, as GDAL's are.
    static func add(to handle: OpaquePointer) throws {
        for (index, name) in names.enumerated() {
            let code = sqlite3_create_function_v2(
                handle, name, 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                UnsafeMutableRawPointer(bitPattern: index + 1),
                { context, _, arguments in
                    let index = Int(bitPattern: sqlite3_user_data(context)) - 1
                    guard let value = arguments?[0], sqlite3_value_type(value) == SQLITE_BLOB,
                        let bytes = sqlite3_value_blob(value),
                        let geometry = GeoPackageGeometry(
                            UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_value_bytes(value))))
                    else { return sqlite3_result_null(context) }
                    if index == 4 { return sqlite3_result_int(context, geometry.isEmpty ? 1 : 0) }
                    guard let box = geometry.box else { return sqlite3_result_null(context) }
                    sqlite3_result_double(context, [box.minX, box.maxX, box.minY, box.maxY][index])
                }, nil, nil, nil)
            guard code == SQLITE_OK else {
                throw LogSyncError(.ioError, "SQLite takes no function (code \(code)); nothing was opened")
            }
        }
    }
}

/// A geometry as a GeoPackage stores it: a header, mostly with the box around it, and the geometry as WKB.
///
/// Source: <https://www.geopackage.org/spec131/#gpb_format>; OGC 06-103r4, 8.2 (WKB).
struct GeoPackageGeometry {
    struct Box: Equatable {
        var minX = Double.infinity
        var maxX = -Double.infinity
        var minY = Double.infinity
        var maxY = -Double.infinity

        mutating func include(_ x: Double, _ y: Double) {
            // Coordinates of an empty point are no numbers.
            guard !x.isNaN, !y.isNaN else { return }
            (minX, maxX, minY, maxY) = (min(minX, x), max(maxX, x), min(minY, y), max(maxY, y))
        }
    }

    let isEmpty: Bool
    /// nil where it is empty, or where it has arcs, or is of a kind of its program's own, and no box is written beside it.
    let box: Box?

    /// Returns nil for what is no such geometry.
    init?(_ bytes: UnsafeRawBufferPointer) {
        var reader = Reader(bytes)
        guard reader.byte() == UInt8(ascii: "G"), reader.byte() == UInt8(ascii: "P"), reader.byte() != nil,
            let flags = reader.byte()
        else { return nil }
        reader.isLittleEndian = flags & 1 != 0
        let envelope = flags >> 1 & 7
        guard envelope <= 4, reader.word() != nil else { return nil }
        isEmpty = flags & 0x10 != 0
        var box = Box()
        if envelope > 0 {
            var ends: [Double] = []
            for _ in 0..<[0, 4, 6, 6, 8][Int(envelope)] {
                guard let end = reader.double() else { return nil }
                ends.append(end)
            }
            box.include(ends[0], ends[2])
            box.include(ends[1], ends[3])
        } else if flags & 0x20 != 0 || !reader.geometry(&box, depth: 0) {
            self.box = nil
            return
        }
        self.box = isEmpty || box.minX > box.maxX ? nil : box
    }

    private struct Reader {
        private let bytes: UnsafeRawBufferPointer
        private var offset = 0
        var isLittleEndian = true

        /// Collections in collections are no deeper.
        private static let depth = 32

        init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

        mutating func byte() -> UInt8? {
            guard offset < bytes.count else { return nil }
            defer { offset += 1 }
            return bytes[offset]
        }

        mutating func word() -> UInt32? { integer() }

        mutating func double() -> Double? { integer().map { Double(bitPattern: $0) } }

        private mutating func integer<Number: FixedWidthInteger>() -> Number? {
            let size = Number.bitWidth / 8
            guard bytes.count - offset >= size else { return nil }
            defer { offset += size }
            let number = bytes.loadUnaligned(fromByteOffset: offset, as: Number.self)
            return isLittleEndian ? Number(littleEndian: number) : Number(bigEndian: number)
        }

        /// Adds a geometry's points to a box. False where it is none, or none whose box is that of its points.
        mutating func geometry(_ box: inout Box, depth: Int) -> Bool {
            guard depth < Self.depth, let order = byte(), order <= 1 else { return false }
            isLittleEndian = order == 1
            guard let type = word(), type < 4000 else { return false }
            // x and y, and z or m or both.
            let width = [2, 3, 3, 4][Int(type / 1000)]
            switch type % 1000 {
            case 1: return points(1, width, &box)
            case 2: return list { $0.points($1, width, &box) }
            case 3, 17:
                return list { reader, rings in
                    for _ in 0..<rings where !reader.list({ $0.points($1, width, &box) }) { return false }
                    return true
                }
            case 4...7, 11, 12, 15, 16:
                return list { reader, parts in
                    for _ in 0..<parts where !reader.geometry(&box, depth: depth + 1) { return false }
                    return true
                }
            default: return false
            }
        }

        private mutating func list(_ body: (inout Reader, UInt32) -> Bool) -> Bool {
            // Each element has four bytes at least.
            guard let count = word(), Int(count) <= (bytes.count - offset) / 4 else { return false }
            return body(&self, count)
        }

        private mutating func points(_ count: UInt32, _ width: Int, _ box: inout Box) -> Bool {
            for _ in 0..<count {
                guard let x = double(), let y = double() else { return false }
                for _ in 2..<width where double() == nil { return false }
                box.include(x, y)
            }
            return true
        }
    }
}
