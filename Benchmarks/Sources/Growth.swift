import Foundation

/// What was measured of growth.
struct Growth: Codable {
    var format = 1
    var plots: [Plot]

    mutating func add(_ other: Growth) {
        for plot in other.plots {
            if !plots.contains(where: { $0.title == plot.title }) {
                plots.append(Plot(title: plot.title, x: plot.x, y: plot.y))
            }
            for index in plots.indices where plots[index].title == plot.title { plots[index].add(plot.curves) }
        }
    }

    func show(asJSON isJSON: Bool, chart: String?) throws {
        if let chart {
            try Chart(plots: plots).svg().write(toFile: chart, atomically: true, encoding: .utf8)
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        print(
            isJSON
                ? try String(decoding: encoder.encode(self), as: UTF8.self)
                : plots.map { $0.table() }.joined(separator: "\n"))
    }
}

/// Curves over one quantity.
struct Plot: Codable {
    struct Point: Codable {
        var x: Int
        var y: Double
    }

    struct Curve: Codable {
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

    /// Takes in curves of the same; what they say of a size replaces what was said of it.
    mutating func add(_ others: [Curve]) {
        for other in others {
            var points = Dictionary(
                uniqueKeysWithValues: (curves.first { $0.name == other.name }?.points ?? []).map { ($0.x, $0.y) })
            for point in other.points { points[point.x] = point.y }
            for index in curves.indices where curves[index].name == other.name { curves[index].points = [] }
            for (size, value) in points.sorted(by: { $0.key < $1.key }) { add(other.name, at: size, value) }
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
