import Foundation
import GRDB
import LogSyncModel
import Testing

@testable import LogSyncSQLite

@Suite("Geometries of GeoPackages")
struct GeoPackageTests {
    /// As GDAL 3.9.2 stores them, and what it put into its R-tree for each.
    private static let stored: [(hex: String, box: [Double])] = [
        ("47500001e61000000101000000000000000000f83f00000000000000c0", [1.5, 1.5, -2.0, -2.0]),
        ("47500001e610000001e9030000000000000000f83f00000000000000c00000000000001c40", [1.5, 1.5, -2.0, -2.0]),
        (
            "47500003e61000000000000000000000000000000000144000000000000008c00000000000002240010200000003"
                + "0000000000000000000000000000000000f03f000000000000144000000000000008c00000000000000040000000"
                + "0000002240", [0.0, 5.0, -3.0, 9.0]
        ),
        (
            "47500003e61000000000000000000000000000000000244000000000000000000000000000001440010300000002"
                + "00000004000000000000000000000000000000000000000000000000002440000000000000000000000000000024"
                + "40000000000000144000000000000000000000000000000000040000000000000000000040000000000000f03f00"
                + "00000000000840000000000000f03f000000000000084000000000000000400000000000000040000000000000f0"
                + "3f", [0.0, 10.0, 0.0, 5.0]
        ),
        (
            "47500003e610000000000000000014c0000000000000084000000000000010400000000000001840010400000002"
                + "000000010100000000000000000008400000000000001040010100000000000000000014c00000000000001840",
            [-5.0, 3.0, 4.0, 6.0]
        ),
        (
            "47500003e61000000000000000000000000000000000204000000000000000000000000000002240010600000002"
                + "0000000103000000010000000400000000000000000000000000000000000000000000000000f03f000000000000"
                + "0000000000000000f03f000000000000f03f00000000000000000000000000000000010300000001000000040000"
                + "000000000000001c400000000000001c4000000000000020400000000000001c4000000000000020400000000000"
                + "0022400000000000001c400000000000001c40", [0.0, 8.0, 0.0, 9.0]
        ),
        (
            "47500003e610000000000000000022c0000000000000f03f00000000000020c00000000000002840010700000002"
                + "000000010100000000000000000022c0000000000000000001020000000200000000000000000000000000000000"
                + "0020c0000000000000f03f0000000000002840", [-9.0, 1.0, -8.0, 12.0]
        ),
    ]

    private static func bytes(_ hex: String) -> [UInt8] {
        stride(from: 0, to: hex.count, by: 2).map { place in
            let start = hex.index(hex.startIndex, offsetBy: place)
            return UInt8(hex[start..<hex.index(start, offsetBy: 2)], radix: 16) ?? 0
        }
    }

    private static func box(_ bytes: [UInt8]) -> [Double]? {
        bytes.withUnsafeBytes { GeoPackageGeometry($0)?.box.map { [$0.minX, $0.maxX, $0.minY, $0.maxY] } }
    }

    /// Without the box that stands beside it.
    private static func bare(_ bytes: [UInt8]) -> [UInt8] {
        let length = [0, 32, 48, 48, 64][Int(bytes[3] >> 1 & 7)]
        return bytes[..<3] + [bytes[3] & ~0x0E] + bytes[4..<8] + bytes[(8 + length)...]
    }

    @Test("have the box that GDAL computes, whether or not it is written beside them", arguments: stored.indices)
    func boxes(index: Int) {
        let (hex, box) = Self.stored[index]
        #expect(Self.box(Self.bytes(hex)) == box)
        #expect(Self.box(Self.bare(Self.bytes(hex))) == box)
    }

    @Test(
        "that are cut off or nested without end have none, and nothing is read beyond them", arguments: stored.indices)
    func damaged(index: Int) {
        let whole = Self.bare(Self.bytes(Self.stored[index].hex))
        for length in 0..<whole.count { #expect(Self.box(Array(whole[..<length])) == nil) }
        let collection: [UInt8] = [1, 7, 0, 0, 0, 1, 0, 0, 0]
        let nested = whole[..<8] + (0..<100).flatMap { _ in collection } + whole[8...]
        #expect(Self.box(Array(nested)) == nil)
        // A billion points are not there.
        #expect(Self.box(Array(whole[..<8]) + [1, 2, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0x3F]) == nil)
    }

    @Test("are asked for by SQL, and what is none gives NULL")
    func functions() throws {
        let queue = try DatabaseQueue()
        try queue.write { database in
            let handle = try #require(database.sqliteConnection)
            try Connection.defend(handle, trustsSchema: false)
            func row(_ blob: [UInt8]) throws -> [Double?] {
                try #require(
                    try Row.fetchOne(
                        database,
                        sql:
                            "SELECT ST_MinX(v), ST_MaxX(v), ST_MinY(v), ST_MaxY(v), ST_IsEmpty(v) FROM (SELECT ? AS v)",
                        arguments: [Data(blob)])
                ).databaseValues.map { Double.fromDatabaseValue($0) }
            }
            for (hex, box) in Self.stored { #expect(try row(Self.bytes(hex)) == box + [0]) }
            var empty = Self.bytes(Self.stored[0].hex)
            empty[3] |= 0x10
            #expect(try row(empty) == [nil, nil, nil, nil, 1])
            #expect(try row([0, 1, 2, 3]) == [nil, nil, nil, nil, nil])
            #expect(try Double.fetchOne(database, sql: "SELECT ST_MinX('text')") == nil)
            // As triggers call them that nobody trusts.
            try database.execute(
                sql: """
                    CREATE TABLE tree(id INTEGER PRIMARY KEY, place BLOB);
                    CREATE TABLE place(id, minx, maxx, miny, maxy);
                    CREATE TRIGGER planted AFTER INSERT ON tree BEGIN INSERT INTO place VALUES(
                        NEW.id, ST_MinX(NEW.place), ST_MaxX(NEW.place), ST_MinY(NEW.place), ST_MaxY(NEW.place)); END;
                    """)
            try database.execute(
                sql: "INSERT INTO tree VALUES(3, ?)", arguments: [Data(Self.bytes(Self.stored[0].hex))])
            #expect(try Int.fetchOne(database, sql: "SELECT id FROM place WHERE minx > 1 AND maxy < 0") == 3)
        }
    }
}
