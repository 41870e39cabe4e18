/// Rows in aligned columns, for people.
struct TextTable {
    enum Alignment {
        case left, right
    }

    var columns: [(title: String, alignment: Alignment)]
    private(set) var rows: [[String]] = []

    init(_ columns: (title: String, alignment: Alignment)...) {
        self.columns = columns
    }

    init(_ columns: [(title: String, alignment: Alignment)]) {
        self.columns = columns
    }

    /// Takes one cell a column; control characters are made visible.
    mutating func add(_ cells: String...) { add(cells) }

    mutating func add(_ cells: [String]) {
        rows.append(cells.map(Terminal.printable))
    }

    var lines: [String] {
        let titles = columns.map(\.title)
        let widths = columns.indices.map { column in ([titles] + rows).map { $0[column].count }.max() ?? 0 }
        func line(_ cells: [String]) -> String {
            var line = ""
            for (column, cell) in cells.enumerated() {
                let padding = String(repeating: " ", count: widths[column] - cell.count)
                line += column == 0 ? "" : "  "
                line += columns[column].alignment == .left ? cell + padding : padding + cell
            }
            while line.last == " " { line.removeLast() }
            return line
        }
        let head = titles.allSatisfy(\.isEmpty) ? [] : [Terminal.styled(line(titles), .dim)]
        return head + rows.map(line)
    }
}
