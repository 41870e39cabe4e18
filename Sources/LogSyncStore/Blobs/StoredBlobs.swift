import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// The bytes of large values that this peer recorded: kept from the transaction that recorded them until their blob
/// file has been read back, because the rows may change before that. Afterwards a cell is remembered that held them,
/// from which a blob file that is lost can be written again as long as nobody overwrites it.
struct StoredBlobs {
    let store: OpenStore

    private var connection: Connection { store.connection }

    /// So many bytes stand in one row of the parts.
    static let partLength = 1 << 20

    /// A cell of a row.
    struct Place {
        var table: String
        var identity: RowIdentity
        var column: String
    }

    /// What stands for a value in a log; the value itself where it is not large or has to be in the log.
    ///
    /// - Parameter dot: the transaction that names the blob.
    func reference(to value: Value, at place: Place, in table: TrackedTable, of dot: Dot) throws -> Value {
        guard !table.keyNames.contains(place.column), table.isExternalizable,
            let (reference, bytes) = value.external(above: store.configuration.blobThreshold)
        else { return value }
        let blob = try keep(reference.id, bytes, at: place)
        try connection.run(
            "INSERT OR IGNORE INTO logsync_outbox_blob(peer, sequence, blob) VALUES(?, ?, ?)", .integer(store.own),
            .integer(Int64(dot.sequence)), .integer(blob))
        return .external(reference)
    }

    private func keep(_ id: BlobID, _ bytes: Bytes, at place: Place) throws -> Int64 {
        let blob = try note(id, at: place)
        let isSafe = try connection.integer("SELECT waits OR published FROM logsync_blob WHERE id = ?", .integer(blob))
        if isSafe == 1 { return blob }
        var rest = bytes
        var part: Int64 = 0
        while !rest.isEmpty {
            try connection.run(
                "INSERT INTO logsync_blob_part(blob, part, bytes) VALUES(?, ?, ?)", .integer(blob), .integer(part),
                .blob(rest.prefix(Self.partLength)))
            rest = rest.dropFirst(Self.partLength)
            part += 1
        }
        try connection.run("UPDATE logsync_blob SET waits = 1 WHERE id = ?", .integer(blob))
        return blob
    }

    /// Remembers that a cell holds these bytes. Returns the blob's number.
    func note(_ id: BlobID, at place: Place) throws -> Int64 {
        if let blob = try number(of: id) {
            try connection.run(
                "UPDATE logsync_blob SET table_name = ?2, identity = ?3, column_name = ?4 WHERE id = ?1",
                .integer(blob), .text(place.table), .blob(place.identity.bytes), .text(place.column))
            return blob
        }
        try connection.run(
            "INSERT INTO logsync_blob(hash, length, table_name, identity, column_name) VALUES(?, ?, ?, ?, ?)",
            .blob(id.hash[...]), .integer(Int64(id.length)), .text(place.table), .blob(place.identity.bytes),
            .text(place.column))
        return connection.lastInsertedRow
    }

    func number(of id: BlobID) throws -> Int64? {
        try connection.integer("SELECT id FROM logsync_blob WHERE hash = ?", .blob(id.hash[...]))
    }

    /// Lets go of the bytes of a blob that is published.
    func release(_ blob: Int64) throws {
        try connection.run("DELETE FROM logsync_blob_part WHERE blob = ?", .integer(blob))
        try connection.run("UPDATE logsync_blob SET waits = 0, published = 1 WHERE id = ?", .integer(blob))
    }

    // MARK: Reading

    /// Streams the bytes that are kept. False where none are.
    func forEachPart(of id: BlobID, _ body: (Bytes) throws -> Void) throws -> Bool {
        let statement = try connection.prepare(
            """
            SELECT part.bytes FROM logsync_blob AS blob JOIN logsync_blob_part AS part ON part.blob = blob.id
            WHERE blob.hash = ? AND blob.waits ORDER BY part.part
            """)
        statement.bind(blob: id.hash[...], at: 1)
        defer { statement.reset() }
        var isAny = false
        while try statement.step() {
            isAny = true
            try body(statement.bytes(0))
        }
        return isAny
    }

    /// The bytes, from what is kept or from the cell that held them last; nil where neither has them.
    func bytes(of id: BlobID) throws -> Bytes? {
        var kept: [UInt8] = []
        if try forEachPart(of: id, { kept += $0 }) { return kept[...] }
        let found = try connection.rows(
            "SELECT table_name, identity, column_name FROM logsync_blob WHERE hash = ?", .blob(id.hash[...]))
        guard let row = found.first, case .blob(let bytes) = row[1], let identity = RowIdentity(checking: bytes) else {
            return nil
        }
        let place = Place(table: String(text: row[0]), identity: identity, column: String(text: row[2]))
        for value in try values(at: place) {
            guard let (reference, bytes) = value.external(above: id.length - 1), reference.id == id else { continue }
            return bytes
        }
        return nil
    }

    /// Every version of a cell.
    private func values(at place: Place) throws -> [Value] {
        var full: RowState?
        if let table = store.catalog[place.table] {
            let shownRows = ShownRows(store)
            full = try shownRows.locate(place.identity, in: table).flatMap {
                try shownRows.full(at: $0, in: table)?.full
            }
        }
        let state = try full?.state ?? HiddenRows(store).row(place.table, place.identity)?.clock
        return state?.cellsByName[place.column]?.versions.compactMap(\.value) ?? []
    }
}

extension TrackedTable {
    /// Settings are read from logs before there is a store that could look for blobs.
    var isExternalizable: Bool { !holdsSettings }
}
