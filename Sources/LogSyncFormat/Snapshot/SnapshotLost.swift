import LogSyncModel

/// The columns whose values a snapshot's author has lost, as they stand at the manifest's end where there are any
/// (Documentation/snapshot-format.md).
extension SnapshotManifest {
    /// - Throws: `LogSyncError.Code.malformedLog` where it could not be read back.
    func encodeLost(to out: ByteWriter) throws {
        let tables = Dictionary(grouping: lost, by: \.table).map { table, columns in
            (table, columns.map(\.column).sorted(by: Self.precedes))
        }
        let names = tables.flatMap { [$0] + $1 }
        guard lost.count <= Self.maximumLost, names.allSatisfy({ !$0.isEmpty && !$0.utf8.contains(0) }) else {
            throw LogSyncError(.malformedLog, "\(lost.count) impossible lost columns; no snapshot was made of them")
        }
        out.append(varint: UInt64(tables.count))
        for (table, columns) in tables.sorted(by: { Self.precedes($0.0, $1.0) }) {
            out.append(table)
            out.append(varint: UInt64(columns.count))
            for column in columns { out.append(column) }
        }
    }

    static func lost(from reader: inout ByteReader) throws -> Set<ColumnName> {
        var lost: Set<ColumnName> = []
        var left = maximumLost
        var last: String?
        for _ in 0..<(try reader.count(of: "tables with lost columns", size: 5)) {
            let table = try reader.name("table")
            guard last.map({ precedes($0, table) }) ?? true else {
                throw reader.damaged("a table with lost columns cannot stand here")
            }
            last = table
            let columns = try columns(from: &reader, atMost: left)
            left -= columns.count
            lost.formUnion(columns.map { ColumnName(table, $0) })
        }
        return lost
    }

    private static func columns(from reader: inout ByteReader, atMost limit: Int) throws -> [String] {
        let count = try reader.count(of: "lost columns", size: 2)
        guard count >= 1, count <= limit else {
            throw reader.damaged("there cannot be \(count) lost columns here")
        }
        var columns: [String] = []
        for _ in 0..<count {
            let column = try reader.name("column")
            guard columns.last.map({ precedes($0, column) }) ?? true else {
                throw reader.damaged("a lost column cannot stand here")
            }
            columns.append(column)
        }
        return columns
    }

    private static func precedes(_ a: String, _ b: String) -> Bool { a.utf8.lexicographicallyPrecedes(b.utf8) }
}
