import LogSyncSQLite

/// What an index is over, for what lies above the store.
package enum IndexTerms {
    /// The columns and expressions of a `CREATE INDEX` statement, as they are written there; nil for another statement.
    package static func of(_ sql: String) -> [String]? { IndexDeclaration(sql)?.terms }
}
