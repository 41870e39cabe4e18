import LogSyncModel
import LogSyncState

extension OpenStore {
    /// The order in which the last writer is the greatest: time, peer, sequence.
    func precedes(_ a: Stamp, _ b: Stamp) -> Bool {
        (a.time, peers.id(a.peer), a.sequence) < (b.time, peers.id(b.peer), b.sequence)
    }

    /// clock(r): what says which of two rows is older.
    func age(_ row: RowState) -> Stamp? {
        row.state.inserts.min { precedes($0, $1) }
    }

    /// Whether `a` is older than `b`: by their first inserts, then by table and identity.
    func isOlder(_ a: RowState, _ b: RowState) -> Bool {
        guard let ageA = age(a), let ageB = age(b) else { return age(a) != nil }
        if precedes(ageA, ageB) { return true }
        if precedes(ageB, ageA) { return false }
        return (a.table, a.identity) < (b.table, b.identity)
    }
}

extension OpenStore {
    /// Adds or takes away the shares of a row whose cells are all by name.
    func countFull(_ sign: Int, _ full: RowState) {
        let digest = rowDigest(full.table, full.identity)
        for stamp in full.state.inserts { count(sign, row: digest, column: StateDigest.insertColumn, stamp) }
        for (name, cell) in full.state.cellsByName { count(sign, cell, row: digest, column: StateDigest.column(name)) }
    }
}

extension OpenStore {
    /// Now, raised above what is superseded.
    func time(above stamps: [Stamp]) -> HybridTime {
        var time = now
        for stamp in stamps where stamp.time >= time { time = stamp.time.successor }
        return time
    }
}
