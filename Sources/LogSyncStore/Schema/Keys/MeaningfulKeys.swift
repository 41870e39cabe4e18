// Integer keys that mean something.
//
// The problem. An INTEGER PRIMARY KEY is a number that each machine gives by itself: a row that comes with one that is
// taken gets another. A year, an EPSG code, a telephone prefix is no such number: two machines that add the year 2025 mean
// one row, and under another number it is another year. SQLite's declarations do not tell the two apart.
//
// The evidence. What the key is called, where that is what people count or number by agreement (`year`, `isbn`, `zipcode`)
// or what another program has given (`steam_id`). What it holds: days as 20240131, numbers with check digits, times that
// are all full hours, numbers that keep a distance from each other, far below zero. A counter gives none of these. Then, in
// a column that is not called as a key or its table is, integers with wide gaps.
//
// What says nothing. Gaps alone: rows are deleted. Large integers: milliseconds and lots are drawn so that no two machines
// draw the same. AUTOINCREMENT says that SQLite counts.

import LogSyncModel
import LogSyncSQLite

/// Finds INTEGER PRIMARY KEYs of which it has to be said whether they are the same everywhere.
struct MeaningfulKeys {
    let catalog: Catalog
    let connection: Connection

    /// - Parameter isWanted: whether a table is looked at.
    func found(where isWanted: (TrackedTable) -> Bool = { _ in true }) throws -> [TableReport.UndecidedKey] {
        try catalog.tables.compactMap { table in
            guard table.kind == .surrogate, isWanted(table), let key = table.localInteger,
                !table.schema.isAutoincrement,
                let reason = try reason(key, of: table)
            else { return nil }
            return TableReport.UndecidedKey(table: table.schema.name, column: key, reason: reason)
        }
    }

    private func reason(_ key: String, of table: TrackedTable) throws -> String? {
        let name = KeyName(key, of: NamedTable(table))
        let values = try values(of: table)
        let isDrawn = values.last.map { $0 >= Self.drawn } ?? false
        // A time that is read off a clock is no other machine's.
        if name.sense == .time, isDrawn, !Self.areFullHours(values) { return nil }
        if name.sense != nil { return "is called \(key)" }
        if values.count > 2 {
            if values.allSatisfy(Self.isDay) { return "holds days, as \(values[0])" }
            if values.allSatisfy(Self.isMonth), values[0] / 100 != values[values.count - 1] / 100 {
                return "holds months, as \(values[0])"
            }
            if Self.areFullHours(values) { return "holds times of full hours, as \(values[0])" }
            if values.count > 3, values.allSatisfy(Self.hasCheckDigit) {
                return "holds numbers with check digits, as \(values[0])"
            }
            if values.count > 4, !isDrawn, let step = Self.step(values), step >= 10 {
                return "holds multiples of \(step)"
            }
            if values[1] < -1000, values[0] > -Self.drawn * 1000 { return "holds integers below zero, as \(values[0])" }
        }
        guard values.count > 2, !name.isNumber else { return nil }
        if values.allSatisfy({ 1800...2100 ~= $0 }) { return "holds years, as \(values[0])" }
        guard !name.isOfTable, !isDrawn, values[0] > 0, values[values.count - 1] > Int64(values.count) * 8 + 50,
            values.count < Self.sample
        else { return nil }
        return "is called \(key) and holds integers far from each other, as \(values[values.count - 1])"
    }

    // MARK: Values

    /// Integers from here on are times in milliseconds, or drawn by lot.
    private static let drawn: Int64 = 100_000_000_000
    private static let sample = 1000

    /// Some of them, in ascending order; without 0 and -1, which stand for none.
    private func values(of table: TrackedTable) throws -> [Int64] {
        try connection.rows(
            """
            SELECT \(table.rowid) FROM \(table.quoted) WHERE \(table.rowid) NOT IN (0, -1)
            ORDER BY \(table.rowid) LIMIT \(Self.sample)
            """
        ).map { $0[0].asInteger }
    }

    /// 20240131
    private static func isDay(_ value: Int64) -> Bool {
        let (month, day) = (value / 100 % 100, value % 100)
        return 1800_0000..<2200_0000 ~= value && 1...12 ~= month && 1...31 ~= day
    }

    /// 202401
    private static func isMonth(_ value: Int64) -> Bool { 1800_00..<2200_00 ~= value && 1...12 ~= value % 100 }

    /// Of seconds or milliseconds since 1970.
    private static func areFullHours(_ values: [Int64]) -> Bool {
        guard values.count > 2, values[0] > 100_000_000 else { return false }
        let hour: Int64 = values[0] > drawn ? 3_600_000 : 3600
        return values.allSatisfy { $0 % hour == 0 }
    }

    /// As in EANs, ISBNs and UPCs.
    private static func hasCheckDigit(_ value: Int64) -> Bool {
        guard 10_000_000..<100_000_000_000_000 ~= value else { return false }
        var (rest, sum, weight) = (value / 10, Int64(0), Int64(3))
        while rest > 0 {
            sum += rest % 10 * weight
            weight = 4 - weight
            rest /= 10
        }
        return (10 - sum % 10) % 10 == value % 10
    }

    /// The greatest number of which all are multiples.
    private static func step(_ values: [Int64]) -> Int64? {
        guard values[0] > 0 else { return nil }
        return values.reduce(0) { a, b in
            var (a, b) = (a, b)
            while b != 0 { (a, b) = (b, a % b) }
            return a
        }
    }
}

/// What an integer key's name says of what it is.
private struct KeyName {
    enum Sense { case time, other }

    /// nil where it does not say that it means something.
    let sense: Sense?
    /// Whether it says that it is a number of rows: `id`, `book_id`, `nr`.
    let isNumber: Bool
    /// Whether it is the table's name.
    let isOfTable: Bool

    init(_ name: String, of table: NamedTable) {
        let all = Words(name).all.map { word in String(word.reversed().drop { $0.isNumber }.reversed()) }
        let last = all.last ?? ""
        let own = table.words.all
        func isOwn(_ word: String) -> Bool { own.contains { Words.isSame($0, word) } }
        var words = all
        while let end = words.last, Words.marks.contains(end) || Self.numbers.contains(end) { words.removeLast() }
        let isMarked = words.count < all.count || all.first == "id" || Self.endings.contains { last.hasSuffix($0) }
        isOfTable = !words.isEmpty && words.allSatisfy(isOwn) || isOwn(all.joined())
        let bare = words.last.map { Self.bare($0) } ?? ""
        if isMarked {
            // `steam_id`, and `server_id`, but for that of `servers`.
            let isStrange = (words + [bare]).contains {
                Self.givers.contains($0) || Words.strangers.contains($0) && !isOwn($0)
            }
            // `phone_number`, `zip_no`
            let isAgreed = !all.contains { Words.marks.contains($0) } && words.contains(where: Self.agreed.contains)
            sense = isStrange || isAgreed ? .other : nil
            isNumber = isOfTable || words.isEmpty || all.contains { Words.marks.contains($0) } || bare != words.last
        } else {
            let isTime = words.contains(where: Self.times.contains)
            let isAgreed = words.contains(where: Self.agreed.union(Self.givers).union(Words.strangers).contains)
            let isCompound = !isOfTable && Self.compounds.contains { last.hasSuffix($0) }
            sense = isTime ? .time : isAgreed || isCompound ? .other : nil
            isNumber = false
        }
    }

    /// `bookid` is a book's.
    private static func bare(_ word: String) -> String {
        for end in endings where word.hasSuffix(end) && word.count > end.count + 1 {
            return String(word.dropLast(end.count))
        }
        return word
    }

    /// Words for a number of rows.
    private static let numbers: Set = [
        "no", "nr", "num", "number", "oid", "uid", "gid", "idx", "index", "seq", "sequence", "serial", "ordinal", "ord",
        "position", "pos", "row", "rownum", "recno", "n", "i", "identifier", "counter",
    ]
    private static let endings = ["id", "no", "nr", "num", "idx", "key", "pk", "ref"]
    private static let times: Set = [
        "time", "timestamp", "ts", "datetime", "epoch", "date", "hour", "minute", "instant",
    ]
    /// What people have agreed upon how to number.
    private static let agreed: Set = [
        "year", "month", "week", "weekday", "day", "quarter", "decade", "century", "isbn", "issn", "ean", "gtin", "upc",
        "barcode", "zip", "zipcode", "postcode", "plz", "postal", "code", "codepoint", "unicode", "ascii", "port",
        "status",
        "phone", "telephone", "msisdn", "prefix", "vlan", "asn", "ip", "ipv", "mcc", "mnc", "imei", "vin", "ssn",
        "fips", "naics", "latitude", "longitude", "level", "degree", "rgb", "color", "colour", "midi", "frequency",
        "errno", "opcode", "bit", "bitmask", "mask", "hash", "crc", "checksum", "version", "zoom", "sku", "srid",
        "srs", "epsg", "crs", "percent", "priority", "size", "age", "price", "amount", "quantity",
    ]
    /// Those who give numbers to what many programs know.
    private static let givers: Set = [
        "srid", "srs", "epsg", "crs", "steam", "imdb", "tmdb", "tvdb",
        "anidb", "tvrage", "osm", "discogs", "musicbrainz", "spotify", "github", "gitlab", "twitter", "tweet",
        "telegram",
        "wikidata", "pubmed", "geoname", "geonames", "orcid", "isbn", "ean",
    ]
    private static let compounds = ["code", "year", "date", "day", "phone", "zip"]
}
