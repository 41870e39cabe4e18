import Foundation
import Testing

@Suite("The example programs") struct ExampleTests {
    @Test("Notes runs, and says what arrived")
    func notes() throws {
        let text = try run("NotesExample")
        #expect(text.contains("phone: ann at desk inserted 1 and updated 1 notes"))
        #expect(text.contains("phone has: Buy green apples, Buy pears"))
    }

    @Test("Todo runs: live queries, history, undo, a policy in code, tombstones")
    func todo() throws {
        let lines = try run("TodoExample").split(separator: "\n").map(String.init)
        #expect(
            lines == [
                "phone shows: Shopping: Apples #fruit, Shopping: Pears #fruit",
                "history: desk did an insert of item true",
                "undo: Rename, left [\"title\"]",
                "desk has notes: from the market --- green ones",
                "phone has notes: from the market --- green ones",
                "deleted: \"Apples\"",
            ])
    }

    @Test("Todo's replication is ten lines at most")
    func tenLines() throws {
        var package = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { package.deleteLastPathComponent() }
        let source = try String(
            contentsOf: package.appendingPathComponent("Examples/Todo/TodoApp.swift"), encoding: .utf8)
        let lines = source.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        let first = try #require(lines.firstIndex(of: "// All of replication:"))
        let last = try #require(lines.firstIndex(of: "// That was it."))
        #expect(last - first - 1 <= 10 && lines[first + 1].contains("Replicator.open"))
        // Nothing else of the app, but for its policy and the line that ends it, knows of it.
        let rest = (lines[..<first] + lines[last...]).filter { $0.contains("eplicator") }
        #expect(rest.allSatisfy { ["stop()", "close()", "let replicator: Replicator"].contains(where: $0.contains) })
    }

    /// Runs a program of this package to its end, and returns what it prints.
    private func run(_ name: String) throws -> String {
        let program = Bundle.main.executableURL?.deletingLastPathComponent().appendingPathComponent(name)
        let built = try #require(
            Self.candidates(program, name).first { FileManager.default.isExecutableFile(atPath: $0.path) })
        let process = Process()
        let output = Pipe()
        process.executableURL = built
        process.standardOutput = output
        try process.run()
        let deadline = DispatchWorkItem { process.terminate() }
        DispatchQueue.global().asyncAfter(deadline: .now() + 60, execute: deadline)
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        deadline.cancel()
        #expect(process.terminationStatus == 0)
        return text
    }

    /// Beside the test bundle, wherever the runner itself stands.
    private static func candidates(_ program: URL?, _ name: String) -> [URL] {
        let bundles = CommandLine.arguments.filter { $0.hasSuffix(".xctest") }.map {
            URL(fileURLWithPath: $0).deletingLastPathComponent().appendingPathComponent(name)
        }
        return [program].compactMap { $0 } + bundles
    }
}
