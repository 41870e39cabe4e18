import LogSyncModel
import LogSyncSQLite

/// The word that the names of all of a program's tables begin with, or of nearly all: `phpbb` of `phpbb_users`, `AB` of
/// `ABPerson`. It tells the program's tables from others', and is no part of what they are called after.
struct TablePrefix {
    /// In lower case; nil where there is none.
    let word: String?

    init(_ catalog: Catalog) {
        let names = catalog.programTables.map { Words($0.schema.name).all }
        let counts = Dictionary(names.filter { $0.count > 1 }.map { ($0[0], 1) }, uniquingKeysWith: +)
        let most = counts.max { ($0.value, $1.key) < ($1.value, $0.key) }
        guard let most, most.value >= Self.few, most.value * 10 >= names.count * 9,
            // What a table or a reference is called is something that the program has rows of.
            !names.contains(where: { $0.count == 1 && Words.isSame($0[0], most.key) }),
            !catalog.programTables.contains(where: { table in
                table.columns.contains {
                    let name = ReferringName($0.local)
                    return name.saysSo && name.words.all.first == most.key
                }
            })
        else {
            word = nil
            return
        }
        word = most.key
    }

    /// Fewer tables than these may have one beginning by chance.
    private static let few = 4
}
