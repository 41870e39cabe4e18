import LogSyncModel
import LogSyncSQLite

/// The replicated tables of a schema, by their names in logs, so that two schemas can be compared whatever each calls them.
struct ComparedSchema {
    struct Table {
        /// By lower-case name in logs.
        var columns: [String: (name: String, column: TableSchema.Column)] = [:]
        var key: [String] = []
        var uniques: Set<String> = []
        var foreignKeys: Set<String> = []
        /// In order of their texts.
        var checks: [String] = []
        /// What generated columns are made of.
        var generated: [String: String] = [:]
        /// What stands behind the columns, as STRICT.
        var options = ""
        var indexes: [String: Object] = [:]
        var triggers: [String: Object] = [:]
        var name = ""
    }

    /// An index, view or trigger.
    struct Object {
        var name: String
        /// nil where nothing tells by which names in logs it calls columns, since several tables have some of the same name.
        var text: String?
    }

    /// By lower-case name in logs.
    var tables: [String: Table] = [:]
    private var views: [String: Object] = [:]

    /// - Parameters:
    ///   - declarations: all that the schema declares.
    ///   - unmade: objects that the other schema has and that could not be made of it, of which nothing is said.
    init(_ catalog: Catalog, _ declarations: [Declaration], without unmade: Set<String> = []) {
        let names = Dictionary(
            catalog.tables.map { ($0.schema.name.folded, $0.name) }, uniquingKeysWith: { first, _ in first })
        let own = Dictionary(grouping: declarations) { $0.table.folded }
        for tracked in catalog.programTables {
            let schema = tracked.schema
            let columns = Dictionary(
                tracked.columns.map { ($0.local.folded, $0.name) }, uniquingKeysWith: { first, _ in first })
            func name(_ column: String) -> String { (columns[column.folded] ?? column).folded }
            var table = Table(name: tracked.name)
            for column in schema.columns where !column.isGenerated {
                table.columns[name(column.name)] = (columns[column.name.folded] ?? column.name, column)
            }
            table.key = schema.keyColumns.map { name($0.name) }
            table.uniques = Set(
                schema.uniqueIndexes.filter { !$0.isPrimaryKey && !unmade.contains($0.name.folded) }.map { index in
                    index.columns.map { parts in
                        parts.map { name($0.name) + ($0.collation == .binary ? "" : " \($0.collation.rawValue)") }
                            .sorted().joined(separator: ", ")
                    } ?? own[schema.name.folded]?.first { $0.name.folded == index.name.folded }?.terms(name)
                        ?? "an expression or a part of the rows"
                })
            table.foreignKeys = Set(
                schema.foreignKeys.map { key in
                    let action = key.onDelete == "NO ACTION" ? "" : " ON DELETE \(key.onDelete)"
                    return "\(key.from.map(name).joined(separator: ", ")) → "
                        + (names[key.parent.folded] ?? key.parent).folded + action
                })
            for declaration in own[schema.name.folded] ?? [] where declaration.isShort {
                table.note(declaration, name, renamed(declaration, catalog))
            }
            tables[tracked.name.folded] = table
        }
        for view in declarations where view.kind == .view && view.isShort {
            views[view.name.folded] = Object(name: view.name, text: renamed(view, catalog).map(view.text))
        }
    }

    /// The names in logs of all that a view or trigger may mention; nil where a column has several.
    private func renamed(_ declaration: Declaration, _ catalog: Catalog) -> ((String) -> String)? {
        let words = declaration.words
        var names: [String: String] = [:]
        for table in catalog.programTables where words.contains(table.schema.name.folded) {
            let columns = table.columns.map { ($0.local.folded, $0.name.folded) }
            for (local, name) in columns + [(table.schema.name.folded, table.name.folded)] where words.contains(local) {
                if let known = names.updateValue(name, forKey: local), known != name { return nil }
            }
        }
        return { names[$0] ?? $0 }
    }

    func differences(from other: ComparedSchema) -> [SchemaDifference] {
        var found: [SchemaDifference] = []
        for name in Set(tables.keys).union(other.tables.keys).sorted() {
            switch (tables[name], other.tables[name]) {
            case (let here?, let there?): found += Self.differences(here, there)
            case (let here?, nil): found.append(SchemaDifference(table: here.name, kind: .missingThere))
            case (nil, let there?): found.append(SchemaDifference(table: there.name, kind: .missingHere))
            case (nil, nil): break
            }
        }
        for (here, there) in Self.pairs(views, other.views) {
            guard let any = here ?? there else { continue }
            found += Self.differences(of: any.name, nil, .view, here, there)
        }
        return found
    }

    private static func pairs(_ here: [String: Object], _ there: [String: Object]) -> [(Object?, Object?)] {
        Set(here.keys).union(there.keys).sorted().map { (here[$0], there[$0]) }
    }

    /// - Parameter table: or a view.
    private static func differences(
        of table: String, _ object: String?, _ kind: SchemaDifference.Kind, _ here: Object?, _ there: Object?
    ) -> [SchemaDifference] {
        let isUnknown = here.map { $0.text == nil } ?? false || there.map { $0.text == nil } ?? false
        guard here?.text != there?.text, !isUnknown else { return [] }
        return [
            SchemaDifference(
                table: table, kind: kind, object: object, here: here?.text.map(excerpt),
                there: there?.text.map(excerpt))
        ]
    }

    private static func excerpt(_ text: String) -> String {
        text.count > longest ? text.prefix(longest) + "…" : text
    }

    /// In characters, of a text that is only said.
    private static let longest = 1_000

    private static func differences(_ here: Table, _ there: Table) -> [SchemaDifference] {
        var found: [SchemaDifference] = []
        func compare(_ kind: SchemaDifference.Kind, _ a: String?, _ b: String?, of column: String? = nil) {
            guard a != b else { return }
            found.append(SchemaDifference(table: here.name, column: column, kind: kind, here: a, there: b))
        }
        for name in Set(here.columns.keys).union(there.columns.keys).sorted() {
            guard let (column, own) = here.columns[name] else {
                let column = there.columns[name]?.name
                found.append(SchemaDifference(table: here.name, column: column, kind: .missingHere))
                continue
            }
            guard let (_, other) = there.columns[name] else {
                found.append(SchemaDifference(table: here.name, column: column, kind: .missingThere))
                continue
            }
            compare(.type, own.declaredType.uppercased(), other.declaredType.uppercased(), of: column)
            compare(.collation, own.collation.uppercased(), other.collation.uppercased(), of: column)
            compare(.default, own.defaultSQL, other.defaultSQL, of: column)
            // The columns of a key are not NULL in one table and may be in another without anybody having said so.
            if own.keyIndex == 0, other.keyIndex == 0 {
                compare(
                    .notNull, own.isNotNull ? "NOT NULL" : nil, other.isNotNull ? "NOT NULL" : nil, of: column)
            }
        }
        func list(_ names: some Sequence<String>) -> String? {
            let text = names.sorted().joined(separator: "; ")
            return text.isEmpty ? nil : text
        }
        func key(_ table: Table) -> String? { table.key.isEmpty ? nil : table.key.joined(separator: ", ") }
        compare(.key, key(here), key(there))
        compare(.unique, list(here.uniques), list(there.uniques))
        compare(.foreignKeys, list(here.foreignKeys), list(there.foreignKeys))
        if here.checks != there.checks { compare(.check, list(here.checks), list(there.checks)) }
        for name in Set(here.generated.keys).union(there.generated.keys).sorted() {
            compare(.generated, here.generated[name], there.generated[name], of: name)
        }
        compare(.options, list([here.options]), list([there.options]))
        // One that only one of them has makes it faster there, and nothing else.
        for (own, other) in pairs(here.indexes, there.indexes) where own != nil && other != nil {
            found += differences(of: here.name, own?.name, .index, own, other)
        }
        for (own, other) in pairs(here.triggers, there.triggers) {
            found += differences(of: here.name, (own ?? other)?.name, .trigger, own, other)
        }
        return found
    }
}

extension Declaration {
    /// Whether it is as long as people write them.
    fileprivate var isShort: Bool { count <= Limits.schemaTokens }
}

extension ComparedSchema.Table {
    /// - Parameters:
    ///   - name: gives a column's name in logs.
    ///   - renamed: gives it of all that is mentioned; nil where that cannot be said.
    fileprivate mutating func note(
        _ declaration: Declaration, _ name: (String) -> String, _ renamed: ((String) -> String)?
    ) {
        switch declaration.kind {
        case .table:
            let details = declaration.details(name)
            checks = details.checks
            generated = Dictionary(
                details.generated.map { ($0.name.folded, $0.expression) }, uniquingKeysWith: { first, _ in first })
            options = details.options
        case .index:
            indexes[declaration.name.folded] = .init(name: declaration.name, text: declaration.terms(name))
        case .trigger:
            triggers[declaration.name.folded] = .init(name: declaration.name, text: renamed.map(declaration.text))
        case .uniqueIndex, .view: break
        }
    }
}
