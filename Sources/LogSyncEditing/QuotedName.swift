import LogSyncSQLite

extension String {
    /// This name as an identifier in SQL. GRDB's `quotedDatabaseIdentifier` leaves a quotation mark in it as it is.
    var quotedName: String { SQL.name(self) }
}
