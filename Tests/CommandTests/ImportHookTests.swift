import Foundation
import Logging
import Synchronization
import Testing

@testable import LogSyncCommand

/// The command after imports, by itself.
@Suite struct ImportHookTests {
    /// What a hook has said of its commands.
    private final class Ends: Sendable { let all = Mutex<[Bool]>([]) }

    private let tool: Tool
    private let ends = Ends()
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    init() throws { tool = try Tool() }

    private func hook(_ command: String, lateAfter: Duration) -> ImportHook {
        ImportHook(command, logger: logger, lateAfter: lateAfter) { [ends] isDone in
            ends.all.withLock { $0.append(isDone) }
        }
    }

    private var told: String { (try? String(contentsOfFile: tool.path("told"), encoding: .utf8)) ?? "" }

    @Test func `a command that does not end is counted, and another takes its place and is handed what it was`()
        async throws
    {
        let hook = hook("exec sleep 1000", lateAfter: .milliseconds(100))
        let running = Task { try await hook.run() }
        defer {
            hook.kill()
            running.cancel()
        }
        hook.add("1")
        try await eventually("it is counted") { ends.all.withLock { $0 } == [false] }
        hook.add("2")
        // A configuration that says the same leaves it.
        hook.change(to: "exec sleep 1000", logger: logger)
        hook.change(to: "cat >> \(tool.path("told"))", logger: logger)
        try await eventually("the other runs") { ends.all.withLock { $0 } == [false, true] }
        #expect(told == "1\n2\n")
    }

    @Test func `a command that is replaced before it has taken long is ended when it has`() async throws {
        let hook = hook("touch \(tool.path("begun")); exec sleep 1000", lateAfter: .seconds(1))
        let running = Task { try await hook.run() }
        defer {
            hook.kill()
            running.cancel()
        }
        hook.add("1")
        try await eventually("it runs") { FileManager.default.fileExists(atPath: tool.path("begun")) }
        hook.change(to: "cat >> \(tool.path("told"))", logger: logger)
        try await eventually("the other runs") { told == "1\n" }
        try await eventually("it has ended well") { ends.all.withLock { $0 } == [true] }
    }

    @Test func `a command that works comes to its end though another is next`() async throws {
        let go = tool.path("go")
        let hook = hook(
            "touch \(tool.path("begun")); while ! test -e \(go); do sleep 0.02; done; echo old > \(tool.path("told"))",
            lateAfter: .seconds(120))
        let running = Task { try await hook.run() }
        defer {
            hook.kill()
            running.cancel()
        }
        hook.add("1")
        try await eventually("it runs") { FileManager.default.fileExists(atPath: tool.path("begun")) }
        hook.change(to: "cat >> \(tool.path("told"))", logger: logger)
        hook.add("2")
        _ = FileManager.default.createFile(atPath: go, contents: nil)
        try await eventually("the other runs") { told == "old\n2\n" }
        try await eventually("both have ended well") { ends.all.withLock { $0 } == [true, true] }
    }
}
