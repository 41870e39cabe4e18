import LogSyncFormat
import LogSyncModel
import LogSyncSQLite

/// The branches that a store knows of, by local peer numbers (``Branch``).
struct Branches {
    struct Entry {
        var number: Int64
        var origin: Int64
        var start: UInt64
        var mark: ChainMark
        var parent: Int64
        var kept: ChainMark

        var offset: UInt64 { start - 1 }
    }

    private(set) var entries: [Int64: Entry] = [:]

    init(on connection: Connection) throws {
        for row in try connection.rows("SELECT number, origin, start, mark, parent, kept FROM logsync_branch") {
            let entry = Entry(
                number: row[0].asInteger, origin: row[1].asInteger, start: UInt64(row[2].asInteger),
                mark: ChainMark(rawValue: UInt64(bitPattern: row[3].asInteger)), parent: row[4].asInteger,
                kept: ChainMark(rawValue: UInt64(bitPattern: row[5].asInteger)))
            entries[entry.number] = entry
        }
    }

    var isEmpty: Bool { entries.isEmpty }

    /// The peer in whose folder a peer's or branch's transactions lie.
    func origin(of number: Int64) -> Int64 { entries[number]?.origin ?? number }

    /// How far a branch's sequences lie behind its origin's; 0 for a peer.
    func offset(of number: Int64) -> UInt64 { entries[number]?.offset ?? 0 }

    /// A peer and its branches; nil where it has none.
    func family(of number: Int64) -> [Int64]? {
        guard !entries.isEmpty else { return nil }
        let origin = origin(of: number)
        let branches = entries.values.filter { $0.origin == origin }.map(\.number).sorted()
        return branches.isEmpty ? nil : [origin] + branches
    }

    /// What a branch goes off from, the nearest first, each with the last sequence of it that comes before the branch.
    func ancestors(of number: Int64) -> [(number: Int64, sequence: UInt64)] {
        var ancestors: [(Int64, UInt64)] = []
        var current = number
        while let entry = entries[current], ancestors.count <= entries.count {
            ancestors.append((entry.parent, entry.offset - offset(of: entry.parent)))
            current = entry.parent
        }
        return ancestors
    }
}

extension PeerTable {
    /// What an entry of a transaction's dependencies means here.
    enum Resolution {
        /// Everything up to these, and whatever they branch off.
        case seen(VersionVector)
        case missing
        case otherBranch(Dot)
    }

    /// Finds the transaction that a dependency means: its author may not have known of all branches.
    func resolve(_ dependency: Dependency, on connection: Connection) throws -> Resolution {
        let dot = dependency.dot
        guard let named = self[dot.peer] else { return .missing }
        guard let family = branches.family(of: named.number) else {
            guard dot.sequence <= named.sequence else { return .missing }
            guard let mark = dependency.mark,
                let known = try self.mark(of: named, dot.sequence, on: connection), known != mark
            else { return .seen(VersionVector([dot.peer: dot.sequence])) }
            return .otherBranch(dot)
        }
        let place = branches.offset(of: named.number) + dot.sequence
        var unknown = false
        for number in family {
            guard let entry = entries[number], place > branches.offset(of: number) else { continue }
            let sequence = place - branches.offset(of: number)
            guard sequence <= entry.sequence else { continue }
            guard let mark = dependency.mark, let known = try self.mark(of: entry, sequence, on: connection) else {
                if number == named.number { unknown = true }
                continue
            }
            if known == mark { return .seen(path(to: number, sequence)) }
        }
        if unknown { return .seen(path(to: named.number, dot.sequence)) }
        return dot.sequence <= named.sequence ? .otherBranch(dot) : .missing
    }

    /// Everything up to a transaction, and what its branch goes off from.
    private func path(to number: Int64, _ sequence: UInt64) -> VersionVector {
        var vector = VersionVector([id(number): sequence])
        for ancestor in branches.ancestors(of: number) { vector[id(ancestor.number)] = ancestor.sequence }
        return vector
    }

    /// nil where a snapshot brought it and nobody said.
    func mark(of entry: Entry, _ sequence: UInt64, on connection: Connection) throws -> ChainMark? {
        if sequence == entry.sequence { return entry.chain.mark }
        return try History.mark(of: entry.number, sequence, on: connection)
    }

    /// The transaction that an author who had seen so much meant by a dot, by local number.
    ///
    /// An author who did not know of a branch called it by what it branches off; of several that they did know, they called
    /// that one so which has the lowest mark.
    func place(of dot: Dot, seenBy vector: VersionVector) -> (number: Int64, sequence: UInt64) {
        let number = self[dot.peer]?.number ?? 0
        guard !vector.covers(dot), let family = branches.family(of: number) else { return (number, dot.sequence) }
        let place = branches.offset(of: number) + dot.sequence
        let candidates = family.compactMap { branches.entries[$0] }.filter {
            place > $0.offset && vector[id($0.number)] >= place - $0.offset
        }
        guard let branch = candidates.min(by: { $0.mark < $1.mark }) else { return (number, dot.sequence) }
        return (branch.number, place - branch.offset)
    }
}
