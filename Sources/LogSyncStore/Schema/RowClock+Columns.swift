import LogSyncState

extension RowClock {
    /// A row of a table as one insert makes it: dropped columns have no entries.
    init(insertedBy stamp: Stamp, in table: TrackedTable) {
        self.init(insertedBy: stamp, columnCount: table.columnCount)
        for column in table.droppedColumns { setCell(column, CellState()) }
    }
}
