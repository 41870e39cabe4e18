import LogSyncModel

/// How many times over a view or trigger names others, through all levels.
///
/// SQLite puts a view's text in place of its name wherever it stands: of thirty views of which each selects twice from the
/// one before, the last is a thousand million tables, and nothing can interrupt SQLite while it writes them out.
struct SchemaWeights {
    private var weights: [String: Int] = [:]

    static let reason = "it names other views more than \(Limits.schemaWeight) times over"

    /// - Parameter objects: views and triggers.
    init(_ objects: [(name: String, sql: String)]) {
        var names: [String: [String]] = [:]
        let known = Set(objects.map { $0.name.folded })
        for (name, sql) in objects {
            let tokens = SQLTokens(sql)
            names[name.folded] = (3..<max(3, tokens.count)).map { tokens.name($0).folded }.filter {
                known.contains($0) && $0 != name.folded
            }
        }
        for name in names.keys { _ = weigh(name, names, depth: 0) }
    }

    func isTooHeavy(_ name: String) -> Bool { weights[name.folded, default: 1] > Limits.schemaWeight }

    private mutating func weigh(_ name: String, _ names: [String: [String]], depth: Int) -> Int {
        if let weight = weights[name] { return weight }
        // One that names itself in the end is refused by SQLite.
        guard depth <= Limits.schemaWeight else { return Limits.schemaWeight + 1 }
        weights[name] = 1
        var weight = 1
        for other in names[name] ?? [] {
            weight = min(weight + weigh(other, names, depth: depth + 1), Limits.schemaWeight + 1)
        }
        weights[name] = weight
        return weight
    }
}

extension SchemaWeights {
    /// Whether the generated columns of a table name each other as often: each is compiled anew wherever it is named.
    static func areColumnsTooHeavy(_ sql: String) -> Bool {
        // No column is generated without the word.
        guard sql.uppercased().contains("AS") else { return false }
        let tokens = SQLTokens(sql)
        guard let open = tokens.firstIndex(of: "("), let close = tokens.closing(open) else { return false }
        var columns: [(name: String, sql: String)] = []
        var start = open + 1
        for end in tokens.commas(in: open + 1..<close) + [close] {
            let isColumn = start < end && !constraints.contains(tokens.word(start))
            // Names are looked for from where they can be in a view's statement.
            if isColumn { columns.append((tokens.name(start), "0 0 0 " + tokens.text(start..<end))) }
            start = end + 1
        }
        let weights = SchemaWeights(columns)
        return columns.contains { weights.isTooHeavy($0.name) }
    }

    private static let constraints: Set = ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"]
}
