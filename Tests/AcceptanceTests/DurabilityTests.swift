import Foundation
import Testing

/// What has to be on disk before what: read from the system calls, because a test cannot pull the plug.
@Suite(.turn, .enabled(if: KillPoint.isPossible, "strace is not installed or not permitted here"))
struct DurabilityTests {
    /// One system call: its name and the paths in it, where strace could tell them.
    private struct Call {
        var name: Substring
        var text: Substring
        func names(_ path: String) -> Bool { text.contains("<\(path)>") || text.contains("\"\(path)\"") }
    }

    private func calls(_ arguments: [String], of peer: Peer) async throws -> [Call] {
        let trace = peer.sandbox.folder("output").appendingPathComponent("durability").path
        let finished = try await peer.sandbox.run(
            Program.strace,
            [
                "-f", "-y", "-qq", "-s", "4096", "-e",
                "trace=fsync,fdatasync,rename,renameat,renameat2,link,linkat,write,pwrite64", "-e", "signal=none",
                "-o", trace, Program.logsync,
            ] + arguments, environment: peer.environment)
        guard finished.code == 0 else { throw Failure("\(arguments) ended with \(finished.code): \(finished.errors)") }
        let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: trace)), as: UTF8.self)
        return text.split(separator: "\n").compactMap { line in
            guard let start = line.firstIndex(of: " "), let end = line.firstIndex(of: "(") else { return nil }
            return Call(name: line[start..<end].trimmingPrefix { $0 == " " }, text: line[end...])
        }
    }

    @Test func `a log file is flushed before it gets its name, its folder after that, and the store before both`()
        async throws
    {
        try await withSandbox { sandbox in
            let (one, _) = try await sandbox.pair(schema: "music", rows: 2)
            try await one.add(rows: 1, tag: "new")
            let calls = try await calls(["sync", one.path], of: one)
            let flushes: Set<Substring> = ["fsync", "fdatasync"]
            let identifier = try await one.identifier()
            let logs = sandbox.contentFolder.appendingPathComponent("peers/\(identifier)/logs").path
            guard
                let named = calls.firstIndex(where: { call in
                    (call.name.hasPrefix("rename") || call.name.hasPrefix("link")) && call.text.contains(".tlog\"")
                })
            else { throw Failure("no file got a log file's name") }
            // The file that was given the name: the first path in the call.
            let paths = calls[named].text.split(separator: "\"").enumerated().filter { $0.offset % 2 == 1 }.map {
                String($0.element)
            }
            guard let staged = paths.first else { throw Failure("a rename without a path: \(calls[named].text)") }
            let before = calls[..<named]
            let flushed = before.lastIndex { flushes.contains($0.name) && $0.text.contains(staged) }
            let written = before.lastIndex { $0.name.contains("write") && $0.text.contains(staged) }
            #expect(flushed != nil && flushed ?? 0 > written ?? 0, "the log file is not flushed before it is renamed")
            #expect(
                calls[named...].contains { flushes.contains($0.name) && $0.names(logs) },
                "the folder is not flushed after the rename")
            let committed = before.lastIndex { $0.name.contains("write") && $0.names(one.path + "-wal") }
            let safe = before.lastIndex { flushes.contains($0.name) && $0.names(one.path + "-wal") }
            #expect(safe != nil && safe ?? 0 > committed ?? 0, "published before the store's own commit is on disk")
        }
    }

    @Test func `a receipt replaces the one before in one step, flushed`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: "music", rows: 2)
            try await one.add(rows: 1, tag: "new")
            try await one.sync()
            let calls = try await calls(["sync", two.path], of: two)
            guard
                let named = calls.firstIndex(where: {
                    $0.name.hasPrefix("rename") && $0.text.contains("receipt.json\"")
                })
            else { throw Failure("no receipt was renamed into its place") }
            let paths = calls[named].text.split(separator: "\"").enumerated().filter { $0.offset % 2 == 1 }.map {
                String($0.element)
            }
            guard let staged = paths.first else { throw Failure("a rename without a path: \(calls[named].text)") }
            #expect(calls[..<named].contains { $0.name.hasSuffix("sync") && $0.text.contains(staged) })
            #expect(
                !calls.contains { $0.name.contains("write") && $0.text.contains("receipt.json>") },
                "a receipt was written in place")
        }
    }
}
