import ArgumentParser
import Foundation

/// Measures what a row, a peer and a transaction cost as there are more and more of them, and plots it.
struct Grow: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "grow", abstract: "Measures how costs grow with rows, peers and transactions.",
        discussion: "Example: Benchmarks/run grow --rows 1000000 --chart growth.svg. Takes hours at its greatest.")

    @Option(help: "Rows, from 1,000 to this in powers of ten.") var rows = 1_000_000
    @Option(help: "Peers, from 2 to this.") var peers = 1_000
    @Option(help: "Transactions, from 1 to this in powers of ten.") var transactions = 100_000
    @Option(help: "Where to write the plot, an SVG.") var chart: String?
    @Option(help: "Where to make the databases; a temporary folder where it is not given.") var folder: String?
    @Flag(help: "One JSON document instead of a table.") var json = false

    func run() async throws {
        let curves = [
            try await withFolder(in: folder) { try RowGrowth(maximum: rows, folder: $0).run() },
            try await peerGrowth(),
            try await withFolder(in: folder) {
                try await TransactionGrowth(maximum: transactions, folder: $0).run()
            },
        ]
        try Growth(plots: curves).show(asJSON: json, chart: chart)
    }

    /// What an imported transaction and a sync cost where most peers are silent.
    private func peerGrowth() async throws -> Plot {
        var plot = Plot(title: "as peers are more", x: "peers", y: "CPU")
        for count in [2, 10, 100, 1000, 10_000] where count <= peers {
            say("\(count) peers")
            try await withFolder(in: folder) { folder in
                var many = try await ManyPeers(count, folder: folder)
                var imports: [Double] = []
                for _ in 0..<3 { imports.append(try await many.importing(1000)) }
                plot.add("import a transaction (us)", at: count, median(imports) * 1e6)
                for (kind, cost) in try await many.syncing(9) where kind != .recording {
                    plot.add("sync \(kind.rawValue) (us)", at: count, cost.cpu * 1e6)
                }
                try await many.check()
            }
        }
        return plot
    }
}
