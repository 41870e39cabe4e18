import LogSyncModel
import LogSyncSQLite

/// Rows of the simple changes, by what others know of them.
extension SimpleChanges {
    /// Whether the pending row of that number is taken care of here.
    func contains(number: Int64) -> Bool {
        if byNumber.isEmpty {
            byNumber = entries.indices.sorted { entries[$0].numberOffset < entries[$1].numberOffset }
        }
        guard let place = firstIndex(byNumber.count, { self.number(of: entries[byNumber[$0]]) < number }) else {
            return false
        }
        let entry = entries[byNumber[place]]
        return self.number(of: entry) == number && entry.isSimple
    }

    /// Whether the row that a record is of was deleted, and is taken care of here.
    func deleted(_ record: Int64) -> Bool {
        if deletedRowids.isEmpty { deletedRowids = deletes.map { entries[$0].rowid }.sorted() }
        guard let place = firstIndex(deletedRowids.count, { deletedRowids[$0] < record }) else { return false }
        return deletedRowids[place] == record
    }

    /// Whether the row at a rowid was inserted, and is taken care of here.
    func inserted(at rowid: Int64) -> Bool { place(of: rowid) != nil }

    /// The identity that a row inserted at a rowid has been given.
    func identity(at rowid: Int64) -> RowIdentity? {
        place(of: rowid).map { RowIdentity(unchecked: keys.bytes[range(entries[$0])]) }
    }

    /// Indexes of entries in the order of their rowids.
    func byRowid(_ indexes: [Int]) -> [Int] {
        let entries = entries
        return indexes.sorted { entries[$0].rowid < entries[$1].rowid }
    }

    /// The new row at a rowid. Where the table has an integer key, ``inserts`` are by rowid.
    private func place(of rowid: Int64) -> Int? {
        if !table.capturesKey {
            guard let place = firstIndex(inserts.count, { entries[inserts[$0]].rowid < rowid }) else { return nil }
            let found = inserts[place]
            return entries[found].rowid == rowid ? found : nil
        }
        if rowids.isEmpty { rowids = inserts.sorted { entries[$0].rowid < entries[$1].rowid } }
        guard let place = firstIndex(rowids.count, { entries[rowids[$0]].rowid < rowid }) else { return nil }
        return entries[rowids[place]].rowid == rowid ? rowids[place] : nil
    }

    /// The first place below `count` that does not precede; nil where all do.
    private func firstIndex(_ count: Int, _ precedes: (Int) -> Bool) -> Int? {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if precedes(middle) { low = middle + 1 } else { high = middle }
        }
        return low < count ? low : nil
    }
}
