import Foundation

/// Plots side by side, both axes logarithmic, as SVG.
struct Chart {
    var plots: [Plot]

    private static let width = 520.0
    private static let height = 430.0
    private static let margin = (left: 60.0, right: 16.0, top: 34.0, bottom: 150.0)
    private static let colours = [
        "#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf",
        "#393b79",
    ]

    func svg() -> String {
        let total = Self.width * Double(plots.count)
        var text = """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(Int(total))" height="\(Int(Self.height))" \
            viewBox="0 0 \(Int(total)) \(Int(Self.height))" font-family="sans-serif" font-size="11">
            <rect width="100%" height="100%" fill="white"/>

            """
        for (index, plot) in plots.enumerated() {
            text += "<g transform=\"translate(\(Int(Self.width) * index) 0)\">\n\(panel(plot))</g>\n"
        }
        return text + "</svg>\n"
    }

    private func panel(_ plot: Plot) -> String {
        let points = plot.curves.flatMap(\.points).filter { $0.x > 0 && $0.y > 0 }
        let across = Scale(points.map { Double($0.x) }, from: Self.margin.left, to: Self.width - Self.margin.right)
        let up = Scale(points.map(\.y), from: Self.height - Self.margin.bottom, to: Self.margin.top)
        var text = "<text x=\"\(Self.margin.left)\" y=\"18\" font-size=\"13\">\(Self.escaped(plot.y)) "
        text += "\(Self.escaped(plot.title))</text>\n"
        for decade in across.decades {
            let x = across.place(decade)
            text += Self.line(x, up.from, x, up.to, "#dddddd")
            text += "<text x=\"\(x)\" y=\"\(up.from + 14)\" text-anchor=\"middle\">\(Self.label(decade))</text>\n"
        }
        for decade in up.decades {
            let y = up.place(decade)
            text += Self.line(across.from, y, across.to, y, "#dddddd")
            text += "<text x=\"\(across.from - 6)\" y=\"\(y + 4)\" text-anchor=\"end\">\(Self.label(decade))</text>\n"
        }
        text += "<text x=\"\(across.to)\" y=\"\(up.from + 28)\" text-anchor=\"end\">\(Self.escaped(plot.x))</text>\n"
        for (index, curve) in plot.curves.enumerated() {
            let colour = Self.colours[index % Self.colours.count]
            let places = curve.points.filter { $0.x > 0 && $0.y > 0 }.map { point in
                String(format: "%.1f,%.1f", across.place(Double(point.x)), up.place(point.y))
            }
            text += "<polyline fill=\"none\" stroke=\"\(colour)\" stroke-width=\"2\" "
            text += "points=\"\(places.joined(separator: " "))\"/>\n"
            let (x, y) = (Self.margin.left + Double(index % 2) * 220, up.from + 44 + Double(index / 2) * 15)
            text += "<rect x=\"\(x)\" y=\"\(y - 8)\" width=\"10\" height=\"8\" fill=\"\(colour)\"/>"
            text += "<text x=\"\(x + 14)\" y=\"\(y)\">\(Self.escaped(curve.name))</text>\n"
        }
        return text
    }

    private static func line(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ colour: String) -> String {
        "<line x1=\"\(x1)\" y1=\"\(y1)\" x2=\"\(x2)\" y2=\"\(y2)\" stroke=\"\(colour)\"/>\n"
    }

    private static func label(_ value: Double) -> String {
        value >= 1_000_000 ? String(format: "%.0fM", value / 1e6) : value >= 1 ? "\(Int(value))" : String(value)
    }

    private static func escaped(_ text: String) -> String {
        text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
    }

    /// A logarithmic axis of whole decades.
    private struct Scale {
        let from: Double
        let to: Double
        let decades: [Double]

        init(_ values: [Double], from: Double, to: Double) {
            self.from = from
            self.to = to
            let low = floor(log10(values.min() ?? 1))
            let high = max(ceil(log10(values.max() ?? 10)), low + 1)
            decades = stride(from: low, through: high, by: 1).map { pow(10, $0) }
        }

        func place(_ value: Double) -> Double {
            guard let low = decades.first, let high = decades.last else { return from }
            return from + (to - from) * log10(value / low) / log10(high / low)
        }
    }
}
