import LogSyncModel

/// What tools call the copy of a table that they make anew.
enum CopyName {
    /// Among them Alembic's, EF Core's, DataGrip's and Sequelize's.
    private static let words: Set<Substring> = [
        "new", "tmp", "temp", "temporary", "alembic_tmp", "ef_temp", "dg_tmp", "copy", "redef", "rebuild", "backup",
        "bak",
    ]

    /// Whether a name is the table's own, and something before or after it that says so.
    static func isCopy(_ name: String, of original: String) -> Bool {
        let (name, original) = (name.folded, original.folded)
        guard name.count > original.count else { return false }
        let rest: Substring
        if name.hasSuffix(original) {
            rest = name.dropLast(original.count)
        } else if name.hasPrefix(original) {
            rest = name.dropFirst(original.count)
        } else {
            return false
        }
        var word = rest
        while word.first == "_" { word.removeFirst() }
        while word.last == "_" { word.removeLast() }
        return word.count < rest.count && words.contains(word)
    }
}
