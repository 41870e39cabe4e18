import LogSyncModel
import LogSyncSQLite

/// Settings of the content, changed by a write of this peer that the next recording takes along.
extension Store {
    /// The merge policies that are set, as target and policy: by the names that tables and columns have here, and by those in
    /// logs where they are not here.
    package func policies() throws -> [(target: String, policy: String)] {
        try database.read { store in
            var names: [String: String] = [:]
            for table in store.catalog.programTables {
                names[table.name.folded] = table.schema.name
                for column in table.columns {
                    names["\(table.name).\(column.name)".folded] = "\(table.schema.name).\(column.local)"
                }
            }
            return try store.connection.rows(
                """
                SELECT target, value FROM logsync_setting
                WHERE kind IN ('policy', 'delete-policy', 'unique-policy') ORDER BY target, kind
                """
            ).map { row in
                let target = String(text: row[0])
                return (names[target.folded] ?? target, String(text: row[1]))
            }
        }
    }

    /// The recipe that the content goes by; nil where there is none.
    package func recipe() throws -> String? {
        try database.read { try Settings($0).values(Self.recipeSetting).first?.value }
    }

    /// The policies that are set and that this program lacks, so that `last-writer` is shown where it merges.
    package func lackingPolicies() throws -> [(target: String, policy: String)] {
        try database.read { $0.policies.lacking }
    }

    /// The kind of the setting that holds a policy: a table may have one of each.
    package static func settingKind(ofPolicy policy: String) -> String { Policies.kind(of: policy) }

    /// Sets a policy of the content.
    ///
    /// - Returns: which columns of a table it leaves out, and which of the peers that it prefers nobody is called, as sentences
    ///   without their ends.
    /// - Throws: `usage` for a policy, table or column that is not known, and for one that cannot be the column's.
    @discardableResult
    package func setPolicy(_ target: String, _ policy: String) throws -> [String] {
        try database.write { store in
            try Store.checkPolicies(
                [(target, policy)], on: store.connection, configuration: store.configuration)
            // Which columns refer to rows the schema says as it is now.
            if try RecordStep.isSchemaOpen(store) { _ = try RecordStep(store).run() }
            let left = try Store.checkAmounts(target, policy, store.catalog)
            try Settings(store).set(Policies.kind(of: policy), Self.logTarget(target, store), policy)
            _ = try RecordStep(store).run()
            let unknown = try Self.unknownPeers(policy, Settings(store).values("peer").values)
            return [left, unknown].compactMap(\.self)
        }
    }

    /// Which of the peers that a policy prefers nobody is called, as a sentence without its end.
    private static func unknownPeers(_ policy: String, _ known: some Collection<String>) -> String? {
        let unknown = (MergePolicy.preferred(policy) ?? []).filter { !known.contains($0) }
        guard !unknown.isEmpty else { return nil }
        let names = known.sorted().joined(separator: ", ")
        return "No peer is called \(unknown.joined(separator: " or ")) yet; the peers are \(names)"
    }

    /// A table or column by its name in logs, which the content's settings have.
    private static func logTarget(_ target: String, _ store: OpenStore) -> String {
        if let table = store.catalog[local: target] { return table.name }
        for name in ColumnName.readings(of: target) {
            guard let table = store.catalog[local: name.table],
                let place = table.localPositions[name.column.folded]
            else { continue }
            return "\(table.name).\(table.columns[place].name)"
        }
        return target
    }

    /// Renames this peer, also where policies prefer it by its name. A name that another peer has is refused with `usage`.
    package func renamePeer(_ name: String) throws {
        try database.write { store in
            let names = try Settings(store).values("peer")
            if let taken = names.first(where: { $0.value == name && $0.key != store.ownID.description }) {
                throw LogSyncError(.usage, "the name \(name) is taken by the peer \(taken.key); nothing was changed")
            }
            let settings = Settings(store)
            if let former = names[store.ownID.description] {
                for (target, policy) in try settings.values("policy") {
                    guard let renamed = MergePolicy(named: policy)?.renaming(former, to: name) else { continue }
                    try settings.set("policy", target, renamed.name)
                }
            }
            try store.facts.set("name", .text(name))
            try settings.set("peer", store.ownID.description, name)
            _ = try RecordStep(store).run()
        }
    }
}
