import Foundation
import Testing

@Suite("The example program") struct ExampleTests {
    @Test("It runs, and says what arrived")
    func exampleRuns() throws {
        let program = Bundle.main.executableURL?.deletingLastPathComponent().appendingPathComponent("NotesExample")
        let built = try #require(
            Self.candidates(program).first { FileManager.default.isExecutableFile(atPath: $0.path) })
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
        #expect(text.contains("phone: ann at desk inserted 1 and updated 1 notes"))
        #expect(text.contains("phone has: Buy green apples, Buy pears"))
    }

    /// Beside the test bundle, wherever the runner itself stands.
    private static func candidates(_ program: URL?) -> [URL] {
        let bundles = CommandLine.arguments.filter { $0.hasSuffix(".xctest") }.map {
            URL(fileURLWithPath: $0).deletingLastPathComponent().appendingPathComponent("NotesExample")
        }
        return [program].compactMap { $0 } + bundles
    }
}
