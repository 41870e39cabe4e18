import Foundation
import Testing

/// Commands in messages can be typed as they stand, whatever is in the paths and names.
@Suite(.turn) struct QuotingTests {
    private static let folder = "it's my sync"

    /// As the shell takes it.
    private func quoted(_ argument: String) -> String {
        "'" + argument.replacingOccurrences(of: "'", with: "'\\''") + "'"
    }

    /// No command names a path as it is.
    private func check(_ ended: Tool.Ended, _ tool: Tool, sourceLocation: SourceLocation = #_sourceLocation) {
        let text = ended.output + ended.errors
        // A blank after a path's beginning, which quotation marks do not enclose.
        let path = NSRegularExpression.escapedPattern(for: tool.path(""))
        let bare = "(logsync [a-z -]+|--[a-z]+ )" + path
        for line in text.split(separator: "\n") {
            let found = line.range(of: bare + "[^ ]*(a b|it's|k v)", options: .regularExpression)
            #expect(found == nil, "\(line)", sourceLocation: sourceLocation)
        }
    }

    @Test func `paths, names, tables and columns with blanks and quotation marks are quoted`() async throws {
        let tool = try Tool()
        let (store, other, values) = (tool.path("a b.db"), tool.path("it's b.db"), tool.path("k v.db"))
        let container = tool.path(Self.folder)
        try FileManager.default.createDirectory(atPath: container, withIntermediateDirectories: true)
        try await tool.sql(
            "a b.db",
            "CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT, u TEXT UNIQUE); CREATE TABLE owner(id INTEGER PRIMARY KEY, n TEXT)"
        )
        try await tool.succeed("init", store, "--container", container, "--content", "c", "--peer", "a")
        try await tool.succeed("clone", "--container", container, "--content", "c", other, "--peer", "my laptop")
        try await tool.succeed("kv", "init", values, "--container", container, "--content", "kv")
        func says(_ text: String, _ code: Int32, _ arguments: String...) async throws {
            let ended = try await tool.run(arguments)
            check(ended, tool)
            #expect(ended.code == code && (ended.output + ended.errors).contains(text), "\(ended)")
        }
        try await says("logsync subscribe \(quoted(store)) --list", 64, "subscribe", store, "--remove", "x y")
        try await says("logsync kv list \(quoted(values)) lists", 66, "kv", "get", values, "no key")
        try await says(
            "--container \(quoted(container)) --content c", 69, "clone", "--container", container + "/c", "--content",
            "c",
            tool.path("x.db"))
        // A column that a migration adds.
        try await tool.sql(
            "a b.db",
            """
            ALTER TABLE t ADD COLUMN "owner id" INTEGER; INSERT INTO owner(n) VALUES('x'), ('y'), ('z'), ('w');
            INSERT INTO t(x, "owner id") VALUES(1, 1), (2, 2), (3, 3), (4, 4)
            """)
        let command = "logsync migrate \(quoted(store)) --reference 't.owner id=owner'"
        try await says(command, 0, "sync", store)
        try await says(command, 3, "doctor", store)
        try await says(command, 0, "status", store)
        // Triggers that another program has dropped.
        let triggers = try await tool.sql(
            "a b.db", "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'logsync%'")
        for name in triggers.split(separator: "\n") { try await tool.sql("a b.db", "DROP TRIGGER \"\(name)\"") }
        try await says("logsync rescan \(quoted(store))", 3, "doctor", store, "--repair", "--dry-run")
        // What `doctor` says can be typed.
        let typed = try await tool.program("/bin/sh", ["-c", command])
        #expect(typed.code == 0, "\(typed)")
        let elsewhere = tool.path("other place")
        try FileManager.default.createDirectory(atPath: elsewhere, withIntermediateDirectories: true)
        try await says(
            "logsync move STORE --container \(quoted(elsewhere))", 0, "move", other, "--container", elsewhere)
        try FileManager.default.removeItem(atPath: other)
        try await says("logsync leave \(quoted(other))", 0, "list")
        for arguments in [
            ["status", other], ["verify", store], ["conflicts", store], ["peers", store], ["compact", store],
            ["init", store, "--container", elsewhere, "--content", "d"], ["rescan", store], ["doctor", container],
        ] {
            check(try await tool.run(arguments), tool)
        }
    }
}
