public import GRDB

extension EditingContext {
    /// What becomes of an unsaved edit of a row that was written meanwhile: NSMergePolicy's names.
    ///
    /// `error` and the two merges go by column: a conflict is a column that was edited, and that the store has otherwise by
    /// now than when it was read, and than it was edited to. `overwrite` and `rollback` go by row, as Core Data's do: any
    /// column of the record that the store has otherwise by now is one. A row that was deleted meanwhile is a conflict to all.
    ///
    /// Where a row has an integer key, another row may have that by now. The two are not merged: an edited row is a deleted one
    /// then, and what would write it, or a new row, over the other one, or refer to it, throws
    /// ``EditConflict`` under every policy.
    public enum EditPolicy: Sendable {
        /// ``EditingContext/save(context:)`` throws ``EditConflict``, and nothing is saved.
        case error
        /// Both changed a column: the store's value stays. A row deleted in the store stays deleted, and one that this
        /// context deletes stays.
        case mergeByPropertyStoreTrump
        /// Both changed a column: the edited value is written. A row deleted in the store comes back, and one that this
        /// context deletes goes.
        case mergeByPropertyObjectTrump
        /// The whole row is written as it was read and edited.
        case overwrite
        /// The row's edit is dropped.
        case rollback
        /// Says which values the columns in conflict get; columns that it leaves out keep the store's. Of a row that this
        /// context deletes: none, and it goes; any, and it stays with them. Of a row that was deleted in the store: none, and
        /// it stays deleted. What it throws, `save` throws.
        case custom(@Sendable (EditConflict) throws -> [String: DatabaseValue])
    }
}

/// An unsaved edit of a row, and what the store says by now.
public struct EditConflict: Error, Sendable, Hashable {
    public var table: String
    /// The row's primary key.
    public var key: [String: DatabaseValue]
    /// The columns in conflict; all of the record's where a whole row came or went.
    public var columns: Set<String>
    /// What the row held when it was read; nil where this context inserts it.
    public var base: [String: DatabaseValue]?
    /// The row as edited; nil where this context deletes it.
    public var mine: [String: DatabaseValue]?
    /// What the store says by now; nil where it was deleted.
    public var theirs: [String: DatabaseValue]?
}

/// A row that was inserted, updated or deleted in an ``EditingContext`` and is not saved yet.
public struct EditedRow: Sendable, Hashable {
    public var table: String
    /// The primary key; without those columns that the database gives a row when it is inserted.
    public var key: [String: DatabaseValue]
    /// Every column of the record as edited; of a deleted row as it was read.
    public var values: [String: DatabaseValue]
    /// The columns that were edited; of an inserted row all.
    public var columns: Set<String>
}
