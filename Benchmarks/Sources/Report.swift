import Foundation

/// Medians over the rounds, and how they compare with plain SQLite.
struct Report: Encodable {
    struct Measurement: Encodable {
        var what: String
        /// What the ratios are to.
        var baseline: String
        var results: [String: Result]
    }

    /// Seconds, and medians of each round's ratio to plain.
    struct Result: Encodable {
        var cpu: Double
        var wall: Double
        var cpuRatio: Double?
        var wallRatio: Double?
    }

    struct Size: Encodable {
        var what: String
        /// Bytes.
        var results: [String: Int]
    }

    let format = 1
    var rows: Int
    var transactions: Int
    var rounds: Int
    var measurements: [Measurement] = []
    var sizes: [Size] = []
    var findings: [Finding]

    init(_ ledger: Ledger, rows: Int, transactions: Int, rounds: Int) {
        self.rows = rows
        self.transactions = transactions
        self.rounds = rounds
        findings = ledger.findings
        for phase in Phase.allCases {
            guard let costs = ledger.costs[phase] else { continue }
            let plain = ledger.costs[phase.baseline]?[.plain] ?? []
            var results: [String: Result] = [:]
            for (contestant, costs) in costs {
                results[contestant.rawValue] = Result(
                    cpu: Self.median(costs.map(\.cpu)) ?? 0, wall: Self.median(costs.map(\.wall)) ?? 0,
                    cpuRatio: Self.median(zip(costs, plain).map { $0.cpu / $1.cpu }),
                    wallRatio: Self.median(zip(costs, plain).map { $0.wall / $1.wall }))
            }
            measurements.append(
                Measurement(what: phase.rawValue, baseline: phase.baseline.rawValue, results: results))
        }
        for volume in Volume.allCases {
            guard let bytes = ledger.volumes[volume] else { continue }
            var results: [String: Int] = [:]
            for (contestant, bytes) in bytes {
                results[contestant.rawValue] = Self.median(bytes.map(Double.init)).map { Int($0) }
            }
            sizes.append(Size(what: volume.rawValue, results: results))
        }
    }

    /// The mean of the two in the middle where they are of even number; nil for none.
    private static func median(_ values: [Double]) -> Double? {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return nil }
        return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    }

    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    /// Milliseconds of CPU and wall-clock time, each with its ratio to plain.
    func table() -> String {
        let contestants = Contestant.allCases.map(\.rawValue)
        var times = [["ms CPU/wall (x plain)"] + contestants]
        for measurement in measurements {
            times.append([measurement.what] + contestants.map { Self.cell(measurement.results[$0]) })
        }
        var bytes = [["kB (x plain)"] + contestants]
        for size in sizes {
            let plain = size.results[Contestant.plain.rawValue]
            bytes.append(
                [size.what]
                    + contestants.map { contestant in
                        guard let bytes = size.results[contestant] else { return "-" }
                        let ratio = plain.map { String(format: " (%.2f)", Double(bytes) / Double($0)) } ?? ""
                        return "\(bytes / 1000)\(ratio)"
                    })
        }
        var rest = [["", "found", "aim"]]
        for finding in findings {
            let aim = finding.target.map { target in
                String(format: "%.3g ", target) + (finding.isMet == true ? "met" : "missed")
            }
            rest.append([finding.what, String(format: "%.4g ", finding.value) + finding.unit, aim ?? "-"])
        }
        var tables: [String] = []
        if !measurements.isEmpty { tables += [Self.aligned(times), Self.aligned(bytes)] }
        if !findings.isEmpty { tables.append(Self.aligned(rest)) }
        return "\(rows) rows, \(transactions) transactions, medians of \(rounds)\n\n"
            + tables.joined(separator: "\n")
    }

    private static func cell(_ result: Result?) -> String {
        guard let result else { return "-" }
        let times = String(format: "%.0f/%.0f", result.cpu * 1000, result.wall * 1000)
        guard let cpu = result.cpuRatio, let wall = result.wallRatio else { return times }
        return times + String(format: " (%.2f/%.2f)", cpu, wall)
    }

    static func aligned(_ rows: [[String]]) -> String {
        let widths = (rows.first ?? []).indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            row.enumerated().map { column, cell in
                let space = String(repeating: " ", count: widths[column] - cell.count)
                return column == 0 ? cell + space : space + cell
            }.joined(separator: "  ") + "\n"
        }.joined()
    }
}
