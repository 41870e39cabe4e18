package import LogSyncModel

/// The dot and time of one entry of the replicated state, its peer by its place in ``SnapshotManifest/peers``.
package struct EntryStamp: Hashable, Sendable {
    package var peer: Int
    package var sequence: UInt64
    package var time: HybridTime

    package init(peer: Int, sequence: UInt64, time: HybridTime) {
        self.peer = peer
        self.sequence = sequence
        self.time = time
    }
}

/// Rows of one table as a snapshot holds them: all their entries (Documentation/model.md, replicated state).
package enum SnapshotRows: Hashable, Sendable {
    case plain(PlainRows)
    case spelled(SpelledRows)

    package var table: String {
        switch self {
        case .plain(let rows): rows.table
        case .spelled(let rows): rows.table
        }
    }

    package var count: Int {
        switch self {
        case .plain(let rows): rows.identities.count
        case .spelled(let rows): rows.rows.count
        }
    }

    /// Goes through the stamps of all entries. A stamp that many cells of a row share comes once.
    package func forEachStamp(_ body: (EntryStamp) throws -> Void) rethrows {
        switch self {
        case .plain(let rows):
            try rows.stamps.forEach(body)
            for column in rows.columns { try column.exceptions.forEach { try body($0.stamp) } }
        case .spelled(let rows):
            for row in rows.rows {
                try row.inserts.forEach(body)
                try row.deletes.forEach(body)
                for cell in row.cells {
                    try cell.versions.forEach { try body($0.stamp) }
                    try cell.additions.forEach { try body($0.stamp) }
                }
            }
        }
    }
}

/// Rows that have one insert each and, in each of the same columns, one version: nearly all rows of nearly all stores.
package struct PlainRows: Hashable, Sendable {
    package var table: String
    /// One a row; at least one.
    package var identities: [RowIdentity]
    /// The rows' integers at the author: empty, or one a row, nil where it has none that a reader could take over.
    package var integers: [Int64?]
    /// One a row: its insert, and the version of every cell that ``Column/exceptions`` do not list.
    package var stamps: [EntryStamp]
    package var columns: [Column]

    package struct Column: Hashable, Sendable {
        package var name: String
        /// One a row; nil where the author does not know them any more, because it has dropped the column.
        package var values: [Value]?
        /// Cells that were set after the insert, by ascending row.
        package var exceptions: [Exception]

        package init(name: String, values: [Value]? = [], exceptions: [Exception] = []) {
            self.name = name
            self.values = values
            self.exceptions = exceptions
        }
    }

    /// The version of one cell.
    package struct Exception: Hashable, Sendable {
        package var row: Int
        package var stamp: EntryStamp

        package init(row: Int, stamp: EntryStamp) {
            self.row = row
            self.stamp = stamp
        }
    }

    package init(
        table: String, identities: [RowIdentity] = [], integers: [Int64?] = [], stamps: [EntryStamp] = [],
        columns: [Column] = []
    ) {
        self.table = table
        self.identities = identities
        self.integers = integers
        self.stamps = stamps
        self.columns = columns
    }
}

/// Rows of any kind, entry by entry: conflicts, counters, rows that are dead and have edits left.
package struct SpelledRows: Hashable, Sendable {
    package var table: String
    /// At least one.
    package var rows: [Row]

    package init(table: String, rows: [Row] = []) {
        self.table = table
        self.rows = rows
    }

    package struct Row: Hashable, Sendable {
        package var identity: RowIdentity
        /// Its integer at its author, where it has one.
        package var integer: Int64?
        package var inserts: [EntryStamp]
        package var deletes: [EntryStamp]
        package var cells: [Cell]

        package init(
            identity: RowIdentity, integer: Int64? = nil, inserts: [EntryStamp] = [], deletes: [EntryStamp] = [],
            cells: [Cell] = []
        ) {
            self.identity = identity
            self.integer = integer
            self.inserts = inserts
            self.deletes = deletes
            self.cells = cells
        }
    }

    /// The entries of one cell; at least one.
    package struct Cell: Hashable, Sendable {
        package var column: String
        package var versions: [Version]
        package var additions: [Addition]

        package init(column: String, versions: [Version] = [], additions: [Addition] = []) {
            self.column = column
            self.versions = versions
            self.additions = additions
        }
    }

    package struct Version: Hashable, Sendable {
        package var stamp: EntryStamp
        /// nil where the author does not know it any more.
        package var value: Value?

        package init(stamp: EntryStamp, value: Value?) {
            self.stamp = stamp
            self.value = value
        }
    }

    /// What one peer added to a counter since a base version.
    package struct Addition: Hashable, Sendable {
        package var basePeer: Int
        package var baseSequence: UInt64
        /// Whose addition it is; the stamp's peer.
        package var stamp: EntryStamp
        /// A number.
        package var cumulative: Value

        package init(basePeer: Int, baseSequence: UInt64, stamp: EntryStamp, cumulative: Value) {
            self.basePeer = basePeer
            self.baseSequence = baseSequence
            self.stamp = stamp
            self.cumulative = cumulative
        }
    }
}
