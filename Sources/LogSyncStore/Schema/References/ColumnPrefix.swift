import LogSyncModel
import LogSyncSQLite

/// What a table's columns begin with, all of them or most: `rev_` of MediaWiki's `rev_id`, `rev_page`, `rev_actor`. It says
/// of which table a column is, and nothing of what is in it.
struct ColumnPrefix {
    /// In lower case, as a word; nil where the columns have none.
    private let word: String?

    init(_ table: TrackedTable) {
        let names = table.schema.columns.map { Words($0.name).all }
        let counts = Dictionary(names.filter { $0.count > 1 }.map { ($0[0], 1) }, uniquingKeysWith: +)
        let most = counts.max { ($0.value, $1.key) < ($1.value, $0.key) }
        // Of few columns, two that begin so are a pair, such as `sensor_room` and `sensor_value`.
        guard let most, most.value > 1, names.count < 4 ? most.value == names.count : most.value * 3 >= names.count * 2,
            // Words that say how a row stands to the column's, or that it is another program's.
            !ReferringName.relations.contains(most.key), !Words.strangers.contains(most.key)
        else {
            word = nil
            return
        }
        word = most.key
    }

    /// The column's name without it; nil where it does not begin so.
    func bare(_ column: String) -> String? {
        let words = Words(column).all
        guard words.count > 1, words[0] == word else { return nil }
        return words.dropFirst().joined(separator: "_")
    }
}
