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
        if let chart {
            let text = Chart(plots: curves).svg()
            try text.write(toFile: chart, atomically: true, encoding: .utf8)
        }
        print(try json ? Self.json(curves) : curves.map { $0.table() }.joined(separator: "\n"))
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

    private static func json(_ plots: [Plot]) throws -> String {
        struct Document: Encodable {
            var format = 1
            var plots: [Plot]
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        return String(decoding: try encoder.encode(Document(plots: plots)), as: UTF8.self)
    }
}

/// Curves over one quantity.
struct Plot: Encodable {
    struct Point: Encodable {
        var x: Int
        var y: Double
    }

    struct Curve: Encodable {
        var name: String
        var points: [Point] = []
    }

    var title: String
    /// What grows.
    var x: String
    var y: String
    var curves: [Curve] = []

    init(title: String, x: String, y: String) {
        self.title = title
        self.x = x
        self.y = y
    }

    mutating func add(_ name: String, at x: Int, _ y: Double) {
        if !curves.contains(where: { $0.name == name }) { curves.append(Curve(name: name)) }
        for index in curves.indices where curves[index].name == name {
            curves[index].points.append(Point(x: x, y: y))
        }
    }

    func table() -> String {
        let places = Set(curves.flatMap { $0.points.map(\.x) }).sorted()
        var rows = [[x] + curves.map(\.name)]
        for place in places {
            rows.append(
                ["\(place)"]
                    + curves.map { curve in
                        curve.points.first { $0.x == place }.map { String(format: "%.1f", $0.y) } ?? "-"
                    })
        }
        return "\(y) \(title)\n\n" + Report.aligned(rows)
    }
}
