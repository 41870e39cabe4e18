import Foundation
import Synchronization
import Testing

/// One test's folder: stores, a container, each machine's state, and whatever was started in it.
final class Sandbox: Sendable {
    let root: URL
    let content = "notes"
    private let running = Mutex<[Running]>([])

    fileprivate init() throws {
        root = FileManager.default.temporaryDirectory.appendingPathComponent("logsync-\(UUID().uuidString.prefix(8))")
            .resolvingSymlinksInPath()
        for name in ["container", "stores", "state", "output"] {
            try FileManager.default.createDirectory(at: folder(name), withIntermediateDirectories: true)
        }
    }

    func folder(_ name: String) -> URL { root.appendingPathComponent(name, isDirectory: true) }
    var container: URL { folder("container") }
    var contentFolder: URL { container.appendingPathComponent(content, isDirectory: true) }

    // MARK: Programs

    func start(
        _ program: String, _ arguments: [String], environment: [String: String] = [:], input: String? = nil
    ) throws -> Running {
        let started = try Running(
            program, arguments, environment: environment, input: input, folder: folder("output"))
        running.withLock { $0.append(started) }
        return started
    }

    func run(
        _ program: String, _ arguments: [String], environment: [String: String] = [:], input: String? = nil,
        within seconds: Double = 180
    ) async throws -> Finished {
        try await start(program, arguments, environment: environment, input: input).finish(within: seconds)
    }

    /// Runs a program that has to succeed.
    @discardableResult
    func succeed(
        _ program: String, _ arguments: [String], environment: [String: String] = [:], input: String? = nil
    ) async throws -> Finished {
        let finished = try await run(program, arguments, environment: environment, input: input)
        guard finished.code == 0 else {
            throw Failure(
                "\(program) \(arguments.joined(separator: " ").prefix(400)) ended with \(finished.code): \(finished.errors)\(finished.output)"
            )
        }
        return finished
    }

    @discardableResult
    func fixture(_ script: String, _ arguments: [String]) async throws -> Finished {
        let path = packageFolder.appendingPathComponent("Fixtures/\(script)").path
        return try await succeed(Program.python, Program.pythonOptions + [path] + arguments)
    }

    fileprivate func close() async {
        let started = running.withLock { $0 }
        for program in started where program.isRunning {
            program.signal(SIGKILL)
            _ = await program.finish(within: 10)
        }
        if ProcessInfo.processInfo.environment["LOGSYNC_KEEP"] == nil {
            try? FileManager.default.removeItem(at: root)
        } else {
            print("kept \(root.path)")
        }
    }

    // MARK: Peers

    /// A peer's place; nothing is made yet.
    /// - Parameter machine: whose state folder it uses; its own unless told.
    func peer(_ name: String, machine: String? = nil, at path: String? = nil) -> Peer {
        Peer(
            name: name, machine: machine ?? name,
            path: path ?? folder("stores").appendingPathComponent("\(name).db").path, sandbox: self)
    }

    /// A database of one of the example schemas with generated rows, not yet a store.
    func database(_ name: String, schema: String, rows: Int = 10, seed: Int = 1) async throws -> Peer {
        let peer = peer(name)
        let schema = packageFolder.appendingPathComponent("Fixtures/schemas/\(schema).sql").path
        try await fixture("rows.py", ["make", schema, peer.path, "--rows", "\(rows)", "--seed", "\(seed)"])
        return peer
    }

    /// A database made by SQL, not yet a store.
    func database(_ name: String, sql: String) async throws -> Peer {
        let peer = peer(name)
        try await peer.write(sql)
        return peer
    }

    /// Two peers that hold the same and have told each other so.
    func pair(schema: String, rows: Int = 10, options: [String] = []) async throws -> (Peer, Peer) {
        let one = try await database("one", schema: schema, rows: rows)
        return try await pair(one, options: options)
    }

    func pair(sql: String, options: [String] = []) async throws -> (Peer, Peer) {
        try await pair(database("one", sql: sql), options: options)
    }

    private func pair(_ one: Peer, options: [String]) async throws -> (Peer, Peer) {
        try await one.initialize(options)
        let two = try await clone("two")
        // What the second would find after these, it has found.
        for peer in [one, two, one] { try await peer.sync() }
        return (one, two)
    }

    func clone(_ name: String, machine: String? = nil) async throws -> Peer {
        let peer = peer(name, machine: machine)
        try await peer.clone()
        return peer
    }

    // MARK: Comparing

    enum Likeness: String {
        /// Every row of every table, integers included, and the schema.
        case equal
        /// The same rows pointing at the same rows, whatever integers name them.
        case meaning
        /// The first means what the third and the fourth added to the second.
        case union
    }

    /// Fails the test where the stores differ, or one of them breaks a constraint.
    func expect(
        _ likeness: Likeness, _ peers: [Peer], options: [String] = [], _ comment: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let script = packageFolder.appendingPathComponent("Fixtures/compare.py").path
        let finished = try await run(
            Program.python, Program.pythonOptions + [script, likeness.rawValue] + peers.map(\.path) + options)
        if finished.code != 0 {
            let text = "\(comment)\(comment.isEmpty ? "" : ": ")\(finished.output)\(finished.errors)"
            Issue.record(Comment(rawValue: text), sourceLocation: sourceLocation)
        }
    }

    // MARK: Looking at the container

    /// Every file under a folder: its path from there, size, inode and time of change.
    func listing(_ folder: URL) -> [String: String] {
        var found: [String: String] = [:]
        let paths = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
        for path in paths {
            var info = stat()
            let full = folder.appendingPathComponent(path).path
            guard lstat(full, &info) == 0, info.st_mode & S_IFMT != S_IFDIR else { continue }
            found[path] = "\(info.st_size) bytes, inode \(info.st_ino), \(info.st_mtim.tv_sec).\(info.st_mtim.tv_nsec)"
        }
        return found
    }

    /// When anything under a folder was last changed, by the file system's clock.
    func lastChange(in folder: URL) -> Date {
        let paths = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
        let seconds = paths.map { path in
            var info = stat()
            lstat(folder.appendingPathComponent(path).path, &info)
            return Double(info.st_ctim.tv_sec) + Double(info.st_ctim.tv_nsec) / 1e9
        }
        return Date(timeIntervalSince1970: seconds.max() ?? 0)
    }

    /// A peer's log files, oldest first.
    func logFiles(of peer: Peer) async throws -> [URL] {
        try await logFiles(of: peer.identifier())
    }

    func logFiles(of identifier: String) throws -> [URL] {
        let logs = contentFolder.appendingPathComponent("peers/\(identifier)/logs", isDirectory: true)
        let names = try FileManager.default.contentsOfDirectory(atPath: logs.path)
        return names.filter { $0.hasSuffix(".tlog") }.sorted().map { logs.appendingPathComponent($0) }
    }
}

/// Runs a test in a folder of its own, ends what it left running, and removes the folder.
func withSandbox(_ body: (Sandbox) async throws -> Void) async throws {
    let sandbox = try Sandbox()
    do {
        try await body(sandbox)
    } catch {
        await sandbox.close()
        throw error
    }
    await sandbox.close()
}
