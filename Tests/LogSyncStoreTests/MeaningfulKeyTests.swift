import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// INTEGER PRIMARY KEYs that are no numbers of each machine's own.
@Suite("Integer keys that mean something")
struct MeaningfulKeyTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private func reasons(table: String, key: String, _ values: [Int64], type: String = "") throws -> [String] {
        let rows = values.map { "INSERT INTO \(table) VALUES(\($0), 'x');" }.joined()
        let schema = "CREATE TABLE \(table)(\(key) INTEGER PRIMARY KEY \(type), text TEXT);"
        return try folder.examine(schema + rows, in: table).undecidedKeys.map(\.reason)
    }

    @Test(
        "A key is asked for that is called as what people agree upon, whatever it holds",
        arguments: [
            ("years", "year"), ("spatial_ref_sys", "srid"), ("gpkg_spatial_ref_sys", "srs_id"), ("crs", "epsg_code"),
            ("books", "isbn13"), ("products", "ean"), ("places", "zipcode"), ("places", "zip"), ("days", "unix_day"),
            ("days", "epochday"), ("countries", "dial_code"), ("http", "status"), ("services", "port_number"),
            ("games", "steam_id"), ("films", "tmdbId"), ("things", "server_id"), ("samples", "timestamp"),
        ])
    func named(table: String, key: String) throws {
        #expect(try reasons(table: table, key: key, []) == ["is called \(key)"])
    }

    @Test(
        "A key is none's business but the machine's that is called as a key, or as its table",
        arguments: [
            ("t", "id"), ("t", "_id"), ("t", "Z_PK"), ("notes", "noteId"), ("notes", "noteid"), ("notes", "note"),
            ("files", "idFile"), ("files", "rowid"), ("dept", "deptno"), ("t", "nr"), ("pages", "page_number"),
            ("t", "seq"),
            ("servers", "server_id"), ("dim_date", "date_key"), ("t", "uid"), ("roads", "fid"), ("song", "songs"),
        ])
    func ownNumbers(table: String, key: String) throws {
        #expect(try reasons(table: table, key: key, [1, 2, 3, 57, 4000]) == [])
    }

    @Test(
        "A key is asked for that holds what no counter gives",
        arguments: [
            ([20_240_131, 20_240_201, 20_240_301], "holds days, as 20240131"),
            ([202_311, 202_312, 202_401], "holds months, as 202311"),
            ([1_704_067_200, 1_704_153_600, 1_704_240_000], "holds times of full hours, as 1704067200"),
            (
                [4_006_381_333_931, 5_901_234_123_457, 9_780_306_406_157, 4_012_345_678_901],
                "holds numbers with check digits, as 4006381333931"
            ),
            ([100, 150, 200, 400, 750], "holds multiples of 50"),
            ([-1_001_234_567_999, -1_001_234_567_891, 555_555], "holds integers below zero, as -1001234567999"),
        ] as [([Int64], String)])
    func values(values: [Int64], reason: String) throws {
        #expect(try reasons(table: "t", key: "id", values) == [reason])
    }

    @Test(
        "Gaps, milliseconds and lots are a program's own",
        arguments: [
            [1, 2, 3], [3, 999, 5321, 5322, 5329], [1990, 1991, 1993], [7, 14, 28],
            [1_700_000_000_001, 1_700_000_100_002, 1_700_000_200_003],
            [-8_223_372_036_854_775_807, -5_000_000_000_000_000_001, 77, 4_611_686_018_427_387_903],
            [20_240_131, 20_240_132, 20_240_133], [-1, 0, 1],
        ] as [[Int64]])
    func counted(values: [Int64]) throws {
        #expect(try reasons(table: "t", key: "id", values) == [])
    }

    @Test("In a column that is not called as a key is, wide gaps are no chance, and neither are years")
    func gaps() throws {
        #expect(
            try reasons(table: "stuff", key: "blip", [22, 80, 443])
                == ["is called blip and holds integers far from each other, as 443"])
        #expect(try reasons(table: "seasons", key: "season", [1998, 1999, 2001]) == ["holds years, as 1998"])
        #expect(try reasons(table: "other", key: "blop", [1, 2, 3, 5]) == [])
        #expect(try reasons(table: "calendar", key: "year", [1, 2], type: "AUTOINCREMENT") == [])
        // Read off a clock.
        #expect(try reasons(table: "samples", key: "ts", [1_700_000_000_001, 1_700_000_100_002]) == [])
    }

    private static let reference = """
        CREATE TABLE spatial_ref_sys(srid INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE layers(name TEXT PRIMARY KEY, srid INTEGER);
        INSERT INTO spatial_ref_sys VALUES(4326, 'WGS 84'), (3857, 'Mercator'); INSERT INTO layers VALUES('roads', 4326);
        """

    @Test("An identity decides it, and what refers to it is asked for only where it is a local number")
    func decided() throws {
        let asked = try folder.examine(Self.reference)
        #expect(asked.undecidedKeys.map(\.column) == ["srid"] && asked.undecided.isEmpty)
        let obstacle = try #require(asked.obstacle)
        #expect(obstacle.code == .configuration && obstacle.message.contains("spatial_ref_sys.srid is called srid"))
        for option in ["--identity spatial_ref_sys=natural", "--identity spatial_ref_sys=surrogate"] {
            #expect(obstacle.help?.contains(option) == true)
        }
        let natural = try folder.examine("SELECT 1") { $0.identities["spatial_ref_sys"] = .natural }
        #expect(natural.obstacle == nil && natural.undecidedKeys.isEmpty && natural.undecided.isEmpty)
        let local = try folder.examine("SELECT 1") { $0.identities["Spatial_Ref_Sys"] = .surrogate }
        #expect(local.undecidedKeys.isEmpty && local.undecided.map(\.column) == ["srid"])
        #expect(try folder.examine("SELECT 1") { $0.local = ["spatial_ref_sys"] }.obstacle == nil)
        #expect(try folder.examine("SELECT 1") { $0.knowsColumns = true }.undecidedKeys.isEmpty)
        #expect(try folder.examine("SELECT 1") { $0.settings = [("identity", "x", "surrogate")] }.obstacle == nil)
    }

    @Test("A reference that is told to keys which are the same everywhere is plain data", arguments: [true, false])
    func plain(isFirst: Bool) throws {
        let a = try TestPeer(folder, "a", sql: Self.reference) { plan in
            plan.identities["spatial_ref_sys"] = .natural
            plan.references = [("layers", "srid", "spatial_ref_sys")]
        }
        let b = try TestPeer(folder, "b", cloning: a)
        for peer in isFirst ? [a, b] : [b, a] {
            try peer.write(
                """
                INSERT INTO spatial_ref_sys VALUES(32632, 'UTM'); INSERT INTO layers VALUES('of \(peer.name)', 32632);
                """)
        }
        try converge(a, b)
        for peer in [a, b] {
            #expect(
                try peer.strings("SELECT * FROM layers ORDER BY name") == ["of a|32632", "of b|32632", "roads|4326"])
            #expect(try peer.strings("SELECT count(*) FROM spatial_ref_sys") == ["3"])
        }
    }
}
