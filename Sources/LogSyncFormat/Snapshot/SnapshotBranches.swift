import LogSyncModel

/// The end of a manifest, which is there where the vector has branches or more than one transaction of a peer's
/// (Documentation/snapshot-format.md).
extension SnapshotManifest {
    func encodeBranches(to out: ByteWriter) {
        out.append(varint: UInt64(branches.count))
        for branch in branches {
            out.append(branch.origin.bytes)
            out.append(varint: branch.start)
            out.append(word: branch.mark.rawValue)
            out.append(branch.parent.bytes)
            out.append(word: branch.kept.rawValue)
        }
        out.append(varint: UInt64(marks.count))
        for run in marks {
            out.append(run.peer.bytes)
            out.append(varint: run.first)
            out.append(varint: UInt64(run.marks.count))
            for mark in run.marks { out.append(word: mark.rawValue) }
        }
    }

    static func branches(from reader: inout ByteReader) throws -> ([Branch], [Marks]) {
        var branches: [Branch] = []
        for _ in 0..<(try reader.count(of: "branches", size: 49)) {
            let origin = try reader.peer()
            let start = try reader.sequence()
            let mark = ChainMark(rawValue: try reader.word())
            let parent = try reader.peer()
            let kept = ChainMark(rawValue: try reader.word())
            let branch = Branch(origin: origin, start: start, mark: mark, parent: parent, kept: kept)
            guard kept < mark, branches.last.map({ $0.id < branch.id }) ?? true else {
                throw reader.damaged("a branch of \(origin) cannot stand here")
            }
            branches.append(branch)
        }
        try check(branches, reader)
        var marks: [Marks] = []
        for _ in 0..<(try reader.count(of: "runs of marks", size: 18)) {
            let peer = try reader.peer()
            let first = try reader.sequence()
            let count = try reader.count(of: "marks", size: 8)
            guard first - 1 + UInt64(count) <= Limits.sequence else { throw reader.damaged("marks beyond the last") }
            marks.append(
                Marks(
                    peer: peer, first: first,
                    marks: try (0..<count).map { _ in ChainMark(rawValue: try reader.word()) }))
        }
        return (branches, marks)
    }

    /// Each goes off from its origin, or from a branch of that which begins earlier: so none goes off from itself, by however
    /// many others.
    private static func check(_ branches: [Branch], _ reader: ByteReader) throws {
        let known = Dictionary(branches.map { ($0.id, $0) }) { first, _ in first }
        for branch in branches {
            guard known[branch.origin] == nil else { throw reader.damaged("a branch of a branch") }
            guard branch.parent != branch.origin else { continue }
            guard let parent = known[branch.parent], parent.origin == branch.origin, parent.start < branch.start else {
                throw reader.damaged("a branch of \(branch.origin) cannot go off from \(branch.parent)")
            }
        }
    }
}
