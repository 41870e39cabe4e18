import LogSyncModel
import LogSyncState

/// Rows of a transaction that refer to others of it, in the order in which they can be merged: a row is ready when all that it
/// refers to have been, so that a tree is gone through once, from its root.
///
/// A row that is ready may have to wait all the same, for one that a constraint has refused: it is blocked, and ready again
/// when that one has been decided. What other rows are called by, where that is not their identity, is not known here: a row
/// that refers to something in that way is ready again whenever others have been merged.
struct WaitingRows {
    let rows: [IncomingRow]
    /// By place: where the rows are that refer to it, and the rows that it refers to, without itself.
    private let children: Edges
    private let parents: Edges
    private var states: [State]
    /// How many of the rows that it refers to have not been merged, by place.
    private var missing: [Int32]
    private var ready: [Int] = []
    /// Blocked rows by what they refer to.
    private var blockedBy: [RowIdentity: [Int]] = [:]
    /// Whether a row was merged since the vague ones were tried.
    private var isAnyNew = false
    private let rules: ReferenceRules

    private enum State: UInt8 {
        case waiting, ready, blocked, merged
    }

    /// Edges by the place where they begin.
    private struct Edges {
        private var starts: [Int32]
        private var ends: [Int32]

        init(_ count: Int, _ edges: [(from: Int32, to: Int32)]) {
            starts = [Int32](repeating: 0, count: count + 1)
            for edge in edges { starts[Int(edge.from) + 1] += 1 }
            for place in 1..<max(starts.count, 1) { starts[place] += starts[place - 1] }
            ends = [Int32](repeating: 0, count: edges.count)
            var next = starts
            for edge in edges {
                ends[Int(next[Int(edge.from)])] = edge.to
                next[Int(edge.from)] += 1
            }
        }

        subscript(place: Int) -> ArraySlice<Int32> { ends[Int(starts[place])..<Int(starts[place + 1])] }
    }

    init(_ rows: [IncomingRow], _ rules: ReferenceRules) {
        self.rows = rows
        self.rules = rules
        var places: [RowIdentity: [Int32]] = [:]
        places.reserveCapacity(rows.count)
        for (place, row) in rows.enumerated() { places[row.identity, default: []].append(Int32(place)) }
        var edges: [(from: Int32, to: Int32)] = []
        states = [State](repeating: .waiting, count: rows.count)
        for (place, row) in rows.enumerated() {
            let named = row.parents(rules)
            for (index, parent) in named.enumerated() where !named[..<index].contains(parent) {
                for other in places[parent] ?? [] where other != place { edges.append((Int32(place), other)) }
            }
        }
        parents = Edges(rows.count, edges)
        children = Edges(rows.count, edges.map { ($0.to, $0.from) })
        missing = rows.indices.map { [parents] in Int32(parents[$0].count) }
        for place in rows.indices where missing[place] == 0 { makeReady(place) }
    }

    private mutating func makeReady(_ place: Int) {
        states[place] = .ready
        ready.append(place)
    }

    /// Whether it waits for itself: then nothing else tells that it need not.
    func refersToItself(_ place: Int) -> Bool {
        let row = rows[place]
        return row.group.kind == .insert && row.parents(rules).contains(row.identity)
    }

    private func isVague(_ place: Int) -> Bool {
        rows[place].table.map { table in rules.of(table).contains { !$0.namesIdentity } } ?? false
    }

    // MARK: What becomes of them

    /// How many rows can be tried.
    var readyCount: Int { ready.count }

    /// The rows that can be tried.
    mutating func takeReady() -> [Int] {
        if ready.isEmpty, isAnyNew {
            isAnyNew = false
            for place in rows.indices where states[place] == .blocked && isVague(place) { makeReady(place) }
        }
        defer { ready = [] }
        return ready
    }

    /// They are merged.
    mutating func release(_ places: [Int]) {
        if !places.isEmpty { isAnyNew = true }
        // Before the first of them releases another.
        for place in places { states[place] = .merged }
        for place in places {
            for child in children[place] {
                missing[Int(child)] -= 1
                if missing[Int(child)] == 0, states[Int(child)] == .waiting { makeReady(Int(child)) }
            }
        }
    }

    /// They have to wait for more.
    mutating func block(_ places: [Int]) {
        for place in places {
            states[place] = .blocked
            for parent in Set(rows[place].parents(rules)) { blockedBy[parent, default: []].append(place) }
        }
    }

    /// What has waited for rows that were decided is ready again.
    mutating func retry(after decided: [RowIdentity]) {
        isAnyNew = true
        for identity in decided {
            for place in blockedBy.removeValue(forKey: identity) ?? [] where states[place] == .blocked {
                makeReady(place)
            }
        }
    }

    /// Takes the rows that refer to each other in circles, and to no other that waits.
    mutating func takeCircles() -> [Int] {
        let circles = components { $0 == .waiting }
        var numbers = [Int](repeating: -1, count: rows.count)
        for (number, places) in circles.enumerated() { for place in places { numbers[place] = number } }
        return circles.enumerated().filter { number, places in
            places.allSatisfy { place in
                parents[place].allSatisfy { numbers[Int($0)] == number || states[Int($0)] == .merged }
            }
        }.flatMap(\.element).sorted()
    }

    /// The rows that were not merged, each after what it refers to, but in circles.
    var rest: [Int] { components { $0 != .merged }.flatMap(\.self) }

    private func components(_ isIncluded: (State) -> Bool) -> [[Int]] {
        let left = rows.indices.filter { isIncluded(states[$0]) }
        var numbers = [Int](repeating: -1, count: rows.count)
        for (number, place) in left.enumerated() { numbers[place] = number }
        let graph = StrongComponents(count: left.count) { number in
            parents[left[number]].map { numbers[Int($0)] }.filter { $0 >= 0 }
        }
        return graph.components.map { $0.sorted().map { left[$0] } }
    }

    // MARK: Many at a time

    /// Places by the groups of which their rows are: the rows of one can be tried together.
    func groups(of places: [Int]) -> [[Int]] {
        Dictionary(grouping: places) { rows[$0].number }.values.sorted { $0[0] < $1[0] }
    }

    /// Inserts of one group as a group; nil where they are others.
    static func group(_ rows: [IncomingRow]) -> RowGroup? {
        let first = rows[0].group
        guard first.kind == .insert, first.columns.allSatisfy({ $0.operation == .set && $0.times.isEmpty }) else {
            return nil
        }
        var group = RowGroup(table: first.table, kind: first.kind)
        group.identities = rows.map(\.identity)
        group.times = rows.map(\.stamp.time)
        if !first.integers.isEmpty { group.integers = rows.map(\.integer) }
        group.columns = first.columns.enumerated().map { index, column in
            RowGroup.Column(
                name: column.name, referencedTable: column.referencedTable,
                values: rows.map { column.values[$0.index] })
        }
        return group
    }
}
