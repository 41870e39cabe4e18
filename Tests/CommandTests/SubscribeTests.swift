import Foundation
import Testing

/// `logsync subscribe`, and `watch` that serves it.
@Suite(.turn) struct SubscribeTests {
    private func stores() async throws -> (tool: Tool, a: String, b: String) {
        let tool = try Tool()
        return (tool, try await tool.store("a.db"), try await tool.clone("b.db"))
    }

    @Test func `a subscription is kept, listed and removed`() async throws {
        let (tool, _, b) = try await stores()
        let made = try JSON(
            await tool.succeed(
                "subscribe", b, "long", "--table", "notes", "--where", "length(text) > 3", "--on", "enters,leaves",
                "--run", "true", "--json"
            ).output)
        #expect(made["format"]?.int == 1 && made["inside"]?.int != nil)
        let subscription = try #require(made["subscription"])
        #expect(subscription["name"]?.string == "long" && subscription["table"]?.string == "notes")
        #expect(subscription["on"]?.array.compactMap(\.string) == ["enters", "leaves"])
        #expect(subscription["run"]?.string == "true" && subscription["where"]?.string == "length(text) > 3")
        let list = try JSON(await tool.succeed("subscribe", b, "--list", "--json").output)
        #expect(list["subscriptions"]?.array.map { $0["name"]?.string } == ["long"])
        #expect(try await tool.succeed("subscribe", b, "--list").output.contains("length(text) > 3"))
        let removed = try JSON(await tool.succeed("subscribe", b, "--remove", "long", "--json").output)
        #expect(removed["removed"]?.string == "long")
        #expect(try await tool.run("subscribe", b, "--remove", "long").code == 64)
        #expect(try await tool.succeed("subscribe", b, "--list").output == "Nothing is subscribed to.\n")
    }

    @Test(arguments: [
        ["s"], ["s", "--table", "notes"], ["--list", "--remove", "x"], ["s", "--list"], [],
        ["s", "--table", "notes", "--where", "1", "--on", "comes"], ["s", "--table", "nothing", "--where", "1"],
        ["s", "--table", "notes", "--where", "1); DELETE FROM notes; --"],
    ])
    func `a subscription that cannot be is a wrong command line`(arguments: [String]) async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        let ended = try await tool.run(["subscribe", a] + arguments)
        #expect(ended.code == 64, "\(ended)")
        let list = try JSON(await tool.succeed("subscribe", a, "--list", "--json").output)
        #expect(list["subscriptions"]?.array.isEmpty == true)
    }

    @Test func `watch prints what fires and runs the command for it, also what waited from before`() async throws {
        let (tool, a, b) = try await stores()
        _ = try await tool.succeed(
            "subscribe", b, "all", "--table", "notes", "--where", "id >= 100", "--run", "cat >> \(tool.path("fired"))")
        try await tool.sql("a.db", "INSERT INTO notes VALUES (100, 'hundred')")
        _ = try await tool.succeed("sync", a, b)
        let daemon = try tool.start(["watch", "--json", a, b])
        func event() async throws -> JSON {
            try await JSON(daemon.line { $0.contains("\"event\":\"subscription\"") })
        }
        let first = try await event()
        #expect(first["subscription"]?.string == "all" && first["kind"]?.string == "enters" && first["id"]?.int == 1)
        #expect(first["keys"]?.array.map { $0.array.map(\.int) } == [[100]])
        #expect(first["store"]?.string?.hasSuffix("b.db") == true && first["truncated"]?.bool == false)
        try await tool.sql("a.db", "DELETE FROM notes WHERE id = 100")
        try await eventually("the command has run for both") {
            let lines = (try? String(contentsOfFile: tool.path("fired"), encoding: .utf8))?.split(separator: "\n") ?? []
            return try lines.count == 2 && JSON(String(lines[1]))["kind"]?.string == "leaves"
        }
        try await eventually("both are taken away") {
            try await tool.sql("b.db", "SELECT count(*) FROM logsync_firing") == "0\n"
        }
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }

    @Test func `a command that fails is logged with its store and subscription, and is a metric until it does not`()
        async throws
    {
        let (tool, a, b) = try await stores()
        for name in ["good", "bad"] {
            let command = name == "good" ? "true" : "test -e \(tool.path("mended"))"
            _ = try await tool.succeed(
                "subscribe", b, name, "--table", "notes", "--where", "id >= 100", "--run", command)
        }
        let daemon = try tool.start(["watch", b, "--metrics", "127.0.0.1:0"])
        try await daemon.line { $0 == "\(b) is ready" }
        func arrive(_ id: Int) async throws {
            try await tool.sql("a.db", "INSERT INTO notes VALUES (\(id), 'x')")
            _ = try await tool.succeed("sync", a)
        }
        let address = try #require(daemon.errors.firstMatch(of: #/http://127\.0\.0\.1:\d+/metrics/#)).output
        func page() async throws -> String {
            let get =
                "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())"
            return try await tool.program("/usr/bin/env", ["python3", "-c", get, String(address)]).output
        }
        let labels = "{hook=\"subscription\",store=\"\(b)\",subscription=\"bad\"}"
        try await arrive(100)
        try await eventually("the failure is counted") {
            let page = try await page()
            return page.contains("logsync_hook_failures_total\(labels) 1\n")
                && page.contains("logsync_hook_failing\(labels) 1\n") && !page.contains("\"good\"")
        }
        #expect(daemon.errors.contains("\(b): subscription \"bad\": the command"), "\(daemon.errors)")
        _ = FileManager.default.createFile(atPath: tool.path("mended"), contents: nil)
        try await arrive(101)
        try await eventually("it has ended well") { try await page().contains("logsync_hook_failing\(labels) 0\n") }
        _ = try await tool.succeed("subscribe", b, "--remove", "bad")
        try await eventually("it is forgotten") { try await !page().contains("subscription=") }
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }

    @Test func `imports that are killed at any moment fire neither twice nor never`() async throws {
        let (tool, a, b) = try await stores()
        _ = try await tool.succeed("subscribe", b, "new", "--table", "notes", "--where", "id >= 100", "--on", "enters")
        for round in 0..<6 {
            try await tool.sql("a.db", "INSERT INTO notes VALUES (\(100 + round), 'x')")
            _ = try await tool.succeed("sync", a)
            let killed = try tool.start(["sync", b])
            try await Task.sleep(for: .milliseconds(30 + round * 15))
            killed.signal(SIGKILL)
            _ = await killed.end()
        }
        _ = try await tool.succeed("sync", b)
        let daemon = try tool.start(["watch", "--json", b])
        var keys: [Int] = []
        var seen: Set<Int> = []
        try await eventually("each row is told of") {
            for line in daemon.output.split(separator: "\n") where line.contains("\"event\":\"subscription\"") {
                let event = try JSON(String(line))
                guard let id = event["id"]?.int, seen.insert(id).inserted else { continue }
                keys += event["keys"]?.array.compactMap { $0.array.first?.int } ?? []
            }
            return keys.count >= 6
        }
        #expect(keys.sorted() == Array(100..<106))
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }
}
