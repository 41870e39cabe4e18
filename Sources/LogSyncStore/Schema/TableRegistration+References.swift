import LogSyncModel
import LogSyncSQLite

extension TableRegistration {
    /// Every column that refers to another table's rows, or seems to.
    func references(_ catalog: Catalog) throws -> [ReferenceReport] {
        var reports: [ReferenceReport] = []
        for table in catalog.tables where table.name != "logsync_setting" {
            for column in table.columns {
                guard let parent = column.reference.flatMap({ catalog[$0] }) else { continue }
                let isFromRecipe = plan.recipeReferences.contains("\(table.schema.name).\(column.local)".folded)
                reports.append(
                    ReferenceReport(
                        table: table.schema.name, column: column.local, parent: parent.schema.name,
                        evidence: isFromRecipe ? .recipe : .declared, taken: true))
            }
        }
        return try reports
            + UndeclaredReferences(catalog: catalog, connection: connection, hasRecipe: !plan.recipeReferences.isEmpty)
            .found()
    }

    /// The references that nobody has decided upon. A content's founder has, for all who join it.
    func undecided(_ references: [ReferenceReport]) -> [UndecidedReference] {
        guard plan.settings.isEmpty else { return [] }
        return references.filter { !$0.taken && !isNoReference($0.column, of: $0.table) }.map {
            UndecidedReference(table: $0.table, column: $0.column, parent: $0.parent, type: $0.type)
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
