import LogSyncState

extension RowClock {
    /// A row of a table as one insert makes it: dropped columns have no entries.
    init(insertedBy stamp: Stamp, in table: TrackedTable) {
        self.init(insertedBy: stamp, columnCount: table.columnCount)
        for column in table.droppedColumns { setCell(column, CellState()) }
    }

    /// Makes the base speak of more columns: columns that it did not know have no entries.
    mutating func extend(to count: Int) {
        guard columnCount < count, base != nil else { return }
        for column in columnCount..<count where cells[column] == nil { cells[column] = CellState() }
        columnCount = count
    }
}
