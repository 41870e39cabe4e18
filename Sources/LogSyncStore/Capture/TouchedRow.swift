import LogSyncModel

/// Which row a pending row names: by the rowid, or by the key where that is what tells rows apart.
struct RowKey: Hashable {
    var rowid: Int64?
    /// The natural key as the table has it, normalised; integers of referenced rows stay integers.
    var natural: RowIdentity?

    /// The values of the natural key's columns.
    var values: [Value] { natural?.naturalParts?.map(\.value) ?? [] }
}

/// What happened to a row that is there, between two recordings.
struct TouchedRow {
    /// The clock record that the row had at the last recording or import; nil where it had none.
    var origin: Int64?
    /// The pending number and time of the insert that began it, or of the first pending row that names it.
    var number: Int64
    /// The number of the last pending row that names it.
    var lastNumber: Int64
    var insertMilliseconds: Int64
    /// When it was last touched.
    var milliseconds: Int64
    /// Whether a row of its key was deleted meanwhile, and this one inserted.
    var isReinserted = false
    /// Whether it was written after it was inserted.
    var wasWrittenAgain: Bool { lastNumber > number }
    /// Whether nothing says that a program wrote it: it is compared with its record.
    var isFound = false
    /// Whether an undo has brought it back.
    var isReturned = false
    /// The clock record of that deleted row, where this one takes its place.
    var formerRecord: Int64?
    /// The clock record of the row that this one was before its natural key changed.
    var keyChangedFrom: Int64?
    /// The rowid when it was last touched, where the table has one.
    var rowid: Int64?
    /// The integer that it had before, where it has another now.
    var movedFrom: Int64?
    /// Whether its references are recorded even where they hold the same integers: one of these means another row now.
    var recordsReferences = false
    /// Whether its identity has been looked for.
    var isIdentified = false
    /// Its identity, once that is known; a natural key's is made when the row is read.
    var identity: RowIdentity?
}

/// A clock record whose row is gone.
struct DeletedRow {
    var record: Int64
    var milliseconds: Int64
    /// Which row it was, where the record does not keep the identity.
    var key: RowKey
}
