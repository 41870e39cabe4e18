import Foundation

/// Makes a failing scenario small: whatever can be left out while it goes on failing in the same way is.
struct Shrinker {
    private static let maximumRuns = 1500

    let runner: Runner
    let kind: Failure.Kind
    private var runs = 0
    private let deadline: Date
    private var best: (scenario: Scenario, failure: Failure)

    init(_ scenario: Scenario, _ failure: Failure, runner: Runner, seconds: Double) {
        deadline = Date().addingTimeInterval(seconds)
        self.runner = runner
        kind = failure.kind
        best = (scenario, failure)
    }

    mutating func shrink() async -> (scenario: Scenario, failure: Failure) {
        if let step = best.failure.step {
            var shorter = best.scenario
            shorter.steps = Array(shorter.steps.prefix(step + 1))
            await attempt(shorter)
        }
        var size = -1
        while size != Self.size(best.scenario), !isOver {
            size = Self.size(best.scenario)
            await dropSteps()
            await dropStatements()
            await dropPeers()
            await dropRows()
            await dropSchema()
        }
        return best
    }

    private var isOver: Bool { runs >= Self.maximumRuns || Date() > deadline }

    private static func size(_ scenario: Scenario) -> Int {
        scenario.description.count
    }

    @discardableResult
    private mutating func attempt(_ scenario: Scenario) async -> Bool {
        guard !isOver else { return false }
        runs += 1
        guard let failure = await runner.failure(of: scenario), failure.kind == kind else { return false }
        best = (scenario, failure)
        return true
    }

    private mutating func dropSteps() async {
        var length = max(best.scenario.steps.count / 2, 1)
        while length >= 1 {
            var start = best.scenario.steps.count - length
            while start > -length {
                var shorter = best.scenario
                let range = max(start, 0)..<min(max(start, 0) + length, shorter.steps.count)
                shorter.steps.removeSubrange(range)
                await attempt(shorter)
                start -= length
            }
            length /= 2
        }
    }

    private mutating func dropStatements() async {
        var index = best.scenario.steps.count - 1
        while index >= 0 {
            if case .write(let peer, var statements, let ending) = best.scenario.steps[index] {
                var place = statements.count - 1
                while place >= 0, statements.count > 1 {
                    var fewer = statements
                    fewer.remove(at: place)
                    var shorter = best.scenario
                    shorter.steps[index] = .write(peer: peer, statements: fewer, ending: ending)
                    if await attempt(shorter) { statements = fewer }
                    place -= 1
                }
            }
            index -= 1
        }
    }

    /// The founder stays.
    private mutating func dropPeers() async {
        var peer = best.scenario.peers.count - 1
        while peer >= 1 {
            var fewer = best.scenario
            fewer.peers.remove(at: peer)
            fewer.steps = fewer.steps.compactMap { $0.without(peer) }
            await attempt(fewer)
            peer -= 1
        }
        for peer in best.scenario.peers.indices {
            var plainer = best.scenario
            plainer.peers[peer].skew = 0
            plainer.peers[peer].foreignKeysAreOn = false
            plainer.peers[peer].death = nil
            if plainer.peers[peer].beginning == .joins { plainer.peers[peer].beginning = .clones }
            await attempt(plainer)
        }
    }

    private mutating func dropRows() async {
        for peer in best.scenario.peers.indices {
            var index = best.scenario.peers[peer].rows.count - 1
            while index >= 0 {
                var fewer = best.scenario
                fewer.peers[peer].rows.remove(at: index)
                await attempt(fewer)
                index -= 1
            }
        }
        var index = best.scenario.policies.count - 1
        while index >= 0 {
            var fewer = best.scenario
            fewer.policies.remove(at: index)
            await attempt(fewer)
            index -= 1
        }
    }

    /// Tables, indexes, references and columns that no step names. One that a step names makes the program fail, which
    /// is another kind of failure.
    private mutating func dropSchema() async {
        for extra in best.scenario.schema.extras.indices.reversed() {
            await attempt(with: { $0.extras.remove(at: extra) })
        }
        for table in best.scenario.schema.tables.indices.reversed() {
            if best.scenario.schema.tables.count > 1, await attempt(with: { $0.tables.remove(at: table) }) { continue }
            let model = best.scenario.schema.tables[table]
            for key in model.composites.indices.reversed() {
                await attempt(with: { $0.tables[table].composites.remove(at: key) })
            }
            for column in model.columns.indices where model.columns[column].reference != nil {
                await attempt(with: { $0.tables[table].columns[column].reference = nil })
            }
            for unique in model.uniques.indices.reversed() {
                await attempt(with: { $0.tables[table].uniques.remove(at: unique) })
            }
            for check in model.checks.indices.reversed() {
                await attempt(with: { $0.tables[table].checks.remove(at: check) })
            }
            for column in model.columns.indices.reversed() {
                await attempt(with: { $0.tables[table].columns.remove(at: column) })
            }
        }
    }

    @discardableResult
    private mutating func attempt(with change: (inout SchemaModel) -> Void) async -> Bool {
        var changed = best.scenario
        change(&changed.schema)
        return changed.schema.isSound ? await attempt(changed) : false
    }
}

extension Step {
    /// The step where one peer is no more; nil where it was that peer's.
    fileprivate func without(_ peer: Int) -> Step? {
        guard !peers.contains(peer) else { return nil }
        func moved(_ index: Int) -> Int { index > peer ? index - 1 : index }
        switch self {
        case .write(let index, let statements, let ending):
            return .write(peer: moved(index), statements: statements, ending: ending)
        case .pass: return self
        case .skew(let index, let milliseconds): return .skew(peer: moved(index), milliseconds: milliseconds)
        case .record(let index): return .record(peer: moved(index))
        case .send(let from, let to): return .send(from: moved(from), to: moved(to))
        case .sync(let index): return .sync(peer: moved(index))
        case .policy(let index, let target, let policy):
            return .policy(peer: moved(index), target: target, policy: policy)
        case .fault(let fault, let index, let choice): return .fault(fault, peer: moved(index), choice: choice)
        case .lie(let index, let choice): return .lie(peer: moved(index), choice: choice)
        case .crash(let death, let index): return .crash(death, peer: moved(index))
        case .snapshot(let index): return .snapshot(peer: moved(index))
        case .compact(let index, let days): return .compact(peer: moved(index), days: days)
        case .backUp(let index, let vacuums): return .backUp(peer: moved(index), vacuums: vacuums)
        case .restore(let index, let losesState): return .restore(peer: moved(index), losesState: losesState)
        case .settle(let index, let choice): return .settle(peer: moved(index), choice: choice)
        case .copy(let from, let to, let vacuums): return .copy(from: moved(from), to: moved(to), vacuums: vacuums)
        case .migrate(let index, let migration): return .migrate(peer: moved(index), migration)
        case .retire(let index, let other): return .retire(by: moved(index), other: moved(other))
        }
    }
}
