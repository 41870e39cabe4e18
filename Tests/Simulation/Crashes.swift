import Foundation

/// Runs one scenario again and again, with a death at every change that it makes, one at a time.
struct Crashes {
    let runner: Runner
    let scenario: Scenario
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

    /// - Parameter report: is told of each death that something came of.
    mutating func run(report: (Scenario, Failure) async -> Bool) async throws {
        let (failure, changes) = await runner.changes(of: scenario)
        if let failure {
            _ = await report(scenario, failure)
            return
        }
        for (place, counts) in changes.sorted(by: { Self.order($0.key) < Self.order($1.key) }) {
            for kind in Crash.allCases {
                for change in 1...max(counts[kind] ?? 1, 1) {
                    for completes in [false, true] {
                        let dying = Self.scenario(
                            scenario, Death(kind: kind, change: change, completes: completes), at: place)
                        runs += 1
                        guard let failure = await runner.failure(of: dying) else { continue }
                        guard await report(dying, failure) else { return }
                    }
                }
            }
        }
    }

    private static func order(_ place: FolderWorld.Place) -> Int {
        switch place {
        case .beginning(let peer): peer - 100
        case .step(let number): number
        }
    }

    private static func scenario(_ scenario: Scenario, _ death: Death, at place: FolderWorld.Place) -> Scenario {
        var scenario = scenario
        switch place {
        case .beginning(let peer): scenario.peers[peer].death = death
        case .step(let number):
            guard let peer = scenario.steps[number].peers.first else { return scenario }
            scenario.steps.insert(.crash(death, peer: peer), at: number)
        }
        return scenario
    }
}
