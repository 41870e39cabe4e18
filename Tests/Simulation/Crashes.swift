import Foundation

/// Runs one scenario again and again, with a death at every change that it makes, one at a time.
///
/// A change is a write, sync, truncation or deletion of the store or its journals, or a write, fsync, rename, removal, or
/// the like, of a file outside it; commits are among the first. The process dies before each; a write of several bytes
/// is also cut in half; and before each the power goes. What comes after a change is what comes before the next.
struct Crashes {
    struct Point: Hashable {
        var place: FolderWorld.Place
        var death: Death
    }

    let runner: Runner
    let scenario: Scenario
    /// How many deaths there are to die, and how many were died.
    private(set) var points = 0
    private(set) var runs = 0

    init(_ scenario: Scenario, runner: Runner) {
        var quiet = scenario
        // Each run is to have one death and no other trouble.
        quiet.steps.removeAll { step in
            switch step {
            case .crash, .fault: true
            default: false
            }
        }
        for peer in quiet.peers.indices { quiet.peers[peer].death = nil }
        self.scenario = quiet
        self.runner = runner
    }

    /// - Parameters:
    ///   - limit: where there are more points, so many of them are tried, evenly spread.
    ///   - report: is told of each death that something came of; returns false to end.
    mutating func run(limit: Int, report: (Scenario, Failure) async -> Bool) async throws {
        let (failure, changes) = await runner.changes(of: scenario)
        if let failure {
            _ = await report(scenario, failure)
            return
        }
        let all = changes.sorted { Self.order($0.key) < Self.order($1.key) }.flatMap(Self.points)
        points = all.count
        // The fractional part of multiples of the golden ratio: which ones differs from scenario to scenario.
        let offset = (Double(scenario.seed % 1000) * 0.618_033_988_75).truncatingRemainder(dividingBy: 1)
        let stride = max(Double(all.count) / Double(max(limit, 1)), 1)
        for number in 0..<min(all.count, limit) {
            let point = all[Int((Double(number) + (stride > 1 ? offset : 0)) * stride) % all.count]
            let dying = Self.scenario(scenario, point)
            runs += 1
            guard let failure = await runner.failure(of: dying) else { continue }
            guard await report(dying, failure) else { return }
        }
    }

    private static func points(_ place: FolderWorld.Place, _ changes: FolderWorld.Changes) -> [Point] {
        func points(_ kinds: [ChangeKind], _ killed: Crash, _ powerless: Crash) -> [Point] {
            kinds.enumerated().flatMap { index, kind in
                var deaths = [
                    Death(kind: killed, change: index + 1, extent: .none),
                    Death(kind: powerless, change: index + 1, extent: .none),
                ]
                if kind == .divisible { deaths.append(Death(kind: killed, change: index + 1, extent: .half)) }
                return deaths.map { Point(place: place, death: $0) }
            }
        }
        return points(changes.files, .fileSystem, .fileSystemPower) + points(changes.store, .store, .power)
    }

    private static func order(_ place: FolderWorld.Place) -> Int {
        switch place {
        case .beginning(let peer): peer - 100
        case .step(let number): number
        }
    }

    private static func scenario(_ scenario: Scenario, _ point: Point) -> Scenario {
        var scenario = scenario
        switch point.place {
        case .beginning(let peer): scenario.peers[peer].death = point.death
        case .step(let number):
            guard let peer = scenario.steps[number].peers.first else { return scenario }
            scenario.steps.insert(.crash(point.death, peer: peer), at: number)
        }
        return scenario
    }
}
