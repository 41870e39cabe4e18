import Dispatch
import Foundation
import Glibc
import Synchronization

/// How a program ended and what it said.
struct Finished: Sendable {
    /// The exit code; 128 and the signal's number where a signal ended it.
    var code: Int32
    var output: String
    var errors: String

    var wasKilled: Bool { code == 128 + SIGKILL }
    var json: JSON { get throws { try JSON(parsing: output) } }
    /// The output's lines, without the last line break.
    var lines: [String] { output.split(separator: "\n", omittingEmptySubsequences: true).map(String.init) }
}

/// A test's own way to say what it could not go on from.
struct Failure: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

/// The programs that the tests run. Nothing of logsync is linked: it is seen only as its users see it.
enum Program {
    /// The built tool, beside the test bundle, or what `LOGSYNC_BINARY` names.
    static let logsync: String = {
        if let path = ProcessInfo.processInfo.environment["LOGSYNC_BINARY"] { return path }
        let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("logsync").path
    }()

    static let sqlite3 = find("sqlite3")
    static let strace = find("strace")
    static let unshare = find("unshare")
    static let shell = "/bin/sh"

    /// The interpreter itself: a version manager's shim would take longer than the scripts do.
    static let python: String = {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: find("python3"))
        process.arguments = ["-c", "import sys; print(sys.executable)"]
        process.standardOutput = pipe
        guard (try? process.run()) != nil else { return "python3 is not installed" }
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }()

    /// Without what is installed for this interpreter, which the scripts do not use and which takes as long to be found as they
    /// take to run.
    static let pythonOptions = ["-I", "-S"]

    static func isInstalled(_ path: String) -> Bool { FileManager.default.isExecutableFile(atPath: path) }

    private static func find(_ name: String) -> String {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        let paths = folders.map { "\($0)/\(name)" }
        return paths.first { isInstalled($0) } ?? "\(name) is not installed"
    }
}

/// The package's folder, which holds `Fixtures`.
let packageFolder: URL = {
    var folder = URL(fileURLWithPath: #filePath)
    for _ in 0..<4 { folder.deleteLastPathComponent() }
    return folder
}()

/// A program that has been started: ended by its id at the latest when its sandbox goes.
final class Running: Sendable {
    let identifier: Int32
    private let outputPath: String
    private let errorPath: String
    private let ending: Ending

    /// Holds the process until it has ended, and whoever waits for that.
    private final class Ending: Sendable {
        private struct State: Sendable {
            var code: Int32?
            var waiters: [CheckedContinuation<Int32, Never>] = []
        }
        private let state = Mutex(State())

        func end(_ code: Int32) {
            let waiters = state.withLock { state in
                state.code = code
                defer { state.waiters = [] }
                return state.waiters
            }
            for waiter in waiters { waiter.resume(returning: code) }
        }

        var code: Int32? { state.withLock { $0.code } }

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

    /// - Parameter folder: where the program's output is kept while it runs.
    init(
        _ program: String, _ arguments: [String], environment: [String: String] = [:], input: String? = nil,
        folder: URL
    ) throws {
        let name = UUID().uuidString
        outputPath = folder.appendingPathComponent("\(name).out").path
        errorPath = folder.appendingPathComponent("\(name).err").path
        var inputPath = "/dev/null"
        if let input {
            inputPath = folder.appendingPathComponent("\(name).in").path
            try Data(input.utf8).write(to: URL(fileURLWithPath: inputPath))
        }
        var all = ProcessInfo.processInfo.environment
        for (key, value) in environment { all[key] = value }
        let spawned = try Self.spawn(
            [program] + arguments, environment: all.map { "\($0)=\($1)" }, input: inputPath, output: outputPath,
            errors: errorPath)
        identifier = spawned
        let ending = Ending()
        self.ending = ending
        Thread.detachNewThread {
            var status: Int32 = 0
            while waitpid(spawned, &status, 0) == -1, errno == EINTR {}
            // As <sys/wait.h> takes a status apart.
            let signal = status & 0x7f
            ending.end(signal == 0 ? status >> 8 & 0xff : 128 + signal)
        }
    }

    /// NB: `posix_spawn` itself, because Foundation's `Process` of 6.3 on Linux ran over its buffers after some hundred
    /// programs in one run. It may go when that is mended.
    private static func spawn(
        _ arguments: [String], environment: [String], input: String, output: String, errors: String
    ) throws -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Whatever the test runner ignores or blocks is no business of what it starts.
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var strings = arguments.map { strdup($0) } + [nil]
        var variables = environment.map { strdup($0) } + [nil]
        defer { for string in strings + variables { free(string) } }
        var identifier: Int32 = 0
        let code = posix_spawn(&identifier, arguments[0], &actions, &attributes, &strings, &variables)
        guard code == 0 else { throw Failure("\(arguments[0]) cannot be started: \(String(cString: strerror(code)))") }
        return identifier
    }

    var isRunning: Bool { ending.code == nil }
    var output: String { (try? String(contentsOfFile: outputPath, encoding: .utf8)) ?? "" }
    var errors: String { (try? String(contentsOfFile: errorPath, encoding: .utf8)) ?? "" }

    func signal(_ number: Int32) {
        if isRunning { kill(identifier, number) }
    }

    /// Waits until the program has ended; after `seconds` it is killed.
    func finish(within seconds: Double) async -> Finished {
        let deadline = DispatchWorkItem { [self] in signal(SIGKILL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds, execute: deadline)
        let code = await ending.wait()
        deadline.cancel()
        return Finished(code: code, output: output, errors: errors)
    }
}

/// Waits until `condition` holds; throws when it has not after `seconds`.
func eventually(
    _ what: String, within seconds: Double = 20, every interval: Double = 0.02,
    _ condition: () async throws -> Bool
) async throws {
    let clock = ContinuousClock()
    let deadline = clock.now + .seconds(seconds)
    while try await !condition() {
        guard clock.now < deadline else { throw Failure("\(what): not within \(seconds) seconds") }
        try await Task.sleep(for: .seconds(interval))
    }
}
