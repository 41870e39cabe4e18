import LogSyncModel
import LogSyncStore

/// A peer that is looked at.
struct Checked {
    var store: Store
    var oracle: OracleState
    var app: AppConnection
    /// In names as the store has them.
    var schema: SchemaModel
    var name: String
}

/// Compares what stores show and keep with what the oracle says, and peers with one another.
final class Checks {
    private let scenario: Scenario
    private let ledger: Ledger
    /// A schema in the names of logs, and its tables.
    private final class View {
        let schema: SchemaModel
        let tables: OracleTables

        init(_ named: SchemaModel) throws {
            schema = named.withSettings
            tables = try OracleTables(schema)
        }
    }

    private var views: [String: View] = [:]
    /// What the scenario came to; none until the end.
    private(set) var yield = Yield()
    /// What was shown at a vector: the end asks for the same once for each peer.
    private var known: (vector: VersionVector, view: View, shown: OracleShown)?

    init(_ scenario: Scenario, _ ledger: Ledger) {
        self.scenario = scenario
        self.ledger = ledger
    }

    /// Transactions of the vector that was looked at last are forgotten, and others may be called so.
    func forget() { known = nil }

    private func view(_ local: SchemaModel, _ oracle: OracleState) throws -> View {
        var named = local.inLogNames
        if scenario.features.contains(.keyMigrations) {
            named = named.withKeysAsConstraints.withReferences(OracleSettings(oracle).references)
        }
        let references = named.tables.flatMap { table in
            table.columns.compactMap { column in column.reference.map { "\(table.name).\(column.name) \($0.parent)" } }
        }
        let fingerprint = ([local.fingerprint] + references).joined(separator: ";")
        if let view = views[fingerprint] { return view }
        let view = try View(named)
        views[fingerprint] = view
        return view
    }

    /// Compares one peer, which has nothing unrecorded, with the oracle's state at its vector.
    func check(_ peer: Checked) throws {
        let (store, oracle, name) = (peer.store, peer.oracle, peer.name)
        let vector = try store.vector()
        guard vector == oracle.vector else {
            throw Failure(
                .error,
                "\(name) is at \(Spelling.vector(vector)), where it has been given \(Spelling.vector(oracle.vector))")
        }
        let audit = try store.audit()
        if let problem = audit.problems.first {
            throw Failure(
                .audit,
                "\(name): \(problem)\(audit.problems.count > 1 ? " (and \(audit.problems.count - 1) more)" : "")")
        }
        let view = try view(peer.schema, oracle)
        let shown = try shown(oracle, view)
        try compare(audit.shown, shown, view.schema, name)
        try compareKept(peer.app, shown, view.schema, name)
        try compareConflicts(store, shown, view.schema, name)
        try compareChecks(peer)
    }

    /// The rows that break a CHECK constraint are shown, and listed: those, and no others.
    private func compareChecks(_ peer: Checked) throws {
        let tables = peer.schema.tables.filter { !$0.checks.isEmpty }
        guard !tables.isEmpty else { return }
        let listed = try peer.store.parkedRows(table: nil).filter { $0.reason == "check" }
        for table in tables {
            let key = table.hasLocalInteger ? ["id"] : table.key
            let rowid = table.isWithoutRowid ? "NULL" : "rowid"
            let condition = table.checks.map { "(\($0))" }.joined(separator: " AND ")
            func parts(_ values: [Value]) -> [KeyPart?] {
                values.enumerated().map { KeyPart($1, collation: table[key[$0]]?.collation ?? .binary) }
            }
            let breaking = try peer.app.rows(
                "SELECT \(rowid), \(key.joined(separator: ", ")) FROM \(table.name) WHERE NOT (\(condition))")
            // A row with a NULL in its key is called by its rowid.
            let expected = Set(
                breaking.map { row in parts(row.dropFirst().contains(.null) ? [row[0]] : Array(row.dropFirst())) })
            let actual = Set(listed.filter { $0.table == table.name }.map { parts($0.key) })
            guard actual == expected else {
                throw Failure(
                    .check,
                    "\(peer.name) lists \(actual.count) rows of \(table.name) that break a CHECK constraint; \(expected.count) do"
                )
            }
        }
    }

    private func shown(_ oracle: OracleState, _ view: View) throws -> OracleShown {
        if let known, known.vector == oracle.vector, known.view === view { return known.shown }
        let shown = try OracleShown(oracle, schema: view.schema, tables: view.tables)
        known = (oracle.vector, view, shown)
        return shown
    }

    private func compare(
        _ actual: [String: [String: [String: Value]]], _ expected: OracleShown, _ schema: SchemaModel, _ name: String
    ) throws {
        for table in schema.tables {
            let actual = actual[table.name] ?? [:]
            var expectedRows: [String: [String: Value]] = [:]
            for (identity, row) in expected.rows[table.name] ?? [:] { expectedRows[identity.description] = row }
            for identity in Set(actual.keys).union(expectedRows.keys).sorted()
            where actual[identity] != expectedRows[identity] {
                throw Failure(
                    .shown,
                    "\(name) shows \(table.name) \(identity) as \(Spelling.row(actual[identity])), "
                        + "the oracle as \(Spelling.row(expectedRows[identity]))")
            }
        }
    }

    /// Rows of tables that are not here are kept too; what they are is decided when their table comes.
    private func compareKept(
        _ app: AppConnection, _ expected: OracleShown, _ schema: SchemaModel, _ name: String
    ) throws {
        var parked: Set<OracleShown.RowName> = []
        var dead: Set<OracleShown.RowName> = []
        for row in try app.rows("SELECT table_name, identity, state FROM logsync_kept") {
            guard case .blob(let bytes) = row[1], let identity = RowIdentity(checking: bytes) else {
                throw Failure(.kept, "\(name) keeps a row without an identity")
            }
            if schema[row[0].string] == nil { continue }
            let kept = OracleShown.RowName(table: row[0].string, identity: identity)
            if row[2].string == "parked" { parked.insert(kept) } else { dead.insert(kept) }
        }
        try compare(parked, expected.parked, "parks", name)
        try compare(dead, expected.dead, "keeps the lost edits of", name)
    }

    private func compare(
        _ actual: Set<OracleShown.RowName>, _ expected: Set<OracleShown.RowName>, _ verb: String, _ name: String
    ) throws {
        guard
            let row = actual.symmetricDifference(expected).min(by: { ($0.table, $0.identity) < ($1.table, $1.identity) }
            )
        else { return }
        let (left, right) = actual.contains(row) ? ("", "does not") : ("does not ", "does")
        throw Failure(.kept, "\(name) \(left)\(verb) \(row.table) \(row.identity); the oracle \(right)")
    }

    /// What a dropped column held is not known any more, and whether that was a conflict.
    private func compareConflicts(
        _ store: Store, _ expected: OracleShown, _ schema: SchemaModel, _ name: String
    ) throws {
        func isHere(_ conflict: OracleShown.Conflict) -> Bool { schema[conflict.table]?[conflict.column] != nil }
        let listed = try store.conflicts(table: nil, all: true).map { conflict in
            OracleShown.Conflict(
                table: conflict.loggedTable, column: conflict.loggedColumn,
                dots: Set(conflict.versions.map(\.dot)), isLost: conflict.shown == nil)
        }
        let actual = Set(listed.filter(isHere))
        // Settings are settled by the last writer and not listed.
        let expected = expected.conflicts.filter { $0.table != OracleSettings.table && isHere($0) }
        guard let conflict = actual.symmetricDifference(expected).first else { return }
        let (left, right) = actual.contains(conflict) ? ("lists", "does not") : ("does not list", "does")
        let values = try store.conflicts(table: nil, all: true).first {
            $0.loggedTable == conflict.table && $0.loggedColumn == conflict.column
                && Set($0.versions.map(\.dot)) == conflict.dots
        }?.versions.map(\.value)
        let listedValues = values.map { " (\($0.map(Spelling.value).joined(separator: ", ")))" } ?? ""
        throw Failure(
            .lost,
            "\(name) \(left) \(conflict.isLost ? "the lost edit" : "the conflict") in \(conflict.table).\(conflict.column) "
                + "of \(conflict.dots.sorted().map(Spelling.dot).joined(separator: ", ")); the oracle \(right)"
                + listedValues)
    }

    // MARK: The end

    /// Everybody has everything: they are the same, and stay the same.
    func checkEnd(_ peers: [Checked]) throws {
        guard let first = peers.first else { return }
        let digest = try first.store.summary().digest
        for peer in peers {
            guard try peer.store.record() == nil else {
                throw Failure(.phantom, "\(peer.name) records a change that nobody made")
            }
            let vector = try peer.store.vector()
            // What a store had not published when its backup took its place is gone with it.
            let expected = scenario.hasRestores ? try first.store.vector() : ledger.lasts
            guard vector == expected else {
                throw Failure(
                    .unsettled,
                    "\(peer.name) stays at \(Spelling.vector(vector)), where \(Spelling.vector(expected)) was made")
            }
            try check(peer)
            guard peer.oracle == first.oracle else {
                throw Failure(.divergence, "the oracle's own states differ: \(first.name) and \(peer.name)")
            }
            guard try peer.store.summary().digest == digest else {
                throw Failure(.divergence, "\(first.name) and \(peer.name) have the same vector and different digests")
            }
            if let known { yield = Yield(ledger, known.shown, known.view.schema) }
            try checkDatabase(peer)
            guard try peer.store.record() == nil else {
                throw Failure(.phantom, "\(peer.name) records a change that nobody made, the second time")
            }
        }
    }

    /// NB: SQLite before 3.41 takes columns of WITHOUT ROWID tables whose key does not come first for others when it looks
    /// for NULLs. To go with Debian 12.
    private func isMistaken(_ problem: String, _ peer: Checked) throws -> Bool {
        guard problem.hasPrefix("NULL value in ") else { return false }
        let names = problem.dropFirst("NULL value in ".count).split(separator: ".")
        guard names.count == 2 else { return false }
        return try peer.app.rows("SELECT 1 FROM \(names[0]) WHERE \(names[1]) IS NULL LIMIT 1").isEmpty
    }

    private func checkDatabase(_ peer: Checked) throws {
        let (app, name) = (peer.app, peer.name)
        let result = try app.rows("PRAGMA integrity_check").map { $0[0].string }
        // Rows that break a CHECK constraint are shown, and compared with those that are listed.
        guard
            try result.allSatisfy({
                try $0 == "ok" || $0.hasPrefix("CHECK constraint failed in ") || isMistaken($0, peer)
            })
        else {
            throw Failure(.constraint, "\(name): \(result.joined(separator: "; "))")
        }
        for row in try app.rows("PRAGMA foreign_key_check") {
            let table = row[0].string
            let keys = try app.rows("SELECT id, \"from\" FROM pragma_foreign_key_list('\(table)') ORDER BY id, seq")
            let column = keys.filter { $0[0] == row[3] }.map { key in
                peer.schema[table]?[key[1].string]?.logName ?? key[1].string
            }.joined(separator: ",")
            guard
                !(known?.shown.unenforced.contains("\(peer.schema[table]?.logName ?? table).\(column)".lowercased())
                    ?? false)
            else { continue }
            throw Failure(
                .constraint,
                "\(name) shows a row of \(table) whose \(column) breaks its foreign key (row \(Spelling.value(row[1])))"
            )
        }
    }
}
