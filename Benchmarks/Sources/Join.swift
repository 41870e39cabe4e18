import ArgumentParser
import Foundation

/// Puts together what several runs of `grow` have measured.
struct Join: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join", abstract: "Puts together what several runs of grow --json have measured.",
        discussion: "Where two have measured the same, the later file counts.")

    @Argument(help: "What grow --json printed.") var files: [String]
    @Option(help: "Where to write the plot, an SVG.") var chart: String?
    @Flag(help: "One JSON document instead of a table.") var json = false

    func run() async throws {
        var all = Growth(plots: [])
        for file in files {
            let data = try Data(contentsOf: URL(fileURLWithPath: file))
            all.add(try JSONDecoder().decode(Growth.self, from: data))
        }
        try all.show(asJSON: json, chart: chart)
    }
}
