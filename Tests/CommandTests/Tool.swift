import Foundation
import Synchronization

/// The built tool as its users run it: a process, seen by its output, its errors and its exit code.
///
/// ```swift
/// let tool = try Tool()
/// let ended = try await tool.run("status", "notes.db", "--json")
/// ```
///
/// A tool has a home folder of its own, so that no setting of whoever runs the tests reaches it. Every process that it
/// starts is ended, by its id, at the latest when the tool goes.
final class Tool: Sendable {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// How a process ended and what it said.
    struct Ended: Sendable {
        /// The exit code; 128 and the signal's number where a signal ended it.
        var code: Int32
        var output: String
        var errors: String

        var lines: [String] { output.split(separator: "\n").map(String.init) }
    }

    /// The binary, beside the test bundle.
    static let path: String = {
        let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent("logsync").path
    }()

    /// How long a process may take, in seconds: what hangs is noticed, what runs on a busy machine is not mistaken for it.
    static let patience = 300.0

    /// The folder that everything happens in; its `home` is the tool's home.
    let folder: URL
    private let started = Mutex<[Process]>([])

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("logsync-\(UUID().uuidString.prefix(8))")
        for name in ["home", "shared", "output"] {
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent(name), withIntermediateDirectories: true)
        }
    }

    deinit {
        let left = started.withLock { $0 }.filter(\.isRunning)
        for process in left { process.signal(SIGKILL) }
        try? FileManager.default.removeItem(at: folder)
    }

    func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    /// What every process gets and nothing else.
    private func environment(_ more: [String: String]) -> [String: String] {
        let search = "\(URL(fileURLWithPath: Self.path).deletingLastPathComponent().path):"
        var environment = [
            "PATH": search + (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"),
            "HOME": path("home"), "LANG": "C.UTF-8",
        ]
        environment.merge(more) { $1 }
        return environment
    }

    // MARK: Running

    /// Runs the tool to its end; it is killed after `seconds`.
    func run(_ arguments: String..., environment: [String: String] = [:], within seconds: Double = Tool.patience)
        async throws
        -> Ended
    {
        try await run(arguments, environment: environment, within: seconds)
    }

    func run(_ arguments: [String], environment: [String: String] = [:], within seconds: Double = Tool.patience)
        async throws
        -> Ended
    {
        try await start(arguments, environment: environment).end(within: seconds)
    }

    /// Starts the tool and leaves it running.
    func start(_ arguments: [String], environment: [String: String] = [:]) throws -> Process {
        try start(program: Self.path, arguments, environment: environment)
    }

    /// Runs another program to its end.
    func program(
        _ program: String, _ arguments: [String], environment: [String: String] = [:],
        within seconds: Double = Tool.patience
    ) async throws -> Ended {
        try await start(program: program, arguments, environment: environment).end(within: seconds)
    }

    func start(program: String, _ arguments: [String], environment: [String: String] = [:]) throws -> Process {
        let process = try Process(
            program, arguments, environment: self.environment(environment), folder: folder)
        started.withLock { $0.append(process) }
        return process
    }

    // MARK: Databases

    /// Runs SQL as another program would: with the sqlite3 shell.
    @discardableResult
    func sql(_ database: String, _ sql: String) async throws -> String {
        let shell = try await program(
            "/usr/bin/env", ["sqlite3", "-bail", "-cmd", ".timeout 20000", path(database), sql])
        guard shell.code == 0 else { throw Failure(description: "sqlite3 ended with \(shell.code): \(shell.errors)") }
        return shell.output
    }

    /// Makes a database with a few rows; returns its path.
    @discardableResult
    func database(_ name: String) async throws -> String {
        try await sql(
            name, "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT); INSERT INTO notes VALUES (1, 'one')")
        return path(name)
    }

    /// Makes a store in the container `shared`, with the content `notes`; returns its path.
    @discardableResult
    func store(_ name: String, peer: String = "here") async throws -> String {
        try await database(name)
        try await succeed("init", path(name), "--container", path("shared"), "--content", "notes", "--peer", peer)
        return path(name)
    }

    /// Makes a second store of what ``store(_:peer:)`` published; returns its path.
    @discardableResult
    func clone(_ name: String, peer: String = "there") async throws -> String {
        try await succeed("clone", "--container", path("shared"), "--content", "notes", path(name), "--peer", peer)
        return path(name)
    }

    @discardableResult
    func succeed(_ arguments: String...) async throws -> Ended { try await succeed(arguments) }

    func succeed(_ arguments: [String]) async throws -> Ended {
        let ended = try await run(arguments)
        guard ended.code == 0 else {
            throw Failure(description: "logsync \(arguments.joined(separator: " ")): \(ended.code) \(ended.errors)")
        }
        return ended
    }
}

extension Tool {
    /// A process that was started. Its output goes to files, which cannot fill up as pipes do.
    final class Process: Sendable {
        let id: Int32
        private let outputPath: String
        private let errorPath: String
        private let ending: Ending

        /// Knows whether the process has ended, and wakes who waits for it.
        private final class Ending: Sendable {
            private struct State {
                var code: Int32?
                var waiters: [CheckedContinuation<Int32, Never>] = []
            }
            private let state = Mutex(State())

            var code: Int32? { state.withLock { $0.code } }

            func end(_ code: Int32) {
                let waiters = state.withLock { state in
                    state.code = code
                    defer { state.waiters = [] }
                    return state.waiters
                }
                for waiter in waiters { waiter.resume(returning: code) }
            }

            func wait() async -> Int32 {
                await withCheckedContinuation { continuation in
                    let code: Int32? = state.withLock { state in
                        if state.code == nil { state.waiters.append(continuation) }
                        return state.code
                    }
                    if let code { continuation.resume(returning: code) }
                }
            }
        }

        fileprivate init(_ program: String, _ arguments: [String], environment: [String: String], folder: URL) throws {
            let base = folder.appendingPathComponent("output/\(UUID().uuidString)").path
            outputPath = base + ".out"
            errorPath = base + ".err"
            for path in [outputPath, errorPath] { _ = FileManager.default.createFile(atPath: path, contents: nil) }
            let process = Foundation.Process()
            process.executableURL = URL(fileURLWithPath: program)
            process.arguments = arguments
            process.environment = environment
            process.currentDirectoryURL = folder
            process.standardInput = FileHandle.nullDevice
            guard let output = FileHandle(forWritingAtPath: outputPath),
                let errors = FileHandle(forWritingAtPath: errorPath)
            else { throw Failure(description: "no file for the output of \(program)") }
            // NB: Foundation's Process lives on after its end and would keep them open. Last seen with Swift 6.3.
            defer {
                try? output.close()
                try? errors.close()
            }
            process.standardOutput = output
            process.standardError = errors
            let ending = Ending()
            self.ending = ending
            process.terminationHandler = {
                let status = $0.terminationStatus
                ending.end($0.terminationReason == .uncaughtSignal ? 128 + status : status)
            }
            try process.run()
            id = process.processIdentifier
        }

        var isRunning: Bool { ending.code == nil }
        var output: String { (try? String(contentsOfFile: outputPath, encoding: .utf8)) ?? "" }
        var errors: String { (try? String(contentsOfFile: errorPath, encoding: .utf8)) ?? "" }

        func signal(_ number: Int32) {
            if isRunning { kill(id, number) }
        }

        /// Waits for its end; it is killed after `seconds`.
        func end(within seconds: Double = Tool.patience) async -> Ended {
            let deadline = DispatchWorkItem { [self] in signal(SIGKILL) }
            DispatchQueue.global().asyncAfter(deadline: .now() + seconds, execute: deadline)
            let code = await ending.wait()
            deadline.cancel()
            return Ended(code: code, output: output, errors: errors)
        }

        /// Waits for a line of its output.
        @discardableResult
        func line(within seconds: Double = Tool.patience, where isWanted: (String) -> Bool) async throws -> String {
            let deadline = ContinuousClock.now + .seconds(seconds)
            while true {
                let isOver = !isRunning
                // The last piece may be half a line.
                let lines = output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
                if let line = lines.first(where: isWanted) { return line }
                guard !isOver, .now < deadline else {
                    throw Failure(description: "no such line; output: \(output) errors: \(errors)")
                }
                try await Task.sleep(for: .milliseconds(10))
            }
        }
    }
}

/// Waits until something holds.
func eventually(_ what: String, within seconds: Double = Tool.patience, _ condition: () async throws -> Bool)
    async throws
{
    let deadline = ContinuousClock.now + .seconds(seconds)
    while try await !condition() {
        guard .now < deadline else { throw Tool.Failure(description: "not within \(seconds) s: \(what)") }
        try await Task.sleep(for: .milliseconds(10))
    }
}
