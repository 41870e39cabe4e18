import LogSyncFormat
package import LogSyncModel
import LogSyncSQLite

/// The rows of a packaged database, identified as a content's settings say.
///
/// Each peer that packs the same file under the same settings gets the same rows in the same order, and so the same
/// transaction (Documentation/model.md, particular rules).
package final class PackagedRows {
    private let store: Store
    private let dot: Dot

    /// Packs what a database holds.
    ///
    /// - Parameters:
    ///   - path: a plain database that nobody else needs; it is made a store, to be thrown away.
    ///   - settings: the content's, as in ``Store/packingSettings()``.
    ///   - hashesParents: whether a row's identity is made of its parents'; versions that did not do so made another
    ///     transaction of the same rows.
    /// - Throws: `unsupportedTable` where a table's rows cannot be told apart; `configuration` where it is a store.
    package init(
        _ path: String, settings: [(kind: String, target: String, value: String)], hashesParents: Bool = true,
        configuration: StoreConfiguration
    ) throws {
        var plan = InitializePlan(content: "seed", container: "", peerName: "seed")
        // The same bytes wherever it is made: all values stand in the transaction itself.
        var configuration = configuration
        configuration.blobThreshold = .max
        configuration.leavesOutKeys = true
        // Nobody else writes it.
        (configuration.isShared, configuration.lockBudget) = (false, 3600)
        configuration.hashesParents = hashesParents
        plan.settings = settings.filter {
            ["identity", "reference", "skip", "local", "rename", Renames.list].contains($0.kind)
        }
        store = try Store.initialize(path, plan: plan, configuration: configuration).store
        dot = Dot(try store.registration().peer, 1)
    }

    package func close() throws { try store.close() }

    /// The rows, as many to a group whatever frames they had stood in.
    func forEachGroup(_ body: (RowGroup) throws -> Void) throws {
        guard let segment = try segment() else { return }
        var batch = RowBatch()
        while let groups = try segment.nextFrame() {
            for group in groups where group.table != SettingTable.name { try batch.append(group, body) }
        }
        try batch.flush(body)
    }

    /// Whether there is nothing to seed.
    package var isEmpty: Bool {
        get throws {
            let segment = try segment()
            while let groups = try segment?.nextFrame() {
                if groups.contains(where: { $0.table != SettingTable.name && $0.rowCount > 0 }) { return false }
            }
            return true
        }
    }

    /// What was recorded; nil where nothing was.
    private func segment() throws -> SegmentReader? {
        guard let kept = try store.outbox(of: dot.peer, 1...1).first else { return nil }
        var part: Int64 = 0
        return try SegmentReader(peer: dot.peer, previous: kept.chainBefore) { [store, dot] in
            defer { part += 1 }
            return try store.outboxBlock(of: dot, part: part)
        }
    }

    /// The transaction's header, given whose it is.
    static func header(of peer: PeerID) -> TransactionHeader { TransactionHeader(dot: Dot(peer, 1), time: .zero) }

    /// The pseudo-peer: the hash of the rows.
    package func peer() throws -> PeerID {
        var encoder = try TransactionEncoder(
            header: Self.header(of: PeerID(high: 0, low: 0)), previous: .zero, compresses: false
        ) { _ in }
        try forEachGroup { try encoder.append($0) }
        guard let peer = PeerID(bytes: try encoder.finish().chain.bytes.prefix(16)) else {
            throw LogSyncError(.invalidStore, "a seed has no hash; nothing was changed")
        }
        return peer
    }
}

/// Puts rows together again that frames had torn apart, so that the portions depend on the rows alone.
private struct RowBatch {
    private var group: RowGroup?
    private var size = 0

    mutating func append(_ more: RowGroup, _ body: (RowGroup) throws -> Void) throws {
        for row in 0..<more.rowCount {
            if let group, !Self.isSame(group, more) || size > 1 << 19 { try flush(body) }
            if group == nil {
                group = RowGroup(
                    table: more.table, kind: more.kind,
                    columns: more.columns.map {
                        RowGroup.Column(
                            name: $0.name, operation: $0.operation, referencedTable: $0.referencedTable)
                    })
            }
            group?.identities.append(more.identities[row])
            group?.times.append(more.times[row])
            if !more.integers.isEmpty { group?.integers.append(more.integers[row]) }
            size += more.identities[row].bytes.count
            for column in more.columns.indices {
                group?.columns[column].values.append(more.columns[column].values[row])
                size += more.columns[column].values[row].size
            }
        }
    }

    mutating func flush(_ body: (RowGroup) throws -> Void) throws {
        guard let group else { return }
        self.group = nil
        size = 0
        try body(group)
    }

    private static func isSame(_ a: RowGroup, _ b: RowGroup) -> Bool {
        a.table == b.table && a.kind == b.kind && a.columns.map(\.name) == b.columns.map(\.name)
            && a.columns.map(\.referencedTable) == b.columns.map(\.referencedTable)
            && a.integers.isEmpty == b.integers.isEmpty
    }
}

/// Bringing packaged rows in.
extension Store {
    /// The content's settings, as rows of (kind, target, value).
    package func contentSettings() throws -> [(kind: String, target: String, value: String)] {
        try database.read { store in
            try store.connection.rows(
                "SELECT kind, target, value FROM logsync_setting WHERE value IS NOT NULL ORDER BY kind, target"
            ).map { (String(text: $0[0]), String(text: $0[1]), String(text: $0[2])) }
        }
    }

    /// The content's settings, and what refers to rows by their integers in this store's schema: a packaged database may lack
    /// the foreign keys that say so, and its integers mean its own rows all the same.
    package func packingSettings() throws -> [(kind: String, target: String, value: String)] {
        let settings = try contentSettings()
        let told = Set(settings.filter { $0.kind == "reference" }.map(\.target.folded))
        let declared = try database.read { store in
            store.catalog.programTables.flatMap { table in
                table.columns.compactMap { column -> (kind: String, target: String, value: String)? in
                    guard let parent = column.reference, store.catalog[parent]?.localInteger != nil else { return nil }
                    return ("reference", "\(table.name).\(column.name)", parent)
                }
            }
        }
        return settings + declared.filter { !told.contains($0.target.folded) }
    }

    /// Merges packaged rows as one transaction of their pseudo-peer, and puts it into the outbox, all in one SQLite
    /// transaction.
    ///
    /// - Parameters:
    ///   - peer: as ``PackagedRows/peer()`` says.
    ///   - name: what people are to call it.
    /// - Returns: what it changed; nil where it was here already.
    package func seed(_ rows: PackagedRows, as peer: PeerID, name: String) throws -> ImportedTransaction? {
        try database.write { store in
            guard store.peers.vector[peer] == 0 else { return nil }
            _ = try RecordStep(store).run()
            let header = PackagedRows.header(of: peer)
            let number = try store.peers.number(of: peer, on: store.connection)
            let chain = try keep(rows, header, number: number, store)
            let incoming = IncomingTransaction(
                header: header, chainBefore: .zero, chain: chain, forEachGroup: { try rows.forEachGroup($0) })
            let imported = try TransactionMerge(store, header).run(incoming)
            // It makes no second transaction, and nobody waits for it.
            try Settings(store).set("peer", peer.description, name)
            try Settings(store).set("retired", peer.description, "1")
            store.settled.merge(imported.tables) { $0.adding($1) }
            return imported
        }
    }

    /// Writes the transaction to the outbox. Not compressed: another version of the library would make other bytes.
    private func keep(
        _ rows: PackagedRows, _ header: TransactionHeader, number: Int64, _ store: OpenStore
    ) throws -> ChainHash {
        // A block that a seed which was undone had left cannot be: one SQLite transaction holds all of it.
        let entry = OutboxEntry(store.connection, peer: number, sequence: 1)
        var encoder = try TransactionEncoder(header: header, previous: .zero, compresses: false) {
            try entry.append($0)
        }
        try rows.forEachGroup { try encoder.append($0) }
        let chain = try encoder.finish().chain
        try entry.finish(before: .zero, chain: chain)
        return chain
    }
}
