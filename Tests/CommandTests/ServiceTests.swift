import Foundation
import Testing

@testable import LogSync
@testable import LogSyncCommand

/// What a daemon is to systemd, to Prometheus, and to what carries its folder.
@Suite(.turn) struct ServiceTests {
    private static let documentation = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Documentation").path

    private let tool: Tool

    init() throws { tool = try Tool() }

    private func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    private func page(of daemon: Tool.Process) async throws -> String {
        try await eventually("metrics are served") { daemon.errors.contains("metrics are served at") }
        let address = try #require(daemon.errors.firstMatch(of: #/http://127\.0\.0\.1:\d+/metrics/#)).output
        let get = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())"
        return try await tool.program("/usr/bin/env", ["python3", "-c", get, String(address)]).output
    }

    private func end(_ daemon: Tool.Process) async {
        daemon.signal(SIGTERM)
        let ended = await daemon.end()
        #expect(ended.code == 0, "\(ended)")
    }

    // MARK: systemd

    @Test func `systemd is told of no daemon that can watch nothing, and of what is wrong`() async throws {
        let address = "/tmp/logsync-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: address) }
        let listener = try await Listener(tool, address)
        let missing = tool.path("typo.db")
        let daemon = try tool.start(["watch", missing], environment: ["NOTIFY_SOCKET": address])
        let status = try await listener.process.line { $0.hasPrefix("STATUS=") }
        #expect(status.contains("1 of 1 store in trouble") && status.contains(missing))
        #expect(!listener.process.output.contains("READY=1"))
        // It works from when there is one.
        try await tool.store("typo.db")
        try await listener.process.line { $0 == "READY=1" }
        try await listener.process.line { $0 == "STATUS=1 store in step" }
        await end(daemon)
        listener.process.signal(SIGKILL)
        _ = await listener.process.end()
    }

    @Test func `systemd hears no more of a store that is off the list`() async throws {
        let (a, missing) = (try await tool.store("a.db"), tool.path("typo.db"))
        let address = "/tmp/logsync-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: address) }
        let listener = try await Listener(tool, address)
        let file = tool.path("config.toml")
        try "stores = [\"\(a)\", \"\(missing)\"]".write(toFile: file, atomically: true, encoding: .utf8)
        let daemon = try tool.start(["watch", "--config", file], environment: ["NOTIFY_SOCKET": address])
        try await listener.process.line { $0.hasPrefix("STATUS=1 of 2 stores in trouble") }
        try await listener.process.line { $0 == "READY=1" }
        try "stores = [\"\(a)\"]".write(toFile: file, atomically: true, encoding: .utf8)
        daemon.signal(SIGHUP)
        try await listener.process.line { $0 == "STATUS=1 store in step" }
        await end(daemon)
        listener.process.signal(SIGKILL)
        _ = await listener.process.end()
    }

    @Test func `the watchdog is told again and again, where it is this process that is watched`() async throws {
        let a = try await tool.store("a.db")
        let address = "/tmp/logsync-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: address) }
        let listener = try await Listener(tool, address)
        let daemon = try tool.start(
            ["watch", a], environment: ["NOTIFY_SOCKET": address, "WATCHDOG_USEC": "200000"])
        try await eventually("it was told three times") {
            listener.process.output.components(separatedBy: "WATCHDOG=1").count > 3
        }
        await end(daemon)
        let count = listener.process.output.components(separatedBy: "WATCHDOG=1").count
        let other = try tool.start(
            ["watch", a], environment: ["NOTIFY_SOCKET": address, "WATCHDOG_USEC": "200000", "WATCHDOG_PID": "1"])
        try await other.line { $0 == "\(a) is ready" }
        await end(other)
        #expect(listener.process.output.components(separatedBy: "WATCHDOG=1").count == count)
        listener.process.signal(SIGKILL)
        _ = await listener.process.end()
    }

    @Test func `lines for the journal have its priorities, and others none`() async throws {
        func errors(_ variable: String) async throws -> String {
            let script = "\(variable) exec '\(Tool.path)' watch '\(tool.path("none.db"))'"
            let daemon = try tool.start(program: "/bin/sh", ["-c", script])
            try await eventually("it says so") { daemon.errors.contains("none.db") }
            await end(daemon)
            return daemon.errors
        }
        #expect(try await errors("JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2)").hasPrefix("<3>2"))
        #expect(try await errors("JOURNAL_STREAM=1:1").hasPrefix("2"))
    }

    @Test func `the units have a watchdog`() throws {
        for unit in ["logsync.service", "logsync@.service"] {
            let text = try text("\(Self.documentation)/\(unit)")
            #expect(text.contains("\nType=notify\n") && text.contains("\nWatchdogSec="), "\(unit)")
        }
    }

    @Test func `a store on which the daemon ends is left alone by the next, and the others go on`() async throws {
        let a = try await tool.store("a.db")
        try await tool.database("b.db")
        let b = tool.path("b.db")
        try await tool.succeed("init", b, "--container", tool.path("shared"), "--content", "other", "--peer", "here")
        // Until the store is left alone by another process, its round does not end.
        let locks = tool.path("home/.local/state/logsync/locks")
        try await tool.succeed("sync", a)
        let daemon = try tool.start(["watch", a, b])
        try await daemon.line { $0 == "\(a) is ready" }
        try await daemon.line { $0 == "\(b) is ready" }
        let steps = try FileManager.default.contentsOfDirectory(atPath: locks).filter { $0.hasSuffix(".step") }
        let names = Dictionary(uniqueKeysWithValues: [a, b].map { (StoreLocks.name($0), $0) })
        let step = try #require(steps.first { names[$0.replacing(".step", with: "")] == a })
        let lock = open("\(locks)/\(step)", O_RDWR | O_CLOEXEC)
        #expect(lock >= 0 && flock(lock, LOCK_EX) == 0)
        try await tool.sql("a.db", "INSERT INTO notes VALUES (2, 'two')")
        let work = tool.path("home/.local/state/logsync/work")
        try await eventually("it is at work on it") {
            (try? FileManager.default.contentsOfDirectory(atPath: work)) == [step.replacing(".step", with: ".at")]
        }
        daemon.signal(SIGKILL)
        _ = await daemon.end()
        // Once may be anybody's doing.
        let second = try tool.start(["watch", a, b])
        try await second.line { $0 == "\(b) is ready" }
        try await eventually("it is at work on it again") {
            (try? FileManager.default.contentsOfDirectory(atPath: work))?
                .contains(step.replacing(".step", with: ".at")) ?? false
        }
        #expect(!second.errors.contains("left alone"))
        second.signal(SIGKILL)
        _ = await second.end()
        close(lock)

        let next = try tool.start(["watch", a, b, "--metrics", "127.0.0.1:0"])
        try await next.line { $0 == "\(b) is ready" }
        try await tool.sql("b.db", "INSERT INTO notes VALUES (2, 'two')")
        try await eventually("the other store is published") {
            try JSON(await tool.succeed("status", b, "--json").output)["outbox"]?.int == 0
        }
        #expect(next.errors.contains("\(a): the daemon ended while it was working on it, 2 times in a row"))
        #expect(!next.output.contains("\(a) is ready"))
        let metrics = try await page(of: next)
        #expect(metrics.contains("logsync_store_set_back{store=\"\(a)\"} 1\n"))
        #expect(metrics.contains("logsync_store_set_back{store=\"\(b)\"} 0\n"))
        #expect(try JSON(await tool.succeed("status", a, "--json").output)["setBack"]?["ends"]?.int == 2)
        #expect(try JSON(await tool.succeed("status", b, "--json").output)["setBack"]?["ends"]?.int == nil)
        // It comes back by itself, and then what was written meanwhile goes out.
        try await next.line { $0 == "\(a) is ready" }
        try await eventually("it is published") {
            try JSON(await tool.succeed("status", a, "--json").output)["outbox"]?.int == 0
        }
        await end(next)
    }

    // MARK: Prometheus

    @Test func `alerts and the dashboard ask for metrics that there are, and the page says what each is`() throws {
        let names = Set(Metrics.names)
        for file in ["prometheus-alerts.yml", "grafana-dashboard.json"] {
            let asked = Set(
                try text("\(Self.documentation)/\(file)").matches(of: /logsync_[a-z_]+/).map { String($0.output) })
            #expect(asked.count > 5, "\(file)")
            #expect(asked.subtracting(names).isEmpty, "\(file)")
        }
        let page = try text("\(Self.documentation)/command-line.md")
        for name in names { #expect(page.contains("`\(name)`"), "\(name)") }
        _ = try JSONSerialization.jsonObject(
            with: Data(contentsOf: URL(fileURLWithPath: "\(Self.documentation)/grafana-dashboard.json")))
    }

    @Test func `what the page calls worth an alert has a rule`() throws {
        let page = try text("\(Self.documentation)/operations.md")
        let table = try #require(page.split(separator: "| worth an alert |").last)
        let rows = table.split(separator: "\n").prefix { $0.hasPrefix("|") || $0.contains("where it holds") }
        let conditions = rows.compactMap { $0.firstMatch(of: /^\| `([^`]+)`/)?.output.1 }
        #expect(conditions.count > 8)
        let rules = try text("\(Self.documentation)/prometheus-alerts.yml")
        for condition in conditions { #expect(rules.contains("expr: \(condition)"), "\(condition)") }
    }

    @Test func `the help of watch names every event`() async throws {
        let help = try await tool.succeed("watch", "--help").output
        for event in ["ready", "didImport", "held", "unavailable", "error", "subscription", "omitted"] {
            #expect(help.contains(event), "\(event)")
        }
    }

    @Test func `how far behind a store is, and hooks that fail, are metrics`() async throws {
        let (a, b) = (try await tool.store("a.db"), try await tool.clone("b.db"))
        let daemon = try tool.start(["watch", b, "--metrics", "127.0.0.1:0", "--on-import", "exit 7"])
        try await daemon.line { $0 == "\(b) is ready" }
        let before = try await page(of: daemon)
        for zero in ["behind_seconds", "outbox_seconds", "locked_out_seconds_total"] {
            #expect(before.contains("logsync_\(zero){store=\"\(b)\"} 0\n"), "\(zero)")
        }
        #expect(!before.contains("logsync_import_lag_seconds") && !before.contains("hook_failures"))
        try await tool.sql("a.db", "INSERT INTO notes VALUES (2, 'two')")
        try await tool.succeed("sync", a)
        try await eventually("the failure is counted") {
            try await page(of: daemon).contains("logsync_hook_failures_total{hook=\"on-import\"} ")
        }
        let lag = try #require(
            try await page(of: daemon).firstMatch(of: /logsync_import_lag_seconds\{.*\} ([0-9.e-]+)/))
        #expect(try #require(Double(lag.1)) < 300)
        await end(daemon)
    }

    @Test func `how long changes have waited is counted from when they were made`() async throws {
        let a = try await tool.store("a.db")
        try FileManager.default.moveItem(atPath: tool.path("shared"), toPath: tool.path("away"))
        try await tool.sql("a.db", "INSERT INTO notes VALUES (2, 'two')")
        let waiting = try JSON(try await tool.succeed("status", a, "--json").output)
        #expect(waiting["waitingSince"]?.string?.hasSuffix("Z") == true, "\(waiting)")
        #expect(try await tool.run("sync", a).code == 69)
        // As if it had been two minutes ago.
        try await tool.sql("a.db", "UPDATE logsync_transaction SET time = time - (120000 << 16)")
        let daemon = try tool.start(["watch", a, "--metrics", "127.0.0.1:0"])
        func seconds() async throws -> Double? {
            try await page(of: daemon).firstMatch(of: /logsync_outbox_seconds\{.*\} ([0-9.e-]+)/).flatMap {
                Double($0.1)
            }
        }
        try await eventually("it is two minutes at the first look") { try await seconds() ?? 0 > 119 }
        try FileManager.default.moveItem(atPath: tool.path("away"), toPath: tool.path("shared"))
        try await eventually("nothing waits") { try await seconds() == 0 }
        await end(daemon)
        #expect(try JSON(try await tool.succeed("status", a, "--json").output)["waitingSince"]?.string == nil)
    }

    // MARK: Carriers

    /// A folder that each side has for itself, and two scripts that copy it there and back.
    private func carried() async throws -> (a: String, b: String, remote: String, local: String) {
        let a = try await tool.store("a.db")
        let (remote, local) = (tool.path("shared"), tool.path("local"))
        try FileManager.default.copyItem(atPath: remote, toPath: local)
        let b = tool.path("b.db")
        try await tool.succeed("clone", "--container", local, "--content", "notes", b, "--peer", "there")
        return (a, b, remote, local)
    }

    private func configure(_ carrier: String) throws -> String {
        let file = tool.path("config.toml")
        try "[carrier]\n\(carrier)".write(toFile: file, atomically: true, encoding: .utf8)
        return file
    }

    @Test func `the carrier is called before scans and after publishing, in both directions`() async throws {
        let (a, b, remote, local) = try await carried()
        let file = try configure(
            """
            before-scan = "cp -rn \(remote)/. \(local)"
            after-publish = "cat >> \(tool.path("told")); cp -rn \(local)/. \(remote)"
            interval = 0.2
            """)
        let daemon = try tool.start(["watch", b, "--config", file])
        try await daemon.line { $0 == "\(b) is ready" }
        try await tool.sql("a.db", "INSERT INTO notes VALUES (2, 'two')")
        try await tool.succeed("sync", a)
        try await daemon.line { $0.hasPrefix("\(b): imported") }
        try await tool.sql("b.db", "INSERT INTO notes VALUES (3, 'three')")
        try await eventually("it arrives at the other") {
            try await tool.succeed("sync", a)
            return try await tool.sql("a.db", "SELECT count(*) FROM notes") == "3\n"
        }
        #expect(try text(tool.path("told")).hasPrefix(local + "/notes\n"))
        await end(daemon)
    }

    @Test func `a carrier that hangs is ended in time, counted, and keeps nothing from being recorded`() async throws {
        let (_, b, _, _) = try await carried()
        let file = try configure(
            """
            before-scan = "echo $$ > \(tool.path("pid")); exec sleep 600"
            after-publish = "exit 3"
            timeout = 1
            """)
        let daemon = try tool.start(["watch", b, "--config", file, "--metrics", "127.0.0.1:0"])
        try await daemon.line { $0 == "\(b) is ready" }
        try await eventually("it has begun") { FileManager.default.fileExists(atPath: tool.path("pid")) }
        try await tool.sql("b.db", "INSERT INTO notes VALUES (2, 'two')")
        try await eventually("it is published") {
            let status = try await tool.succeed("status", b, "--json").output
            let sent = try await tool.sql("b.db", "SELECT count(*) FROM logsync_outbox WHERE published")
            return status.contains("\"outbox\":0,") && sent != "0\n"
        }
        try await eventually("both failures are counted") {
            let page = try await page(of: daemon)
            return page.contains("{hook=\"before-scan\"}") && page.contains("{hook=\"after-publish\"}")
        }
        #expect(daemon.errors.contains("carrier.before-scan:") && daemon.errors.contains("it had taken 1 second"))
        let process = try #require(Int32(try text(tool.path("pid")).trimmingCharacters(in: .whitespacesAndNewlines)))
        #expect(kill(process, 0) != 0)
        await end(daemon)
    }

    @Test func `a command after publishing that fails is run again until it does not, and once at each start`()
        async throws
    {
        let (_, b, _, local) = try await carried()
        let (told, away) = (tool.path("told"), tool.path("away"))
        try "".write(toFile: away, atomically: true, encoding: .utf8)
        let file = try configure("after-publish = \"cat >> \(told); test ! -e \(away)\"")
        func runs() -> Int { ((try? text(told)) ?? "").components(separatedBy: local + "/notes\n").count - 1 }
        let daemon = try tool.start(["watch", b, "--config", file, "--metrics", "127.0.0.1:0"])
        try await tool.sql("b.db", "INSERT INTO notes VALUES (2, 'two')")
        try await eventually("it has failed, and is run again though nothing more is published") {
            let page = try await page(of: daemon)
            return page.contains("logsync_hook_failing{hook=\"after-publish\"} 1") && runs() > 2
        }
        try FileManager.default.removeItem(atPath: away)
        try await eventually("it ends well") {
            try await page(of: daemon).contains("logsync_hook_failing{hook=\"after-publish\"} 0")
        }
        // One that is configured no more does not fail.
        try "".write(toFile: away, atomically: true, encoding: .utf8)
        try await tool.sql("b.db", "INSERT INTO notes VALUES (3, 'three')")
        try await eventually("it fails") {
            try await page(of: daemon).contains("logsync_hook_failing{hook=\"after-publish\"} 1")
        }
        let settings = try text(file)
        try "[carrier]\n".write(toFile: file, atomically: true, encoding: .utf8)
        daemon.signal(SIGHUP)
        try await eventually("it is not told of any more") {
            try await !page(of: daemon).contains("hook=\"after-publish\"")
        }
        await end(daemon)
        try settings.write(toFile: file, atomically: true, encoding: .utf8)
        // What was published last may not have been taken by anything.
        let before = runs()
        let next = try tool.start(["watch", b, "--config", file])
        try await eventually("it is run at the start") { runs() > before }
        await end(next)
    }

    @Test func `a key of [carrier] that is unknown is refused, and each has its variable`() async throws {
        let refused = try await tool.run("list", "--config", try configure("before-scna = \"true\""))
        #expect(refused.code == 78 && refused.errors.contains("the unknown key carrier.before-scna"), "\(refused)")
        let wrong = try await tool.run("list", environment: ["LOGSYNC_CARRIER_TIMEOUT": "soon"])
        #expect(wrong.code == 78 && wrong.errors.contains("LOGSYNC_CARRIER_TIMEOUT"), "\(wrong)")
    }
}
