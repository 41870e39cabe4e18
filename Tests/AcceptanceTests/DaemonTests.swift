import Foundation
import Testing

@Suite(.subcommand("watch")) struct DaemonTests {
    @Test(.alone)
    func `with two daemons watching, a commit is visible on the other side within milliseconds`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: "music", rows: 20)
            let here = try await Daemon(watching: one)
            let there = try await Daemon(watching: two)
            let measured = try await sandbox.succeed(
                Program.python,
                [
                    "-c",
                    """
                    import sqlite3, sys, time
                    one = sqlite3.connect(sys.argv[1], timeout=20, isolation_level=None)
                    two = sqlite3.connect(sys.argv[2], timeout=20, isolation_level=None)
                    times = []
                    for n in range(52):
                        here, there = (one, two) if n % 2 == 0 else (two, one)
                        here.execute("INSERT INTO Artist (Name) VALUES (?)", (f"seen {n}",))
                        start = time.monotonic()
                        while not there.execute("SELECT 1 FROM Artist WHERE Name = ?", (f"seen {n}",)).fetchone():
                            if time.monotonic() - start > 30: sys.exit(f"commit {n} did not arrive")
                            time.sleep(0.001)
                        if n > 1: times.append(time.monotonic() - start)
                        time.sleep(0.03)
                    times.sort()
                    print(*(f"{1000 * times[i]:.1f}" for i in (len(times) // 2, len(times) * 95 // 100, len(times) - 1)))
                    """, one.path, two.path,
                ]
            ).output.split(separator: " ").compactMap { Double($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
            guard measured.count == 3 else { throw Failure("nothing measured") }
            print(
                "commit to visible, 50 commits: median \(measured[0]) ms, 95 % within \(measured[1]) ms, longest \(measured[2]) ms"
            )
            #expect(measured[0] < 250, "median \(measured[0]) ms; wanted below 50 on a quiet machine")

            let seconds = Scale.choose(3.0, long: 20.0)
            try await Task.sleep(for: .seconds(1))
            let before = try here.processorTime() + there.processorTime()
            try await Task.sleep(for: .seconds(seconds))
            let used = try here.processorTime() + there.processorTime() - before
            print("two idle daemons: \(String(format: "%.2f", 100 * used / seconds / 2)) % of a core each")
            #expect(used / seconds / 2 < 0.05)

            for daemon in [here, there] {
                let ended = await daemon.stop()
                #expect(ended.code == 0 || ended.code == 143, "\(ended.code) \(ended.errors)")
            }
            try await exchange(one, two)
            try await sandbox.expect(.meaning, [one, two])
        }
    }

    @Test(.turn)
    func `daemons on both sides, writers on both sides, and one-shot commands beside them: all converges`() async throws
    {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: "kinds", rows: 5)
            let here = try await Daemon(watching: one)
            let there = try await Daemon(watching: two)
            async let first = one.churn(operations: Scale.choose(200, long: 3000), tag: "left")
            async let second = two.churn(operations: Scale.choose(200, long: 3000), tag: "right")
            try await one.logsync(["sync", one.path], exits: [0, 3, 75])
            try await two.logsync(["sync", two.path], exits: [0, 3, 75])
            let inserted = try await first + second
            try await eventually("both daemons have imported everything", within: 60, every: 0.2) {
                let (a, b) = (try await one.status(), try await two.status())
                return a["vector"] == b["vector"] && a["pending"].int == 0 && b["pending"].int == 0
                    && a["outbox"].int == 0 && b["outbox"].int == 0
            }
            #expect(try await one.status()["digest"] == two.status()["digest"])
            try await sandbox.expect(.meaning, [one, two])
            #expect(try await one.count("plain") == 5 + inserted)
            _ = await here.stop()
            _ = await there.stop()
        }
    }

    @Test(.turn)
    func `one daemon serves several stores, tells what it imported, and runs a command with the same`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(sql: "CREATE TABLE word (word TEXT PRIMARY KEY, n INTEGER);")
            let told = sandbox.folder("output").appendingPathComponent("told")
            let daemon = try await Daemon(watching: one, two, options: ["--on-import", "cat >> '\(told.path)'"])
            try await one.write("INSERT INTO word VALUES ('hello', 1);")
            try await eventually("the word arrives") { try await two.count("word") == 1 }
            try await eventually("an event tells it") { !daemon.events(named: "didImport").isEmpty }
            try await eventually("the command was told") {
                ((try? String(contentsOf: told, encoding: .utf8)) ?? "").contains("didImport")
            }
            let ended = await daemon.stop()
            #expect(ended.code == 0 || ended.code == 143)
        }
    }

    @Test(.turn)
    func `a daemon waits for a container that goes away, and goes on when it is back`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(sql: "CREATE TABLE word (word TEXT PRIMARY KEY);")
            let here = try await Daemon(watching: one, options: ["--poll", "0.2"])
            let there = try await Daemon(watching: two, options: ["--poll", "0.2"])
            let away = sandbox.root.appendingPathComponent("away")
            try FileManager.default.moveItem(at: sandbox.container, to: away)
            try await one.write("INSERT INTO word VALUES ('meanwhile');")
            try await eventually("unavailability is told", within: 30) { !here.events(named: "unavailable").isEmpty }
            #expect(
                !FileManager.default.fileExists(atPath: sandbox.container.path), "the root is never created by accident"
            )
            try FileManager.default.moveItem(at: away, to: sandbox.container)
            try await eventually("what was written meanwhile arrives", within: 60, every: 0.1) {
                try await two.count("word") == 1
            }
            #expect(here.program.isRunning && there.program.isRunning)
            _ = await here.stop()
            _ = await there.stop()
        }
    }
}
