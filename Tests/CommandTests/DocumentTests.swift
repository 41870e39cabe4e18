import Foundation
import Testing

@testable import LogSyncCommand

/// `Documentation/command-line.md` says everything that the tool knows.
@Suite(.turn) struct DocumentTests {
    private func document() throws -> String {
        var folder = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { folder.deleteLastPathComponent() }
        return try String(contentsOf: folder.appendingPathComponent("Documentation/command-line.md"), encoding: .utf8)
    }

    @Test(arguments: CommandLineTests.subcommands)
    func `every option of every subcommand is described`(subcommand: [String]) async throws {
        let document = try document()
        let help = try await Tool().run(subcommand + ["--help"]).output
        let options = help.matches(of: #/(?m)^ +(?:-\w, )?(--[a-z-]+)/#).map(\.output.1)
        #expect(!options.isEmpty)
        for option in Set(options) {
            #expect(document.contains("`\(option)"), "\(option) of \(subcommand)")
        }
    }

    @Test func `the table at the top leads to every subcommand`() throws {
        let table = try document().components(separatedBy: "## Everywhere")[0]
        for subcommand in CommandLineTests.subcommands where subcommand.count == 1 {
            #expect(table.contains("[`\(subcommand[0])`](#"), "\(subcommand[0])")
        }
    }

    @Test func `every setting and every reason to end is described`() throws {
        let document = try document()
        for status in ExitStatus.allCases {
            #expect(document.firstMatch(of: try Regex("\\| [0-9, ]*\\b\(status.rawValue)\\b")) != nil, "\(status)")
        }
        for key in Settings.Key.allCases {
            #expect(document.contains("`\(key.rawValue)`") && document.contains("`\(key.variable)`"), "\(key)")
        }
    }
}
