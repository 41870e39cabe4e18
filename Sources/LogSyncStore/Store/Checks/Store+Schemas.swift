package import LogSyncModel
import LogSyncSQLite

extension Store {
    /// In which points another peer's schema says something else than this store's, of the tables that are replicated.
    ///
    /// - Parameter text: as the peer has published it.
    /// - Throws: `invalidStore` where it tries what no schema needs, or makes no table.
    package func schemaDifferences(from text: String) throws -> [SchemaDifference] {
        let schema = try ForeignSchema(text)
        return try database.read { store in
            let settings = try SettingTable(store.connection).all()
            // A table that is not replicated here differs from nothing.
            let left = try AppSchema.Left.skip.tables(on: store.connection)
                .union(AppSchema.Left.local.tables(on: store.connection))
                .union(TableNames(AppSchema.localTables(on: store.connection)))
            let (other, unmade) = try Connection.inMemory { connection in
                let unmade = try schema.makeTables(on: connection)
                let catalog = try KeyNames.catalog(settings: settings, on: connection)
                return (ComparedSchema(catalog, schema.declarations), Set(unmade.map(\.object.folded)))
            }
            let declarations = try AppSchema.statements(on: store.connection).compactMap(Declaration.init)
            return ComparedSchema(store.catalog, declarations, without: unmade).differences(from: other)
                .filter { $0.kind != .missingHere || $0.column != nil || !left.contains($0.table) }
        }
    }

    /// The settings by which a database that is no store yet, and spells names in other case than the content does, goes by
    /// the content's: names in logs are the same for all peers, letter by letter.
    ///
    /// - Parameters:
    ///   - text: as another peer has published it.
    ///   - settings: the content's.
    /// - Returns: as rows of `logsync_setting`; none where the schema cannot be made.
    package static func spellings(
        _ path: String, of text: String, settings: [(kind: String, target: String, value: String)],
        configuration: StoreConfiguration
    ) throws -> [(kind: String, target: String, value: String)] {
        guard let schema = try? ForeignSchema(text),
            let others = try? Connection.inMemory({ connection in
                try schema.makeTables(on: connection)
                return try KeyNames.catalog(settings: settings, on: connection)
            })
        else { return [] }
        let database = try StoreConnection(path, configuration: configuration)
        defer { closeQuietly(database) }
        let said = Set(settings.filter { $0.kind == "rename" }.map(\.target.folded))
        var spellings: [(kind: String, target: String, value: String)] = []
        func spell(_ target: String, _ own: String, _ name: String) {
            guard own.asciiFolded.hasSameBytes(as: name.asciiFolded), !own.hasSameBytes(as: name),
                !said.contains(target.folded)
            else { return }
            spellings.append(("rename", target, name))
        }
        for own in try database.withConnection({ try TableSchema.all(on: $0) }) {
            guard let table = others.programTables.first(where: { $0.schema.name.folded == own.name.folded }) else {
                continue
            }
            spell(own.name, own.name, table.name)
            for column in own.columns {
                guard let other = table.columns.first(where: { $0.local.folded == column.name.folded }) else {
                    continue
                }
                spell("\(table.name).\(column.name)", column.name, other.name)
            }
        }
        return spellings
    }

    /// Whether a database that is no store yet has a table in common with a schema: one of the same name that has more than
    /// half of the columns of the smaller of the two.
    ///
    /// - Parameters:
    ///   - text: as another peer has published it.
    ///   - tables: the names that are to be looked at, in lower case.
    /// - Throws: `noStore`, `invalidStore` where the database cannot be read.
    package static func isRelated(
        _ path: String, to text: String, tables: Set<String>, configuration: StoreConfiguration
    ) throws -> Bool {
        let own = try outline(path, configuration: configuration)
        // One that cannot be made says nothing of the database.
        guard let schema = try? ForeignSchema(text),
            let others = try? Connection.inMemory({ connection in
                try schema.makeTables(on: connection)
                return try DatabaseOutline(connection)
            })
        else { return !tables.isEmpty }
        return tables.contains { table in
            guard let here = own[table]?.columns, let there = others[table]?.columns else { return false }
            return here.intersection(there).count * 2 > min(here.count, there.count)
        }
    }
}
