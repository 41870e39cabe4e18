import Foundation
import Testing

/// Lets only twice as many tests run at a time as the machine has cores: half of their time they wait for daemons.
///
/// Each test starts processes and waits for them, which the test runner takes for idleness: without this all of them would
/// run at once, and on a busy machine none would be done within its limit.
struct Turn: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        // A suite takes no turn of its own: its tests do.
        guard testCase != nil else { return try await function() }
        await Turns.shared.take()
        do {
            try await function()
        } catch {
            await Turns.shared.give()
            throw error
        }
        await Turns.shared.give()
    }
}

extension Trait where Self == Turn {
    /// One of a few tests that run at the same time.
    static var turn: Turn { Turn() }
}

private actor Turns {
    static let shared = Turns()

    private var free = max(2, 2 * ProcessInfo.processInfo.activeProcessorCount)
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func take() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    func give() {
        if waiting.isEmpty {
            free += 1
        } else {
            waiting.removeFirst().resume()
        }
    }
}
