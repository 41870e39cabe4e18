import Foundation
import Testing

/// The subcommands around the life of stores and folders, as scripts see them.
@Suite struct LifeCommandTests {
    @Test func `attach follows a moved container, and says where the content is not`() async throws {
        let tool = try Tool()
        let store = try await tool.store("a.db")
        try FileManager.default.moveItem(atPath: tool.path("shared"), toPath: tool.path("moved"))
        let away = try await tool.run("sync", store)
        #expect(away.code == 69 && away.errors.contains("logsync attach"), "\(away)")
        let wrong = try await tool.run("attach", store, "--container", tool.path("home"))
        #expect(wrong.code == 69, "\(wrong)")
        let ended = try await tool.run("attach", store, "--container", tool.path("moved"), "--json")
        #expect(ended.code == 0)
        let report = try JSON(ended.output)
        #expect(report["format"]?.int == 1 && report["changed"]?.bool == true)
        #expect(report["container"]?.string?.hasSuffix("/moved") == true && report["held"]?.array.isEmpty == true)
        #expect(try await tool.run("sync", store).code == 0)
        #expect(try await tool.run("attach", store).code == 64)
    }

    @Test func `rescan records what no trigger saw`() async throws {
        let tool = try Tool()
        let store = try await tool.store("a.db")
        let shell = try await tool.program(
            "/usr/bin/env",
            ["sqlite3", store, ".dbconfig enable_trigger off", "INSERT INTO notes VALUES (2, 'behind the back')"])
        #expect(shell.code == 0)
        #expect(try JSON(await tool.run("sync", store, "--json").output)["stores"]?.array.first?["recorded"]?.int == 0)
        let ended = try await tool.run("rescan", store, "--json")
        #expect(ended.code == 0, "\(ended)")
        #expect(try JSON(ended.output)["found"]?["notes"]?["inserted"]?.int == 1)
        let again = try await tool.run("rescan", store)
        #expect(again.code == 0 && again.output == "Nothing else has changed.\n")
    }

    @Test func `rebuild and destroy do nothing without consent`() async throws {
        let tool = try Tool()
        let store = try await tool.store("a.db")
        let folder = tool.path("shared/notes")
        let content = ["--container", tool.path("shared"), "--content", "notes"]
        for arguments in [["rebuild", store], ["destroy"] + content] {
            let ended = try await tool.run(arguments)
            #expect(ended.code == 64 && ended.errors.contains("--yes"), "\(ended)")
            #expect(try await tool.run(arguments + ["--dry-run"]).code == 0)
        }
        #expect(FileManager.default.fileExists(atPath: folder + "/logsync.json"))
        let destroyed = try await tool.run(["destroy", "--yes", "--json"] + content)
        #expect(destroyed.code == 0)
        #expect(try JSON(destroyed.output)["peers"]?.array.first?["name"]?.string == "here")
        #expect(!FileManager.default.fileExists(atPath: folder))
        #expect(try await tool.run("sync", store).code == 69)
        let rebuilt = try await tool.run("rebuild", store, "--yes", "--json")
        #expect(rebuilt.code == 0, "\(rebuilt)")
        #expect(try JSON(rebuilt.output)["marker"]?.bool == true)
        try await tool.clone("b.db")
        #expect(try await tool.sql("b.db", "SELECT text FROM notes") == "one\n")
    }
}
