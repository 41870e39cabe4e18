import Foundation
import Testing

/// What a peer may be called.
@Suite(.turn) struct PeerNameTests {
    static let unfit = [
        "", "a,b", "two\nlines", "bell\u{7}", "\u{2028}", " leading", "trailing ", "\u{A0}",
        String(repeating: "n", count: 101),
        "0123456789abcdef0123456789abcdef", "0123456789ABCDEF0123456789ABCDEF",
    ]

    @Test func `a name that could not be given again is refused, and nothing is made or changed`() async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        let place = ["--container", tool.path("shared"), "--content", "notes"]
        try await tool.database("plain.db")
        for name in Self.unfit {
            for arguments in [
                ["peers", "rename", a, name], ["init", tool.path("plain.db"), "--peer", name] + place,
                ["clone", tool.path("b.db"), "--peer", name] + place,
            ] {
                let ended = try await tool.run(arguments + ["--json"])
                #expect(ended.code == 64, "\(arguments) \(ended)")
                let error = try JSON(ended.errors)["error"]
                #expect(error?["message"]?.string?.contains("cannot be a peer's name") == true, "\(ended)")
                #expect(error?["help"]?.string?.isEmpty == false)
            }
        }
        #expect(!FileManager.default.fileExists(atPath: tool.path("b.db")))
        #expect(try await tool.run("status", tool.path("plain.db")).code == 66)
        #expect(try JSON(await tool.run("peers", a, "--json").output)["peers"]?.array.first?["name"]?.string == "here")
    }

    @Test func `names as people give them are taken`() async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        for name in ["x", "Zoë's desk: #2", String(repeating: "n", count: 100), "家", "0123abcd"] {
            #expect(try await tool.run("peers", "rename", a, name).code == 0)
            let peers = try JSON(await tool.run("peers", a, "--json").output)["peers"]?.array
            #expect(peers?.first?["name"]?.string == name)
        }
    }

    @Test func `a store that has another name since earlier goes on with it`() async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        try await tool.sql("a.db", "UPDATE logsync_store SET value = 'old,name' WHERE key = 'name'")
        let place = ["--container", tool.path("shared"), "--content", "notes"]
        #expect(try await tool.run(["init", a, "--peer", "old,name"] + place).code == 0)
        #expect(try await tool.run("sync", a).code == 0)
        #expect(try await tool.run("status", a).code == 0)
    }
}
