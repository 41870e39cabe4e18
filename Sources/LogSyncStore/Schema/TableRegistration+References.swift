import LogSyncModel
import LogSyncSQLite

extension TableRegistration {
    /// Every column that refers to another table's rows, or seems to.
    func references(_ catalog: Catalog) throws -> [ReferenceReport] {
        var reports: [ReferenceReport] = []
        let texts = TextReferences(catalog: catalog, connection: connection)
        let asTexts = Set(try texts.declared().map { "\($0.table).\($0.column)" })
        for table in catalog.programTables {
            for column in table.columns where !asTexts.contains("\(table.schema.name).\(column.local)") {
                guard let parent = column.reference.flatMap({ catalog[$0] }) else { continue }
                let isFromRecipe = plan.recipeReferences.contains("\(table.schema.name).\(column.local)".folded)
                reports.append(
                    ReferenceReport(
                        table: table.schema.name, column: column.local, parent: parent.schema.name,
                        evidence: isFromRecipe ? .recipe : .declared, taken: true))
            }
        }
        return try reports
            + UndeclaredReferences(catalog: catalog, connection: connection, hasRecipe: plan.knowsColumns)
            .found()
            + (plan.knowsColumns ? texts.declared() : texts.found())
    }

    /// The references that nobody has decided upon. A content's founder has, for all who join it.
    ///
    /// - Parameter keys: those of tables of which it is to be said first whether their integers are the same everywhere:
    ///   there is nothing to translate then.
    func undecided(_ references: [ReferenceReport], keys: [TableReport.UndecidedKey]) -> [ReferenceReport.Undecided] {
        guard plan.settings.isEmpty else { return [] }
        let open = references.filter { reference in
            !reference.taken && !isNoReference(reference.column, of: reference.table) && !isHint(reference)
        }
        return open.filter { reference in
            open.contains { other in
                (other.table, other.column) == (reference.table, reference.column)
                    && !keys.contains { $0.table == other.parent }
            }
        }.map {
            ReferenceReport.Undecided(
                table: $0.table, column: $0.column, parent: $0.parent, type: $0.type, asText: $0.asText)
        }
    }

    /// A text that is called after a table and has no values yet may be anything.
    private func isHint(_ reference: ReferenceReport) -> Bool {
        reference.asText ?? false && reference.evidence == .name
    }

    /// What may come of columns whose names alone are hints, as sentences.
    func warnings(_ references: [ReferenceReport]) -> [String] {
        // What a content's founder had no rows of, nobody was asked for.
        let isJoining = !plan.settings.isEmpty
        let hints = references.filter {
            (isJoining ? $0.asText ?? false && !isHint($0) : isHint($0)) && !isNoReference($0.column, of: $0.table)
        }
        let parents = Dictionary(grouping: hints) { "\($0.table).\($0.column)" }.mapValues { $0.map(\.parent) }
        return parents.sorted { $0.key < $1.key }.map { column, parents in
            let named = parents.count < 4 ? parents.joined(separator: " or ") : "other tables"
            return
                "\(column) is a text, and \(isJoining ? "seems to name" : "is called as if it named") rows of \(named): their "
                + "integers differ from peer to peer, and are not translated where they are written out in texts"
        }
    }

    /// The integer keys of which nobody has said whether they are the same everywhere. One that is another table's is asked
    /// for as such, unless the same has to be said of that one first.
    func undecidedKeys(_ catalog: Catalog, _ references: [ReferenceReport]) throws -> [TableReport.UndecidedKey] {
        guard plan.settings.isEmpty, !plan.knowsColumns else { return [] }
        let given = Set(plan.identities.keys.map(\.folded))
        let found =
            try MeaningfulKeys(catalog: catalog, connection: connection).found()
            + CountedKeys(catalog: catalog, connection: connection).found()
        let keys = found.filter { !given.contains($0.table.folded) }
        return keys.filter { key in
            !references.contains { reference in
                (reference.table, reference.column) == (key.table, key.column)
                    && !keys.contains { $0.table == reference.parent }
            }
        }
    }

    func isNoReference(_ column: TrackedTable.Column, in table: TrackedTable) -> Bool {
        isNoReference(column.local, of: table.schema.name)
    }

    private func isNoReference(_ column: String, of table: String) -> Bool {
        plan.notReferences.contains {
            $0.table.folded == table.folded && $0.column.folded == column.folded
        }
    }
}
