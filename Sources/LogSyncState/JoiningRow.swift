import LogSyncModel

/// Whose entries are covered, when two states of a row are joined.
package struct JoinCoverage {
    /// Of this store's version vector.
    package var ours: Coverage
    /// Of the snapshot's.
    package var theirs: Coverage

    package init(ours: Coverage, theirs: Coverage) {
        self.ours = ours
        self.theirs = theirs
    }
}

extension RowState {
    /// Joins the state that another store had of this row (Documentation/model.md, joining a snapshot): an entry that
    /// both have stays; one that only one has stays exactly when its dot is not within the other's vector.
    package mutating func join(_ other: RowState, _ coverage: JoinCoverage) {
        state.inserts = Self.join(state.inserts, other.state.inserts, coverage) { $0 }
        var other = other
        if !other.state.cellsByName.keys.allSatisfy(state.hasCell) {
            for name in other.state.cellsByName.keys.sorted() {
                let own = spelling(of: name)
                if !own.hasSameBytes(as: name) {
                    other.state.cellsByName[own] = other.state.cellsByName.removeValue(forKey: name)
                }
            }
        }
        for name in Set(state.cellsByName.keys).union(other.state.cellsByName.keys) {
            let joined = (state.cellsByName[name] ?? CellState())
                .joined(with: other.state.cellsByName[name] ?? CellState(), coverage)
            state.cellsByName[name] = joined.isEmpty ? nil : joined
        }
        joinDeletes(other.state.deletes, coverage)
        integer = integer ?? other.integer
    }

    /// Deletes are kept for the sake of the edits that they did not cover: where such an edit is left, whichever
    /// side still knows which delete it was lost to says so.
    private mutating func joinDeletes(_ theirs: [Stamp], _ coverage: JoinCoverage) {
        guard hasCells else {
            state.deletes = []
            return
        }
        guard !isAlive else {
            state.deletes = Self.join(state.deletes, theirs, coverage) { $0 }
            return
        }
        state.deletes += theirs.filter { !state.deletes.contains($0) }
    }

    fileprivate static func join<Entry>(
        _ ours: [Entry], _ theirs: [Entry], _ coverage: JoinCoverage, stamp: (Entry) -> Stamp
    ) -> [Entry] {
        func isSame(_ a: Entry, _ b: Entry) -> Bool {
            (stamp(a).peer, stamp(a).sequence) == (stamp(b).peer, stamp(b).sequence)
        }
        let kept = ours.filter { entry in
            !coverage.theirs.covers(stamp(entry)) || theirs.contains { isSame($0, entry) }
        }
        var added: [Entry] = []
        // Anybody may write a snapshot that says an entry twice; it is one.
        for entry in theirs where !coverage.ours.covers(stamp(entry)) {
            if !ours.contains(where: { isSame($0, entry) }), !added.contains(where: { isSame($0, entry) }) {
                added.append(entry)
            }
        }
        return kept + added
    }
}

extension CellState {
    fileprivate func joined(with other: CellState, _ coverage: JoinCoverage) -> CellState {
        var joined = CellState(
            versions: RowState.join(versions, other.versions, coverage) { $0.stamp },
            additions: RowState.join(additions, other.additions, coverage) { $0.stamp })
        // What a peer has added to a base is one sum, however often a snapshot says it.
        if joined.additions.count > 1 {
            var sums: [Addition] = []
            for addition in joined.additions.sorted(by: { $0.stamp.sequence > $1.stamp.sequence }) {
                let isKnown = sums.contains {
                    ($0.basePeer, $0.baseSequence, $0.peer)
                        == (addition.basePeer, addition.baseSequence, addition.peer)
                }
                if !isKnown { sums.append(addition) }
            }
            if sums.count < joined.additions.count { joined.additions = sums }
        }
        // The other side may still have the value of a column that was dropped here.
        for index in joined.versions.indices where joined.versions[index].value == nil {
            joined.versions[index].value = other.versions.first { $0.stamp == joined.versions[index].stamp }?.value
        }
        return joined
    }
}

extension RowState {
    /// Whether both have the same entries, whatever their order and whether or not their values are known.
    package func hasSameEntries(as other: RowState) -> Bool {
        guard Set(state.inserts) == Set(other.state.inserts), Set(state.deletes) == Set(other.state.deletes),
            state.cellsByName.count == other.state.cellsByName.count,
            other.state.cellsByName.keys.allSatisfy(state.hasCell)
        else { return false }
        return state.cellsByName.allSatisfy { name, cell in
            guard let theirs = other.state.cellsByName[name] else { return false }
            return Set(cell.versions.map(\.stamp)) == Set(theirs.versions.map(\.stamp))
                && Set(cell.additions.map(\.key)) == Set(theirs.additions.map(\.key))
        }
    }
}

extension Addition {
    fileprivate struct Key: Hashable {
        var basePeer: Int64
        var baseSequence: UInt64
        var stamp: Stamp
    }

    fileprivate var key: Key { Key(basePeer: basePeer, baseSequence: baseSequence, stamp: stamp) }
}
