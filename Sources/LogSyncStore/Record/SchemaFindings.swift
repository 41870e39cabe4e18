/// What bringing a store in line with a changed schema has found that the recording after it needs to know.
///
/// Nothing of it is kept in the store: a recording is given the findings of the same write transaction.
package struct SchemaFindings: Sendable, Equatable {
    /// Tables, by id, whose clock records are all compared with the rows that are there: rows may have gone without a
    /// trigger to say so.
    var orphanScans: Set<Int64> = []
    /// Of some of those, the records that alone may have lost their rows; they were looked for beforehand.
    var orphans: [Int64: [Int64]] = [:]
    /// Whether a schema has changed since the last look, also where every table is as it was: a column may have come and gone.
    var isAfterMigration = false
    /// Tables, by id, that are recorded for the first time: what they hold counts as found, as at the beginning.
    var newTables: Set<Int64> = []
    /// Tables, by id, that a program has dropped and fills anew, of which rows have their records back (``DroppedRows``).
    var returnedTables: Set<Int64> = []
    /// Those of the new tables that a migration has made, and whose rows are told apart by what they hold alone (``LaterRows``).
    var tablesByValues: Set<Int64> = []
    /// Columns, by table and column id, that have just appeared: what they hold counts as a fill.
    var newColumns: [Int64: Set<Int>] = [:]
    /// Those of them that were left alone until it was known whether they refer to other rows.
    var releasedColumns: [Int64: Set<Int>] = [:]
    /// Tables, by id, that have lost columns.
    var tablesWithoutColumns: Set<Int64> = []
    /// What has gone with tables and columns, and may have been put elsewhere.
    var gone = GoneValues()

    /// Columns, by table and column id, that were here under first names of their own, under which records keep what was said
    /// of them until now.
    var lateNames: [Int64: [Int: String]] = [:]

    /// When rows were written of tables, by id, in which it has been decided what columns are.
    var undecidedWrites: [Int64: UndecidedWrites] = [:]

    /// In which columns that have come rows hold what has been made of what they held at the last look, and in which of something
    /// else (``ReplacedValues``), by table id and by the places of the records of rows that programs have written before.
    var replacedValues: [Int64: [Int64: ReplacedValues.Findings]] = [:]

    /// References that columns to other tables have in place of those of columns that have gone, by table id.
    var movedReferences: [Int64: MovedReferences] = [:]

    /// Columns, by table and column id, that have another type than before.
    var retypedColumns: [Int64: Set<Int>] = [:]

    /// Columns that have come to be references, by table id.
    var newReferences: [Int64: NewReferences] = [:]

    /// By table and column id; nil for a column that named rows by their integers, else the column of their table, by its name
    /// in logs, by which it named them.
    typealias NamingChanges = [Int64: [Int: String?]]

    /// Columns whose rows named others by their integers or by a key, and name them by another key now.
    var namingChanges: NamingChanges = [:]

    /// By what the rows were named that are named by another key now.
    var formerReferenceKeys = FormerReferenceKeys()

    /// The clock records of rows that have something there which named a row by its integer, by table id.
    var formerReferenceRows: [Int64: [Int64]] = [:]

    /// Columns of one table that refer to another's rows now, and did not.
    struct NewReferences: Equatable {
        /// By id.
        var columns: Set<Int> = []
        /// The clock records of rows that show a number there which this peer wrote.
        var rows: [Int64] = []
        /// This peer and what it was before, by their numbers here.
        var own: Set<Int64> = []

        func union(_ other: Self) -> Self {
            Self(columns: columns.union(other.columns), rows: rows + other.rows, own: own.union(other.own))
        }
    }

    /// Whether the tables and columns are what they were.
    var hasNoChange: Bool {
        newTables.isEmpty && newColumns.values.allSatisfy(\.isEmpty) && retypedColumns.isEmpty && newReferences.isEmpty
            && namingChanges.isEmpty
    }

    /// Whether what a table's rows hold, and name other rows by, means what it did.
    func areValuesAsBefore(in table: Int64) -> Bool {
        retypedColumns[table] == nil && namingChanges[table] == nil
    }

    package init() {}

    mutating func formUnion(_ other: SchemaFindings) {
        // What only one side knows of may be any record.
        let narrowed = orphans.merging(other.orphans) { $0 + $1 }
        orphans = narrowed.filter { id, _ in
            (orphans[id] != nil || !orphanScans.contains(id))
                && (other.orphans[id] != nil || !other.orphanScans.contains(id))
        }
        orphanScans.formUnion(other.orphanScans)
        isAfterMigration = isAfterMigration || other.isAfterMigration
        newTables.formUnion(other.newTables)
        undecidedWrites.merge(other.undecidedWrites) { $1 }
        replacedValues.merge(other.replacedValues) { $1 }
        movedReferences.merge(other.movedReferences) { $1 }
        tablesByValues.formUnion(other.tablesByValues)
        returnedTables.formUnion(other.returnedTables)
        newColumns.merge(other.newColumns) { $0.union($1) }
        releasedColumns.merge(other.releasedColumns) { $0.union($1) }
        tablesWithoutColumns.formUnion(other.tablesWithoutColumns)
        gone.formUnion(other.gone)
        lateNames.merge(other.lateNames) { $0.merging($1) { $1 } }
        retypedColumns.merge(other.retypedColumns) { $0.union($1) }
        namingChanges.merge(other.namingChanges) { $0.merging($1) { former, _ in former } }
        formerReferenceRows.merge(other.formerReferenceRows) { $0 + $1 }
        formerReferenceKeys.formUnion(other.formerReferenceKeys)
        newReferences.merge(other.newReferences) { $0.union($1) }
    }
}
