import ArgumentParser
import Foundation

@main
struct Benchmarks: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logsync-benchmarks", abstract: "Measures logsync, and checks what it did.",
        subcommands: [Compare.self, Grow.self, Join.self], defaultSubcommand: Compare.self)
}

/// A folder that goes when the work is done.
///
/// - Parameter parent: where to make it; among the temporary files where nil.
func withFolder<T>(in parent: String?, _ body: (String) async throws -> T) async throws -> T {
    let path = (parent ?? NSTemporaryDirectory()) + "/logsync-bench-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try await body(path)
}

func say(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
