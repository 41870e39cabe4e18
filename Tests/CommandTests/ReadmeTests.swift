import Foundation
import Testing

/// The README, and the pages on operations and on troubles, keep their word.
@Suite(.turn) struct ReadmeTests {
    private static let package: URL = {
        var folder = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { folder.deleteLastPathComponent() }
        return folder
    }()

    private func text(_ document: String) throws -> [Substring] {
        let text = try String(contentsOf: Self.package.appendingPathComponent(document), encoding: .utf8)
        return text.split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// Runs the lines of a document's `sh` blocks, in order, as one script with a home folder of its own.
    private func run(_ document: some Sequence<Substring>, _ tool: Tool) async throws -> Tool.Ended {
        var commands: [String] = []
        var isCommand = false
        for line in document {
            if line.hasPrefix("```") {
                isCommand = line == "```sh"
            } else if isCommand {
                commands.append(String(line))
            }
        }
        #expect(commands.count > 15)
        let script = tool.path("script")
        // What is left running must not outlive a step that fails.
        let opening = "trap 'for job in $(jobs -p); do kill $job || true; done' EXIT\nset -x\n"
        try (opening + commands.joined(separator: "\n") + "\n").write(toFile: script, atomically: true, encoding: .utf8)
        let ended = try await tool.program("/bin/bash", ["-euo", "pipefail", script])
        #expect(ended.code == 0, "\(ended.errors)")
        return ended
    }

    @Test func `every line of the tour runs, and shows what it says`() async throws {
        let tour = try text("README.md").drop { $0 != "## A three-minute tour" }.dropFirst()
            .prefix { !$0.hasPrefix("## ") }
        let ended = try await run(tour, Tool())
        let both = "Buy milk\nCall Ann\nWater the plants\n"
        #expect(ended.output.contains(both + both), "both sides show the three notes: \(ended.output)")
        #expect(ended.output.contains("text  =  'Call Ann'"), "show tells the cell: \(ended.output)")
        #expect(ended.output.hasSuffix("4\n"), "the data is kept: \(ended.output)")
    }

    @Test func `every command of the page on operations runs, and a restored backup takes in what came after it`()
        async throws
    {
        let ended = try await run(text("Documentation/operations.md"), Tool())
        #expect(ended.output.contains("identity   restored"), "\(ended.output)")
        #expect(ended.output.contains("\nBuy milk\nCall Ann\n"), "\(ended.output)")
    }

    @Test func `every message of the table of troubles is one that logsync can say`() throws {
        let troubles = try text("Documentation/troubles.md")
        let rows = troubles.drop { $0 != "## What logsync says" }.dropFirst().filter { $0.hasPrefix("| `") }
        #expect(rows.count > 8)
        let sources = try sourceText()
        for row in rows where !row.contains("in your own program") {
            let cell = row.dropFirst(2).prefix { $0 != "|" }
            for message in cell.split(separator: "`").enumerated().filter({ $0.offset % 2 == 0 }).map(\.element) {
                // What varies is left out; reasons of held files are values of an enumeration.
                let pieces = message.split(separator: "…").map { $0.trimmingCharacters(in: .whitespaces) }
                for piece in pieces.flatMap(Self.constantParts) {
                    #expect(sources.contains(piece), "\(piece) is said nowhere")
                }
            }
        }
    }

    @Test func `the README is no longer than a newcomer reads`() throws {
        #expect(try text("README.md").count <= 141, "what is more belongs into Documentation")
    }

    private static func constantParts(_ piece: String) -> [String] {
        guard let open = piece.firstIndex(of: "("), piece.hasSuffix(")") else {
            return piece.components(separatedBy: "(logsync.json): ").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let reason = piece[piece.index(after: open)...].dropLast()
        return [reason.contains("-") ? "= \"\(reason)\"" : "case \(reason)"]
    }

    /// All sources, string literals that are split over lines put together.
    private func sourceText() throws -> String {
        let folder = Self.package.appendingPathComponent("Sources")
        let names = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
        var text = ""
        for name in names where name.hasSuffix(".swift") {
            text += try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
        }
        return text.replacing(#/"\s*\+\s*"/#) { _ in "" }
    }
}
