import Foundation
import Testing

/// Who writes: programs that have never heard of logsync.
enum Writer: String, Sendable, CaseIterable {
    case shell, python
}

/// One store, the machine it is on, and what its people do with it.
struct Peer: Sendable {
    let name: String
    let machine: String
    let path: String
    let sandbox: Sandbox

    var environment: [String: String] {
        ["XDG_STATE_HOME": sandbox.folder("state").appendingPathComponent(machine).path, "NO_COLOR": "1"]
    }

    // MARK: The tool

    /// Runs `logsync`; fails the test where it ends otherwise than expected.
    @discardableResult
    func logsync(
        _ arguments: [String], exits expected: Set<Int32> = [0], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Finished {
        let finished = try await sandbox.run(Program.logsync, arguments, environment: environment)
        if !expected.contains(finished.code) {
            throw Failure(
                "logsync \(arguments.joined(separator: " ")) ended with \(finished.code), not \(expected.sorted()) "
                    + "(line \(sourceLocation.line)): \(finished.errors)\(finished.output)")
        }
        return finished
    }

    func initialize(_ options: [String] = [], sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await logsync(
            ["init", path, "--container", sandbox.container.path, "--content", sandbox.content, "--peer", name]
                + options,
            sourceLocation: sourceLocation)
    }

    func clone(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await logsync(
            ["clone", "--container", sandbox.container.path, "--content", sandbox.content, path, "--peer", name],
            sourceLocation: sourceLocation)
    }

    /// The `stores` entry that `sync --json` prints for this store.
    @discardableResult
    func sync(exits expected: Set<Int32> = [0], sourceLocation: SourceLocation = #_sourceLocation) async throws -> JSON
    {
        let finished = try await logsync(["sync", path, "--json"], exits: expected, sourceLocation: sourceLocation)
        return finished.code == 0 || !finished.output.isEmpty ? try finished.json["stores"][0] : .null
    }

    func status(sourceLocation: SourceLocation = #_sourceLocation) async throws -> JSON {
        try await logsync(["status", path, "--json"], sourceLocation: sourceLocation).json
    }

    func transactions(sourceLocation: SourceLocation = #_sourceLocation) async throws -> [JSON] {
        try await logsync(["log", path, "--json"], sourceLocation: sourceLocation).json["transactions"].array
    }

    func identifier(sourceLocation: SourceLocation = #_sourceLocation) async throws -> String {
        let peer = try await status(sourceLocation: sourceLocation)["peer"]
        guard let identifier = peer["id"].string else { throw Failure("status names no peer: \(peer)") }
        return identifier
    }

    /// What is held, as `status` tells it: reason by peer id.
    func held() async throws -> [(peer: String, reason: String, file: String)] {
        try await status()["held"].array.map { held in
            let peer = held["peer"]["id"].string ?? held["peer"].string ?? ""
            return (peer, held["reason"].string ?? "", held["file"].string ?? "")
        }
    }

    // MARK: Other programs

    /// Runs SQL as another program would, foreign keys enforced, and returns what it printed.
    @discardableResult
    func write(_ sql: String, with writer: Writer = .shell, foreignKeys: Bool = true) async throws -> String {
        switch writer {
        case .shell:
            let set = ".timeout 20000\nPRAGMA foreign_keys = \(foreignKeys ? "ON" : "OFF");\n"
            return try await sandbox.succeed(Program.sqlite3, ["-batch", "-bail", path], input: set + sql).output
        case .python:
            return try await python(
                """
                db.execute("PRAGMA foreign_keys = \(foreignKeys ? "ON" : "OFF")")
                db.executescript(sys.argv[2])
                """, sql)
        }
    }

    /// Runs a Python script with the store open as `db`, in autocommit, and further arguments from `sys.argv[2]` on.
    @discardableResult
    func python(_ script: String, _ arguments: String...) async throws -> String {
        let opening = """
            import sqlite3, sys, os, time
            db = sqlite3.connect(sys.argv[1], timeout=20, isolation_level=None)

            """
        return try await sandbox.succeed(
            Program.python, Program.pythonOptions + ["-c", opening + script, path] + arguments
        ).output
    }

    /// What a query returns, a line a row, columns parted by `|`.
    func rows(_ sql: String) async throws -> [String] {
        try await sandbox.succeed(Program.sqlite3, ["-batch", "-bail", path], input: ".timeout 20000\n" + sql).lines
    }

    func value(_ sql: String) async throws -> String {
        try await rows(sql).first ?? ""
    }

    func count(_ table: String, where condition: String = "1") async throws -> Int {
        Int(try await value("SELECT count(*) FROM \(table) WHERE \(condition);")) ?? -1
    }

    /// One transaction with new rows in every table, referring to each other.
    func add(rows: Int, tag: String, seed: Int = 1) async throws {
        try await sandbox.fixture("rows.py", ["add", path, "--rows", "\(rows)", "--tag", tag, "--seed", "\(seed)"])
    }

    /// Random writes; returns how many rows they left more in the table `plain`.
    @discardableResult
    func churn(operations: Int, tag: String, seed: Int = 1) async throws -> Int {
        let finished = try await sandbox.fixture(
            "rows.py", ["churn", path, "--operations", "\(operations)", "--tag", tag, "--seed", "\(seed)"])
        return Int(finished.output.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0
    }

    /// The same store as it is now, in another file that nobody replicates.
    func copy(_ name: String) async throws -> Peer {
        let copy = sandbox.peer(name)
        try await write("VACUUM INTO '\(copy.path)';")
        return copy
    }
}

/// Everybody syncs until everybody has everything: each twice, in order.
func exchange(_ peers: Peer..., sourceLocation: SourceLocation = #_sourceLocation) async throws {
    for _ in 0..<2 {
        for peer in peers { try await peer.sync(sourceLocation: sourceLocation) }
    }
}
