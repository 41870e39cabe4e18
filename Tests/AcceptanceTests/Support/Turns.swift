import Foundation
import Testing

/// Lets only one test more run at a time than the machine has cores, since each waits now and then for what it has started, and
/// those that measure time alone.
struct Turn: SuiteTrait, TestTrait, TestScoping {
    var alone: Bool

    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        // A suite takes no turn of its own: its tests do.
        guard testCase != nil else { return try await function() }
        await Turns.shared.take(alone: alone)
        do {
            try await function()
        } catch {
            await Turns.shared.give(alone: alone)
            throw error
        }
        await Turns.shared.give(alone: alone)
    }
}

extension Trait where Self == Turn {
    /// One of a few tests that run at the same time.
    static var turn: Turn { Turn(alone: false) }
    /// Runs while no other test of this target does.
    static var alone: Turn { Turn(alone: true) }
}

private actor Turns {
    static let shared = Turns()

    private let places = max(2, ProcessInfo.processInfo.activeProcessorCount + 1)
    private var taken = 0
    private var waiting: [(alone: Bool, continuation: CheckedContinuation<Void, Never>)] = []

    func take(alone: Bool) async {
        let needed = alone ? places : 1
        if waiting.isEmpty, taken + needed <= places {
            taken += needed
        } else {
            await withCheckedContinuation { waiting.append((alone, $0)) }
        }
    }

    func give(alone: Bool) {
        taken -= alone ? places : 1
        // In order: otherwise one that wants to be alone would wait for ever.
        while let first = waiting.first, taken + (first.alone ? places : 1) <= places {
            taken += first.alone ? places : 1
            waiting.removeFirst().continuation.resume()
        }
    }
}

/// How much of what could be tried is tried: `LOGSYNC_LONG_TESTS=1` tries all of it.
enum Scale {
    static let isLong = ProcessInfo.processInfo.environment["LOGSYNC_LONG_TESTS"] == "1"

    static func choose<T>(_ short: T, long: T) -> T { isLong ? long : short }
}
