import LogModel
import LogStore

/// Compares what stores show and keep with what the oracle says, and peers with one another.
final class Checks {
    private let scenario: Scenario
    private let ledger: Ledger
    private let schema: SchemaModel
    private let tables: OracleTables
    /// What the scenario came to; none until the end.
    private(set) var yield = Yield()
    /// What was shown at a vector: the end asks for the same once for each peer.
    private var known: (vector: VersionVector, shown: OracleShown)?

    init(_ scenario: Scenario, _ ledger: Ledger) throws {
        self.scenario = scenario
        self.ledger = ledger
        schema = scenario.schema.withSettings
        tables = try OracleTables(schema)
    }

    /// Compares one peer, which has nothing unrecorded, with the oracle's state at its vector.
    func check(_ store: Store, _ oracle: OracleState, _ app: AppConnection, name: String) throws {
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
        let shown = try shown(oracle)
        try compare(audit.shown, shown, name)
        try compareKept(app, shown, name)
        try compareConflicts(store, shown, name)
    }

    private func shown(_ oracle: OracleState) throws -> OracleShown {
        if let known, known.vector == oracle.vector { return known.shown }
        let shown = try OracleShown(oracle, schema: schema, tables: tables)
        known = (oracle.vector, shown)
        return shown
    }

    private func compare(_ actual: [String: [String: [String: Value]]], _ expected: OracleShown, _ name: String) throws
    {
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

    private func compareKept(_ app: AppConnection, _ expected: OracleShown, _ name: String) throws {
        var parked: Set<OracleShown.RowName> = []
        var dead: Set<OracleShown.RowName> = []
        for row in try app.rows("SELECT table_name, identity, state FROM logsync_kept") {
            guard case .blob(let bytes) = row[1], let identity = RowIdentity(checking: bytes) else {
                throw Failure(.kept, "\(name) keeps a row without an identity")
            }
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

    private func compareConflicts(_ store: Store, _ expected: OracleShown, _ name: String) throws {
        let listed = try store.conflicts(table: nil, all: true).map { conflict in
            OracleShown.Conflict(
                table: conflict.table, column: conflict.column, dots: Set(conflict.versions.map(\.dot)),
                isLost: conflict.shown == nil)
        }
        let actual = Set(listed)
        // Settings are settled by the last writer and not listed.
        let expected = expected.conflicts.filter { $0.table != OracleSettings.table }
        guard let conflict = actual.symmetricDifference(expected).first else { return }
        let (left, right) = actual.contains(conflict) ? ("lists", "does not") : ("does not list", "does")
        throw Failure(
            .lost,
            "\(name) \(left) \(conflict.isLost ? "the lost edit" : "the conflict") in \(conflict.table).\(conflict.column) "
                + "of \(conflict.dots.sorted().map(Spelling.dot).joined(separator: ", ")); the oracle \(right)")
    }

    // MARK: The end

    /// Everybody has everything: they are the same, and stay the same.
    func checkEnd(_ peers: [(store: Store, oracle: OracleState, app: AppConnection, name: String)]) throws {
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
            try check(peer.store, peer.oracle, peer.app, name: peer.name)
            guard peer.oracle == first.oracle else {
                throw Failure(.divergence, "the oracle's own states differ: \(first.name) and \(peer.name)")
            }
            guard try peer.store.summary().digest == digest else {
                throw Failure(.divergence, "\(first.name) and \(peer.name) have the same vector and different digests")
            }
            if let shown = known?.shown { yield = Yield(ledger, shown, schema) }
            try checkDatabase(peer.app, peer.name)
            guard try peer.store.record() == nil else {
                throw Failure(.phantom, "\(peer.name) records a change that nobody made, the second time")
            }
        }
    }

    private func checkDatabase(_ app: AppConnection, _ name: String) throws {
        let result = try app.rows("PRAGMA integrity_check").map { $0[0].string }
        guard result == ["ok"] else { throw Failure(.constraint, "\(name): \(result.joined(separator: "; "))") }
        for row in try app.rows("PRAGMA foreign_key_check") {
            let table = row[0].string
            let keys = try app.rows("SELECT id, \"from\" FROM pragma_foreign_key_list('\(table)')")
            let column = keys.first { $0[0] == row[3] }.map { $0[1].string } ?? ""
            guard !(known?.shown.unenforced.contains("\(table).\(column)".lowercased()) ?? false) else { continue }
            throw Failure(
                .constraint,
                "\(name) shows a row of \(table) whose \(column) breaks its foreign key (row \(Spelling.value(row[1])))"
            )
        }
    }
}
