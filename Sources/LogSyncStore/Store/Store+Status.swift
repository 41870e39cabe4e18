import Foundation
package import LogSyncModel
import LogSyncSQLite

/// What a store says of itself.
extension Store {
    package func summary() throws -> StoreSummary {
        try database.read { store in
            var pending = 0
            let oldest = try store.connection.integer(
                """
                SELECT said.time FROM (\(Self.outboxWaiting)) AS waiting
                JOIN logsync_transaction AS said ON said.peer = waiting.peer AND said.sequence = waiting.sequence
                ORDER BY said.time LIMIT 1
                """)
            var waitingSince = oldest.map { HybridTime(rawValue: UInt64(bitPattern: $0)).milliseconds }
            for table in store.catalog.tables {
                // Of a row that is only to be compared it is not known when it was written.
                let captured = try store.connection.rows(
                    "SELECT count(*), min(nullif(ms, 0)) FROM \(table.pending) WHERE number > ?",
                    .integer(table.recorded))
                for row in captured {
                    pending += Int(row[0].asInteger)
                    if !row[1].isNull { waitingSince = min(waitingSince ?? .max, row[1].asInteger) }
                }
            }
            let hidden = HiddenRows(store)
            var conflicts = 0
            // Of what logsync keeps itself, there is nothing to settle.
            for table in store.catalog.programTables {
                let found = Conflicts(store: store, table: table)
                conflicts += try found.shown(all: false).count + found.withinParked(all: false).count
                conflicts += try hidden.lostCount(of: table.name)
            }
            return StoreSummary(
                pending: pending, waitingSince: waitingSince, vector: store.peers.vector,
                conflicts: conflicts,
                parked: try hidden.count(.parked) - hidden.foldedCount(),
                hiddenForUnknownSchema: try hidden.count(.unknownTable),
                digest: store.digestText, lastImport: try store.facts.lastImport,
                unenforced: try Settings(store).values(ReferenceRule.setting).keys.sorted(),
                heldReferences: try HeldReferences(store.connection).all().map { ($0.table, $0.column, $0.parents) },
                undecided: try UndecidedColumns(store.connection).all().sorted { $0.key < $1.key }.compactMap {
                    id, columns in
                    guard let table = store.catalog.tables.first(where: { $0.id == id }) else { return nil }
                    return (table.schema.name, columns.map { ($0.name, $0.former) })
                },
                otherTables: try Renames(store.connection, absent: HiddenRows.absentNames(on: store.connection))
                    .otherTables(store.catalog))
        }
    }

    /// The digest of the replicated state alone, as ``summary()`` has it; cheap, however many conflicts there are.
    package func digest() throws -> String {
        try database.read { $0.digestText }
    }

    /// Which transactions the store has, and the digest of the state that they make; as cheap.
    package func position() throws -> (vector: VersionVector, digest: String) {
        try database.read { ($0.peers.vector, $0.digestText) }
    }

    /// Whether anything was captured since the last recording; cheap.
    package func hasPendingChanges() throws -> Bool {
        try database.read { try !PendingRows($0).isEmpty }
    }

    /// Moves whenever another connection commits.
    package func dataVersion() throws -> Int64 {
        // A connection counts from its own beginning.
        let version = try database.withConnection { try $0.integer("PRAGMA data_version") ?? 0 }
        return version & 0xFFFF_FFFF | database.openings << 32
    }

    /// Newest first. With `after`, those with greater tokens, oldest first. Tables have the names that they have now.
    ///
    /// - Throws: `usage` for a table that this store does not know.
    package func history(
        limit: Int?, after token: Int64?, author: String?, peer: PeerID?, table: String?
    ) throws -> [HistoryEntry] {
        try database.read { store in
            let number = peer.map { store.peers[$0]?.number ?? -1 }
            let names = try table.map(store.logNames)
            let statement = try store.connection.prepare(
                """
                SELECT token, peer, sequence, time, author, context, changes FROM logsync_transaction
                WHERE (?1 IS NULL OR token > ?1) AND (?2 IS NULL OR author = ?2) AND (?3 IS NULL OR peer = ?3)
                ORDER BY token \(token == nil ? "DESC" : "ASC")
                """)
            statement.bind(token.map { .integer($0) } ?? .null, at: 1)
            statement.bind(author.map { .text($0) } ?? .null, at: 2)
            statement.bind(number.map { .integer($0) } ?? .null, at: 3)
            defer { statement.reset() }
            var entries: [HistoryEntry] = []
            let decoder = JSONDecoder()
            while try statement.step(), entries.count < limit ?? .max {
                var counts = try decoder.decode(
                    [String: ChangeCounts].self, from: Data(statement.bytes(6)))
                counts[SettingTable.name] = nil
                if let names, names.isDisjoint(with: counts.keys) { continue }
                counts = counts.reduce(into: [:]) { named, table in
                    named[store.catalog[table.key]?.schema.name ?? table.key, default: ChangeCounts()] += table.value
                }
                entries.append(
                    HistoryEntry(
                        token: statement.integer(0),
                        dot: Dot(store.peers.id(statement.integer(1)), UInt64(statement.integer(2))),
                        time: HybridTime(rawValue: UInt64(bitPattern: statement.integer(3))),
                        author: statement.isNull(4) ? nil : statement.string(4),
                        context: statement.isNull(5) ? nil : statement.string(5), counts: counts))
            }
            return entries
        }
    }

    /// The app's schema as SQL, for `schemas/FINGERPRINT.sql`, and its fingerprint; with the rows that local tables have
    /// now.
    package func schemaText() throws -> (text: String, fingerprint: SchemaFingerprint) {
        // Nearly always there is nothing to settle, and so nothing to write.
        guard try database.read({ try AppSchema.hasSettledRows(on: $0.connection) }) else {
            return try database.read { try $0.settleSchema() }
        }
        return try database.write { try $0.settleSchema() }
    }

    /// Names the schema that stands for the app's: with the rows that local tables had when it last changed.
    package func schemaFingerprint() throws -> SchemaFingerprint {
        try database.read { try $0.settledSchema() } ?? schemaText().fingerprint
    }

    /// What of the content's schema this store does not have, or does not run.
    package func unmadeObjects() throws -> [UnmadeObject] {
        try database.read { store in
            let unfollowed = store.policies.unfollowed.map { target, policy in
                UnmadeObject(
                    object: target,
                    reason:
                        "the policy \(policy) is passed over: the column says which row is meant, which is no amount; "
                        + "`logsync policy set` gives it another")
            }
            return try UnmadeObjects(store.connection).all() + store.unmadeTriggersNow() + unfollowed
        }
    }

    /// That there are virtual tables which nothing keeps up to date as rows come; nil where there are none.
    package func untendedTables() throws -> String? {
        try database.read { store in try UntendedTables(on: store.connection).warning }
    }

    /// Peers' names as the content's settings have them.
    package func peerNames() throws -> [PeerID: String] {
        try database.read { store in
            var names: [PeerID: String] = [:]
            for (target, name) in try Settings(store).values("peer") {
                if let peer = PeerID(target) { names[peer] = name }
            }
            return names
        }
    }

    /// The peers that were retired, former selves among them.
    package func retiredPeers() throws -> Set<PeerID> {
        try database.read { store in
            Set(try Settings(store).values("retired").keys.compactMap { PeerID($0) })
        }
    }
}

extension OpenStore {
    /// Notes that transactions of other peers are imported now.
    func noteImport() throws { try facts.setLastImport(configuration.clock.now()) }

    /// As receipts have it.
    var digestText: String { String(format: "%016lx", stateDigest) }
}

extension OpenStore {
    /// The tables that are here, the reserved one aside, or the one of this name in the database, or in logs, where none is
    /// called so in the database.
    ///
    /// - Throws: `usage` where this store has never heard of one that is called so.
    func tables(named name: String?) throws -> [TrackedTable] {
        let tables = catalog.programTables
        guard let name else { return tables }
        let names = try logNames(of: name)
        return tables.filter { names.contains($0.name) }
    }

    /// What a table is called in logs; of one that is not here any more, or not yet, every spelling that came.
    ///
    /// - Throws: `usage` where this store has never heard of it.
    func logNames(of name: String) throws -> Set<String> {
        if let table = catalog[local: name] ?? catalog[name] { return [table.name] }
        let rows = try connection.rows(
            """
            SELECT log_name FROM logsync_table WHERE name = ?1 COLLATE NOCASE OR log_name = ?1 COLLATE NOCASE
            UNION SELECT table_name FROM logsync_kept WHERE table_name = ?1 COLLATE NOCASE
            UNION SELECT key FROM logsync_transaction, json_each(CAST(changes AS TEXT)) WHERE key = ?1 COLLATE NOCASE
            """, .text(name))
        guard !rows.isEmpty else {
            let known = try tables(named: nil).map(\.schema.name).prefix(20).joined(separator: ", ")
            throw LogSyncError(
                .usage, "this store knows no table \(name.debugDescription)",
                help: known.isEmpty ? nil : "It replicates \(known).", subject: .table(name))
        }
        return Set(rows.map { String(text: $0[0]) })
    }
}
