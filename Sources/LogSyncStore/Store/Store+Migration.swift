import LogSyncModel

/// Migrations of the app's schema, with capture kept right through them.
extension Store {
    /// Runs a script in one transaction, follows what it did to the schema, and records what it did to rows.
    ///
    /// - Parameters:
    ///   - sql: the script; see ``Script``.
    ///   - renamings: names that it gives by rebuilding a table; what ALTER TABLE renames is noticed without.
    ///   - references: what columns refer to that came with migrations.
    ///   - isDry: whether to undo everything, and only say what would be.
    /// - Throws: `invalidScript` where a statement fails, or foreign keys that held would be broken; `usage` where a
    ///   renaming or reference names what is not there. Everything is then undone.
    package func migrate(
        _ sql: String, renamings: [Renaming], references: ReferenceDecisions = ReferenceDecisions(), isDry: Bool = false
    ) throws -> MigrationResult {
        struct Undo: Error { var result: MigrationResult }
        do {
            return try database.write { store in
                let result = try Migration(store: store).run(sql, renamings, references)
                if isDry { throw Undo(result: result) }
                return result
            }
        } catch let undo as Undo {
            return undo.result
        }
    }
}
