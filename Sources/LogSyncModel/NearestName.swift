extension String {
    /// The name that was most likely meant by this one: the nearest by edits, where that is near; nil where none is.
    package func nearest(among names: some Sequence<String>) -> String? {
        let limit = count < 3 ? 1 : 1 + count / 4
        let near = names.map { (distance: distance(to: $0), name: $0) }.filter { $0.distance <= limit }
        return near.min { ($0.distance, $0.name) < ($1.distance, $1.name) }?.name
    }

    /// How many letters have to be put in, left out, changed or exchanged with their neighbour; case does not matter.
    private func distance(to other: String) -> Int {
        let (a, b) = (Array(lowercased()), Array(other.lowercased()))
        // What people type is short; what is not is no misspelling.
        guard a.count <= 64, b.count <= 64 else { return Int.max }
        var rows = [Array(0...b.count)]
        for i in a.indices {
            var row = [i + 1]
            for j in b.indices {
                var best = Swift.min(row[j] + 1, rows[i][j + 1] + 1, rows[i][j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = Swift.min(best, rows[i - 1][j - 1] + 1) }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[a.count][b.count]
    }
}
