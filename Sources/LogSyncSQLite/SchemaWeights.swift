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
