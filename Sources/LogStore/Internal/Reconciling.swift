import LogModel

/// Follows the app's schema: what an ALTER TABLE, a rebuild, a VACUUM or a new table means for columns, triggers and
/// clock records. Runs at the start of a write transaction when schema_version has moved.
struct Reconciling {
    let session: Session
    private var connection: Connection { session.connection }

    static func isNeeded(_ session: Session) throws -> Bool {
        try session.connection.integer("PRAGMA schema_version") != session.schemaVersion
    }

    func reconcile() throws {
        for table in session.catalog.tables { try followColumns(table) }
        try followNames()
        try session.reloadCatalog()
        try trackNewTables()
        for table in session.catalog.tables {
            if try !Capture.isInstalled(table, on: connection) {
                // A rebuild dropped them, and nobody knows what happened to the rows meanwhile.
                try Capture.install(table, on: connection)
                try Capture.noteEverything(table, on: connection)
                session.orphanScans.insert(table.id)
            }
            try matchRowids(table)
        }
        try session.acceptSchemaVersion()
    }

    // MARK: Tables

    /// A table whose triggers now stand on another name was renamed.
    private func followNames() throws {
        let registered = try connection.rows("SELECT id, name FROM logsync_table")
        for row in registered {
            let name = String(text: row[1])
            guard try TableSchema.read(name, on: connection) == nil else { continue }
            let now = try connection.rows(
                "SELECT tbl_name FROM sqlite_master WHERE type = 'trigger' AND name = ?",
                .text("logsync_insert_\(row[0].asInteger)"))
            guard let renamed = now.first else { continue }
            try connection.run("UPDATE logsync_table SET name = ?2 WHERE id = ?1", row[0], renamed[0])
        }
    }

    /// A table that came to be after `init` is replicated like the others, where its rows have an identity.
    private func trackNewTables() throws {
        let registered = Set(
            try connection.rows("SELECT name FROM logsync_table").map { String(text: $0[0]).lowercased() })
        let left = try connection.rows("SELECT target FROM logsync_setting WHERE kind IN ('skip', 'local')")
            .map { String(text: $0[0]).lowercased() }
        let names = try TableSchema.tableNames(on: connection).filter {
            !registered.contains($0.lowercased()) && !left.contains($0.lowercased())
                && !AppSchema.migrationTables.contains($0.lowercased())
        }
        guard !names.isEmpty else { return }
        let registering = Registering(
            connection: connection, plan: InitializePlan(content: "", container: "", peerName: ""))
        var added: [String] = []
        for name in names {
            guard let schema = try TableSchema.read(name, on: connection) else { continue }
            do {
                try registering.register(try registering.choice(schema))
                added.append(name)
            } catch let error as LogSyncError where error.code == .unsupportedTable {
                // It stays local, and `status` names it: a table without identity must not stop the others.
                continue
            }
        }
        guard !added.isEmpty else { return }
        try session.reloadCatalog()
        let tables = added.compactMap { session.catalog[$0] }
        try Registering.equip(tables, on: connection)
        for table in tables { try Capture.noteEverything(table, on: connection) }
        try adoptKeptRows(added)
    }

    /// Rows that were kept because their table was not here.
    private func adoptKeptRows(_ tables: [String]) throws {
        for table in tables {
            for row in try KeptRows(session).rows(.unknownTable, of: table) {
                var row = row
                row.state = row.clock.inserts.isEmpty ? .dead : .parked
                try KeptRows(session).put(row)
            }
        }
    }

    // MARK: Columns

    private func followColumns(_ table: TrackedTable) throws {
        guard let schema = try TableSchema.read(table.name, on: connection) else { return }
        var present: [(ordinal: Int, column: TableSchema.Column)] = []
        for (ordinal, column) in schema.columns.enumerated() where !column.isGenerated {
            if table.kind != .natural && column.name == schema.integerKey { continue }
            present.append((ordinal, column))
        }
        let rows = try connection.rows(
            "SELECT id, name, type, ordinal FROM logsync_column WHERE table_id = ? AND NOT dropped", .integer(table.id))
        let known = rows.map {
            (id: $0[0], name: String(text: $0[1]), type: String(text: $0[2]), ordinal: Int($0[3].asInteger))
        }
        let presentNames = Set(present.map { $0.column.name.lowercased() })
        let knownNames = Set(known.map { $0.name.lowercased() })
        var added = present.filter { !knownNames.contains($0.column.name.lowercased()) }
        for column in known where !presentNames.contains(column.name.lowercased()) {
            // The same place and type under a new name, and as many columns as before: renamed.
            if present.count == known.count,
                let index = added.firstIndex(where: {
                    $0.ordinal == column.ordinal && $0.column.declaredType == column.type
                })
            {
                try connection.run(
                    "UPDATE logsync_column SET name = ?3 WHERE table_id = ?1 AND id = ?2", .integer(table.id), column.id,
                    .text(added[index].column.name))
                added.remove(at: index)
            } else {
                try connection.run(
                    "UPDATE logsync_column SET dropped = 1 WHERE table_id = ?1 AND id = ?2", .integer(table.id),
                    column.id)
            }
        }
        var next = try connection.integer(
            "SELECT coalesce(max(id), -1) + 1 FROM logsync_column WHERE table_id = ?", .integer(table.id)) ?? 0
        for (ordinal, column) in added {
            try connection.run(
                "INSERT INTO logsync_column(table_id, id, name, type, ordinal) VALUES(?, ?, ?, ?, ?)",
                .integer(table.id), .integer(next), .text(column.name), .text(column.declaredType),
                .integer(Int64(ordinal)))
            next += 1
        }
        for (ordinal, column) in present {
            try connection.run(
                "UPDATE logsync_column SET ordinal = ?3 WHERE table_id = ?1 AND name = ?2 AND NOT dropped",
                .integer(table.id), .text(column.name), .integer(Int64(ordinal)))
        }
    }

    // MARK: Rowids

    /// VACUUM may number the rows of a table without INTEGER PRIMARY KEY anew: records are matched to rows by key.
    private func matchRowids(_ table: TrackedTable) throws {
        guard table.hasRowid, table.schema.integerKey == nil, table.kind == .natural else { return }
        let clock = ClockTable(table: table, connection: connection)
        let reader = TableReader(table: table, session: session)
        let references = References(session: session)
        var moves: [(from: Int64, to: Int64, uniques: [Int32])] = []
        let statement = try Statement(
            "SELECT \(table.rowid), \(table.columnList) FROM \(table.quoted)", on: connection)
        while try statement.step() {
            let rowid = statement.integer(0)
            let values = table.columns.indices.map { statement.value($0 + 1) }
            let identity = try reader.naturalIdentity { position in
                guard case .integer(let integer) = values[position], let name = table.columns[position].reference,
                    let parent = session.catalog[name],
                    let known = try references.knownIdentity(of: integer, in: parent)
                else { return values[position] }
                return .reference(known)
            }
            guard let identity else { continue }
            if table.storesIdentity {
                guard let row = try clock.row(of: identity), row != rowid else { continue }
                moves.append((row, rowid, try clock.record(at: row)?.uniques ?? []))
            } else {
                let digest = table.keyDigest(identity)
                let rows = try clock.rows(withUnique: digest)
                guard let row = rows.first, !rows.contains(rowid) else { continue }
                moves.append((row, rowid, [digest]))
            }
        }
        try clock.move(moves)
    }
}
