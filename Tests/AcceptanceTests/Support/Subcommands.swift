import Foundation
import Testing

/// Which subcommands the built tool has, asked of itself.
enum Subcommand {
    private static let help: String = {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: Program.logsync)
        process.arguments = ["--help"]
        process.standardOutput = pipe
        guard (try? process.run()) != nil else { return "" }
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }()

    static func exists(_ name: String) -> Bool {
        help.split(separator: "\n").contains {
            $0.split(separator: " ").first.map(String.init) == name && $0.hasPrefix("  ")
        }
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips a test, visibly, where the tool does not have this subcommand.
    static func subcommand(_ name: String) -> ConditionTrait {
        .enabled(if: Subcommand.exists(name), "this logsync has no subcommand \(name)")
    }
}
