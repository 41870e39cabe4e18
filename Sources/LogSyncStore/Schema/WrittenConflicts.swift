/// What an import's statement that writes one row of a program's table says of conflicts.
enum WrittenConflicts {
    /// `OR ABORT`, lest clauses of the table's own act.
    case abort
    /// Nothing: the statements of triggers that fire may have clauses, and the table has none.
    case unsaid
    /// Nothing either, and the table has clauses: that they do not act is found out first (``RowStatement``).
    case probed

    static let abortClause = "OR ABORT "
}
