import Foundation
import Testing

@testable import LogSyncCommand

/// What a daemon writes to programs that read it, late, or never.
@Suite struct OutputWriterTests {
    /// A pipe of a page.
    private final class Pipe {
        let (reader, writer): (CInt, CInt)

        init() {
            var ends: [CInt] = [0, 0]
            precondition(pipe(&ends) == 0)
            (reader, writer) = (ends[0], ends[1])
            // F_SETPIPE_SZ.
            _ = fcntl(writer, 1031, CInt(4096))
        }

        deinit { for end in [reader, writer] { close(end) } }

        /// Reads lines until one is wanted.
        func lines(until isLast: (String) -> Bool) async throws -> [String] {
            let reader = reader
            var text = ""
            for _ in 0..<10_000 {
                var polled = pollfd(fd: reader, events: Int16(POLLIN), revents: 0)
                if poll(&polled, 1, 0) > 0 {
                    var bytes = [UInt8](repeating: 0, count: 4096)
                    text += String(decoding: bytes[..<max(0, read(reader, &bytes, bytes.count))], as: UTF8.self)
                } else {
                    try await Task.sleep(for: .milliseconds(2))
                }
                let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
                if lines.contains(where: isLast) { return lines }
            }
            throw Tool.Failure(description: "no such line: \(text)")
        }
    }

    private func line(_ number: Int) -> [UInt8] { Array("line \(number) \(String(repeating: "x", count: 90))\n".utf8) }

    @Test func `it waits for no reader, keeps as much as it may, and says how much is missing and where`() async throws
    {
        let pipe = Pipe()
        let omissions = AsyncStream.makeStream(of: Void.self)
        let writer = OutputWriter(
            pipe.writer, limit: 10_000, notice: { "\($0) left out\n" },
            onOmission: { omissions.continuation.yield() })
        for number in 0..<1000 { try writer.write(line(number)) }
        omissions.continuation.finish()
        var count = 0
        for await _ in omissions.stream { count += 1 }
        #expect(count == 1, "it is said once")
        let lines = try await pipe.lines { $0.hasSuffix("left out") }
        let written = lines.dropLast().compactMap { $0.split(separator: " ").dropFirst().first.flatMap { Int($0) } }
        #expect(written == Array(0..<written.count), "what it has is without a gap")
        #expect((90..<300).contains(written.count), "\(written.count): what fits into the pipe and below the limit")
        #expect(lines.last == "\(1000 - written.count) left out")
        try writer.write(line(1000))
        #expect(try await pipe.lines { $0.hasPrefix("line 1000 ") }.count == 1)
        writer.finish(within: 20)
    }

    @Test func `what has to be told waits until it is written, and is given up where its task is`() async throws {
        let pipe = Pipe()
        let writer = OutputWriter(pipe.writer, limit: 10_000, notice: { "\($0) left out\n" })
        for number in 0..<1000 { try writer.write(line(number)) }
        let (told, given) = (line(2000), line(3000))
        let waiting = Task { try await writer.deliver(told) }
        let cancelled = Task { try await writer.deliver(given) }
        try await Task.sleep(for: .milliseconds(20))
        cancelled.cancel()
        #expect(try await !cancelled.value)
        let start = ContinuousClock.now
        writer.finish(within: 0.1)
        #expect(start.duration(to: .now) < .seconds(30))
        let lines = try await pipe.lines { $0.hasSuffix("left out") }
        #expect(lines.contains { $0.hasPrefix("line 2000 ") })
        #expect(!lines.contains { $0.hasPrefix("line 3000 ") })
        #expect(try await waiting.value)
    }

    @Test func `a reader that has ended is an error of what waits`() async throws {
        let pipe = Pipe()
        signal(SIGPIPE, SIG_IGN)
        let writer = OutputWriter(pipe.writer, notice: { "\($0) left out\n" })
        let (reader, null) = (pipe.reader, open("/dev/null", O_RDONLY | O_CLOEXEC))
        dup2(null, reader)
        close(null)
        await #expect(throws: (any Error).self) { _ = try await writer.deliver(line(1)) }
    }

    // MARK: The daemon

    /// Starts a daemon whose stdout or stderr is a pipe that is full and that nobody reads, and says how it has ended.
    private func start(_ tool: Tool, _ stream: String, _ arguments: [String]) throws -> Tool.Process {
        let script = """
            import ctypes, fcntl, os, subprocess, sys
            reader, writer = os.pipe()
            os.write(writer, b"x" * fcntl.fcntl(writer, 1031, 4096))
            streams = {"stdout": open("log.out", "wb"), "stderr": open("log.err", "wb"), sys.argv[1]: writer}
            # It does not outlive this process.
            daemon = subprocess.Popen(sys.argv[2:], preexec_fn=lambda: ctypes.CDLL(None).prctl(1, 9), **streams)
            os.close(writer)
            print("started", daemon.pid, flush=True)
            print("ended", daemon.wait(), flush=True)
            """
        return try tool.start(program: "/usr/bin/env", ["python3", "-c", script, stream, Tool.path] + arguments)
    }

    @Test(.turn, arguments: ["stdout", "stderr"])
    func `a daemon imports, serves metrics and ends though nobody reads what it says`(stream: String) async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        let clones = [try await tool.clone("b.db", peer: "b"), try await tool.clone("c.db", peer: "c")]
        let options = stream == "stdout" ? ["--json", "--metrics", "127.0.0.1:0"] : ["--metrics", "127.0.0.1:0"]
        let parent = try start(tool, stream, ["watch"] + clones + options)
        let started = try await parent.line { $0.hasPrefix("started") }
        let daemon = try #require(pid_t(started.split(separator: " ")[1]))
        for round in 1...4 {
            try await tool.sql(
                "a.db",
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
                INSERT INTO notes (text) SELECT 'a row' FROM n
                """)
            try await tool.succeed("sync", a)
            for clone in ["b.db", "c.db"] {
                try await eventually("\(clone) has what was written", within: 60) {
                    try await tool.sql(clone, "SELECT count(*) FROM notes") == "\(1 + round * 1500)\n"
                }
            }
        }
        if stream == "stdout" {
            let log = try String(contentsOfFile: tool.path("log.err"), encoding: .utf8)
            let address = try #require(log.firstMatch(of: #/http://127\.0\.0\.1:\d+/metrics/#)).output
            let get =
                "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=60).read().decode())"
            let page = try await tool.program("/usr/bin/env", ["python3", "-c", get, String(address)]).output
            #expect(page.contains("logsync_store_open{store=\"\(clones[0])\"} 1"), "\(page)")
        }
        kill(daemon, SIGTERM)
        // One that does not end by itself exits after fifteen seconds.
        #expect(try await parent.line(within: 14) { $0.hasPrefix("ended") } == "ended 0")
    }

    @Test(.turn) func `kv watch ends though nobody reads what it says`() async throws {
        let tool = try Tool()
        for name in ["a.db", "b.db"] {
            try await tool.succeed(
                "kv", "init", tool.path(name), "--container", tool.path("shared"), "--content", "settings")
        }
        let parent = try start(tool, "stdout", ["kv", "watch", tool.path("b.db"), "--json"])
        let started = try await parent.line { $0.hasPrefix("started") }
        let watch = try #require(pid_t(started.split(separator: " ")[1]))
        let value = String(repeating: "x", count: 3000)
        for key in ["one", "two", "three"] {
            try await tool.succeed("kv", "set", tool.path("a.db"), key, value)
            try await eventually("it arrives", within: 60) {
                try await tool.run("kv", "get", tool.path("b.db"), key).code == 0
            }
        }
        kill(watch, SIGTERM)
        // One that does not end by itself exits after fifteen seconds.
        #expect(try await parent.line(within: 14) { $0.hasPrefix("ended") } == "ended 0")
    }
}
