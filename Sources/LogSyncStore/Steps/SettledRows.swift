import LogSyncModel
import LogSyncSQLite

/// Collects what something else than an import changes in the tables.
extension OpenStore {
    func noteSettled(_ notes: ChangeNotes) {
        settled.merge(notes.tables) { $0.adding($1) }
        unkept.merge(notes.tables) { $0.adding($1) }
    }

    /// Notes that any of the rows in conflict may show something else now.
    func noteContested() throws {
        for table in catalog.tables
        where try connection.integer("SELECT EXISTS(SELECT 1 FROM \(table.clock) WHERE conflict IS NOT NULL)") == 1 {
            settled[table.name, default: TableChanges()].isUnlisted = true
            unkept[table.name, default: TableChanges()].isUnlisted = true
        }
    }
}
