import LogSyncModel

/// What was read or computed of the tables as they are registered and declared, until the catalog is read again.
///
/// Empty, or nil, is what nothing has asked for yet.
struct CatalogCache {
    /// The unique keys of tables, by table id.
    var uniqueKeys: [Int64: [UniqueKey]] = [:]
    /// When columns have come that may be filled yet, by table and column id (``AwaitedFills``).
    var awaitedFills: [Int64: [Int: Int64]] = [:]
    /// How tables' rows may be worked on in batches, by table id; as the merge policies are, too.
    var batchings: [Int64: Batching] = [:]
    /// Columns' defaults as evaluated, by table and column id.
    var defaults: [String: Value] = [:]
    /// By table id, the positions of columns whose defaults are of the moment (``FixedDefault``).
    var momentaryDefaults: [Int64: Set<Int>] = [:]
    /// Whether of some columns it is not known what they were called (``UndecidedColumns``).
    var hasUndecided: Bool?
    /// Whether columns or tables are left alone because they seem to refer to other rows (``HeldReferences``).
    var hasHeldReferences: Bool?
    /// Whether there may be cells of parked rows that no log has (``LeftCells``).
    var hasLeftCells: Bool?
    /// Whether there may be rows that others have deleted of tables which are not here (``AbsentTombstones``).
    var hasTombstones: Bool?
    /// Whether another peer has said of columns since what they were called (``LateRenames``).
    var hasLateRenames: Bool?
    /// Whether the store is known to have noted what its references mean.
    var hasReferenceHistory = false
    /// The statements that ask ``PendingRows``.
    var pendingQueries: [String]?
    /// What tables are called that are not here, by folded name.
    var absentNames: [String: String]?
    /// The columns of which deleted rows' values are kept, by table id.
    var tombstones: [Int64: [Int]] = [:]
    /// Why some tables cannot be written here, as sentences without their ends.
    var unwritable: [(table: String, reason: String)]?
    /// The indexes that allow other rows on each peer.
    var undecidable: [UndecidableIndex]?
    /// By which columns peers have named rows, by the lower-case name of the column that names them (``NamingColumns``).
    var namingColumns: [String: [String]]?
    /// The same columns by the lower-case name of the table whose they are.
    var otherNames: [String: [String]]?
    /// What rows hold in columns by which peers have named them, where no index finds it, by table, column and what is asked for.
    var namedRows: [String: [Value: Value]] = [:]
    /// What rows are called by peers that have migrated, by table id.
    var otherKeys: [Int64: [Value: RowIdentity]] = [:]
}
