import LogSyncModel
import LogSyncState
import Testing

@testable import LogSyncStore

/// Who is shown is decided by rows and their ages alone: here they are in memory, and a database says only what its tables are.
struct ConstraintSolverTests {
    /// Rows that are shown and not to be decided, and what may not be twice.
    private struct RowsInMemory: Surroundings {
        let rules: ReferenceRules
        var hasFolded = false
        /// Tables whose rows are folded into those of the same key.
        var merging: Set<String> = []
        /// The positions of unique columns, and of those that may not be NULL, by table.
        var unique: [String: [Int]] = [:]
        var required: [String: [Int]] = [:]
        var shown: [Candidate] = []
        /// Rows that are no candidates, by those that are folded into them.
        var folded: [RowIdentity: RowIdentity] = [:]

        func folds(_ table: TrackedTable) -> Bool { merging.contains(table.name) }
        func hasUniqueKeys(_ table: TrackedTable) -> Bool { unique[table.name] != nil }
        func isOlder(_ a: RowState, _ b: RowState) -> Bool { a.state.inserts[0].time < b.state.inserts[0].time }

        func hasParent(_ reference: [Value], _ rule: ReferenceRule, besides candidates: Candidates) -> Bool {
            shown.contains {
                candidates[$0.name] == nil && $0.table === rule.parent && reference == [.reference($0.full.identity)]
            }
        }

        func defaults(
            _ rule: ReferenceRule, besides candidates: Candidates, or also: (TrackedTable, Int64) -> [RowIdentity]
        ) -> [Value]? { nil }
        func winner(of identity: RowIdentity, in table: TrackedTable) -> RowIdentity? { folded[identity] }

        func redirected(_ rule: ReferenceRule, to winner: RowIdentity, among candidates: Candidates) -> [Value]? {
            [.reference(winner)]
        }

        func intactValues(_ full: RowState, in table: TrackedTable) -> [Value] {
            shown.first { $0.name == RowName(table, full.identity) }?.intact ?? []
        }

        func keys(of values: [Value], in table: TrackedTable, followsFolded: Bool) -> RowKeys {
            if (required[table.name] ?? []).contains(where: { values[$0].isNull }) { return .unfit }
            return RowKeys(
                keys: (unique[table.name] ?? []).map { KeyPart(values[$0], collation: .binary).map { [$0] } })
        }

        func sharers(
            of key: [KeyPart], _ index: Int, in table: TrackedTable, besides candidates: Candidates
        ) -> [(full: RowState, position: Int64)] {
            shown.filter {
                candidates[$0.name] == nil && $0.table === table
                    && keys(of: $0.shown, in: table, followsFolded: false).keys[index] == key
            }.map { ($0.full, 1) }
        }

        func mark(at position: Int64, in table: TrackedTable) -> Int64? { 1 }

        func rowsInCycles(
            with candidate: Candidate, _ keys: Set<ConstraintSolver.SharedKey>, besides candidates: Candidates
        ) -> [(table: TrackedTable, position: Int64)] { [] }
    }

    private let tables: [String: TrackedTable]
    private var rows: RowsInMemory

    init() throws {
        let folder = try TestFolder()
        let peer = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
                CREATE TABLE note(id INTEGER PRIMARY KEY, tag INTEGER NOT NULL REFERENCES tag, title TEXT);
                CREATE TABLE link(id INTEGER PRIMARY KEY, tag INTEGER REFERENCES tag ON DELETE SET NULL);
                CREATE TABLE person(
                    id INTEGER PRIMARY KEY, name TEXT UNIQUE, spouse INTEGER NOT NULL REFERENCES person);
                """)
        let (catalog, rules) = try peer.store.database.read { ($0.catalog.tables, $0.referenceRules) }
        tables = Dictionary(uniqueKeysWithValues: catalog.map { ($0.name, $0) })
        rows = RowsInMemory(rules: rules)
        rows.unique = ["tag": [0], "person": [0]]
        rows.required = ["note": [0], "person": [1]]
    }

    private func identity(_ number: UInt8) -> RowIdentity {
        RowIdentity(surrogate: [UInt8](repeating: number, count: 16))
    }
    private func reference(_ number: UInt8) -> Value { .reference(identity(number)) }

    private func text(_ text: String) -> Value { .text(Array(text.utf8)[...]) }

    /// A row whose number is its age, too: the higher, the younger.
    private func row(_ table: String, _ number: UInt8, _ values: Value...) throws -> Candidate {
        let stamp = Stamp(
            peer: 1, sequence: UInt64(number), time: HybridTime(milliseconds: 1_700_000_000_000 + Int64(number)))
        var state = RowState(table: table, identity: identity(number))
        state.state.inserts = [stamp]
        return Candidate(state, in: try #require(tables[table]), intact: values, age: stamp)
    }

    /// What becomes of rows, by their numbers; the same in whatever order they are given.
    private func decide(_ rows: [Candidate]) throws -> [Candidate.Decision] {
        var decisions: [Candidate.Decision]?
        for order in permutations(rows) {
            var candidates = Candidates()
            for row in order { candidates.add(row) }
            try ConstraintSolver(candidates, in: self.rows).decide()
            let found = rows.map(\.decision)
            #expect(decisions == nil || found == decisions)
            decisions = found
        }
        return decisions ?? []
    }

    private func permutations(_ rows: [Candidate]) -> [[Candidate]] {
        guard let first = rows.first else { return [[]] }
        return permutations(Array(rows.dropFirst())).flatMap { rest in
            (0...rest.count).map { Array(rest[..<$0]) + [first] + Array(rest[$0...]) }
        }
    }

    @Test func `the older row keeps a unique value, and what needs the younger one is parked with it`() throws {
        let link = try row("link", 4, reference(2))
        let decisions = try decide([
            try row("tag", 1, text("work")), try row("tag", 2, text("work")), try row("note", 3, reference(2)), link,
        ])
        #expect(decisions == [.shown, .parked("unique"), .parked("foreign-key"), .shown])
        #expect(link.shown == [.null])
    }

    @Test mutating func `where rows of one key merge, what refers to the younger one shows the older one`() throws {
        rows.merging = ["tag"]
        let note = try row("note", 3, reference(2))
        let decisions = try decide([try row("tag", 1, text("work")), try row("tag", 2, text("work")), note])
        #expect(decisions == [.shown, .folded(identity(1)), .shown])
        #expect(note.shown == [reference(1)])
    }

    @Test(arguments: [(4, 3), (3, 4)] as [(UInt8, UInt8)])
    mutating func `rows that share a key because what one refers to was folded are one, whichever is older`(
        of: UInt8, and: UInt8
    ) throws {
        rows.merging = ["tag"]
        rows.unique["link"] = [0]
        let tags = [try row("tag", 1, text("work")), try row("tag", 2, text("work"))]
        let links = [try row("link", of, reference(1)), try row("link", and, reference(2))]
        let both = (Candidate.Decision.shown, Candidate.Decision.folded(identity(3)))
        #expect(
            try decide(tags + links) == [.shown, .folded(identity(1))]
                + (of < and ? [both.0, both.1] : [both.1, both.0]))
        // The same where the older one is shown and not to be decided.
        rows.hasFolded = true
        rows.folded = [identity(2): identity(1)]
        let (older, younger) = of < and ? (links[0], links[1]) : (links[1], links[0])
        rows.shown = [tags[0], older]
        if older === links[1] { older.redirect(try #require(rows.rules.of(older.table).first), to: [reference(1)]) }
        #expect(try decide([younger]) == [both.1])
    }

    @Test mutating func `rows that share another key are two, whatever was folded`() throws {
        rows.merging = ["tag"]
        rows.unique["note"] = [0, 1]
        let tags = [try row("tag", 1, text("work")), try row("tag", 2, text("work"))]
        let notes = [
            try row("note", 3, reference(1), text("same")), try row("note", 4, reference(2), text("same")),
        ]
        #expect(try decide(tags + notes) == [.shown, .folded(identity(1)), .shown, .parked("unique")])
    }

    @Test func `of many rows of one key the oldest is shown`() throws {
        let decisions = try decide(try (1...5).map { try row("tag", $0, text("work")) })
        #expect(decisions == [.shown] + Array(repeating: .parked("unique"), count: 4))
    }

    @Test mutating func `a younger row that is shown has to be decided as well`() throws {
        let younger = try row("tag", 2, text("work"))
        rows.shown = [younger]
        let older = try row("tag", 1, text("work"))
        #expect {
            try decide([older])
        } throws: { error in
            (error as? ConstraintSolver.Wanted)?.rows.map(\.position) == [1]
        }
        #expect(try decide([older, younger]) == [.shown, .parked("unique")])
        #expect(try decide([try row("tag", 3, text("work")), younger]) == [.parked("unique"), .shown])
    }

    @Test mutating func `a parent may be a row that is shown, and has to be somewhere`() throws {
        rows.shown = [try row("tag", 1, text("work"))]
        #expect(
            try decide([try row("note", 2, reference(1)), try row("note", 3, reference(9)), try row("note", 4, .null)])
                == [.shown, .parked("foreign-key"), .parked("not-null")])
    }

    @Test func `rows that need each other are shown together or not at all`() throws {
        let couple = [try row("person", 2, text("Ann"), reference(3)), try row("person", 3, text("Bob"), reference(2))]
        #expect(try decide(couple) == [.shown, .shown])
        let single = try row("person", 1, text("Bob"), reference(1))
        #expect(try decide([single] + couple) == [.shown, .parked("unique"), .parked("foreign-key")])
        let late = try row("person", 4, text("Bob"), reference(4))
        #expect(try decide([late] + couple) == [.parked("unique"), .shown, .shown])
    }
}
