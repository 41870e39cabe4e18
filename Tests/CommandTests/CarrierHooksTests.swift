import Foundation
import LogSync
import Logging
import Synchronization
import Testing

@testable import LogSyncCommand

/// The commands by which what carries the folder fetches and brings, by themselves.
@Suite struct CarrierHooksTests {
    /// Which commands have ended, and whether well.
    private final class Ends: Sendable { let all = Mutex<[String]>([]) }

    private let tool: Tool
    private let ends = Ends()
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    init() throws { tool = try Tool() }

    private func settings(_ command: String, _ isScan: Bool) -> CarrierSettings {
        isScan ? CarrierSettings(beforeScan: command) : CarrierSettings(afterPublish: command)
    }

    private func isThere(_ name: String) -> Bool { FileManager.default.fileExists(atPath: tool.path(name)) }

    @Test(arguments: [true, false])
    func `a command that hangs is ended where the configuration has another, which then runs`(isScan: Bool) async throws
    {
        let hanging = "touch \(tool.path("begun")); exec sleep 1000"
        let hooks = CarrierHooks(settings(hanging, isScan), logger: logger, lateAfter: .seconds(1)) {
            [ends] hook, isDone in
            ends.all.withLock { $0.append("\(hook.rawValue) \(isDone)") }
        }
        let running = Task { try await hooks.run() }
        defer {
            hooks.kill()
            running.cancel()
        }
        hooks.noteFiles(in: tool.path("box"))
        try await eventually("it runs") { isThere("begun") }
        // A configuration that says the same leaves it.
        hooks.change(to: settings(hanging, isScan), logger: logger)
        hooks.change(to: settings("cat > \(tool.path("told"))", isScan), logger: logger)
        try await eventually("the other has run") { !ends.all.withLock { $0.isEmpty } }
        #expect(ends.all.withLock { $0 } == ["\(isScan ? "before-scan" : "after-publish") true"])
        #expect(
            try String(contentsOfFile: tool.path("told"), encoding: .utf8) == (isScan ? "" : tool.path("box") + "\n"))
    }

    @Test func `a command that works comes to its end though another is next`() async throws {
        let go = tool.path("go")
        let working =
            "touch \(tool.path("begun")); while ! test -e \(go); do sleep 0.02; done; touch \(tool.path("old"))"
        let hooks = CarrierHooks(settings(working, true), logger: logger, lateAfter: .seconds(120)) { _, _ in }
        let running = Task { try await hooks.run() }
        defer {
            hooks.kill()
            running.cancel()
        }
        try await eventually("it runs") { isThere("begun") }
        hooks.change(to: settings("touch \(tool.path("new"))", true), logger: logger)
        _ = FileManager.default.createFile(atPath: go, contents: nil)
        try await eventually("the other has run") { isThere("new") }
        #expect(isThere("old"))
    }
}
