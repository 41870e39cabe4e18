import LogSyncModel
import LogSyncSQLite

/// A foreign key with a generated column among its columns: what that holds is computed on each peer, and no log says it.
package struct GeneratedForeignKey: Hashable, Sendable {
    /// As the database calls them.
    package var child: String
    package var columns: [String]
    package var generated: [String]
    package var parent: String
    /// Whether a generated column computes integers that each store gives to rows itself.
    package var namesIntegers: Bool

    package var complaint: String {
        "the foreign key (\(columns.joined(separator: ", "))) to \(parent) is not enforced by logsync"
    }

    package var consequence: String {
        let what = "\(generated.joined(separator: ", ")) \(generated.count == 1 ? "is" : "are") generated"
        return namesIntegers
            ? "\(what) from what is written as it is: the integers of \(parent) are others on each peer, and name other rows there"
            : "\(what): a row that another peer's deletion leaves without its parent stays, and foreign_key_check names it"
    }

    package var remedy: String {
        namesIntegers
            ? "keep the reference in a column of its own; or, where the integers of \(parent) are the same everywhere, found the "
                + "content with --identity \(parent.asShellArgument)=natural"
            : "keep what the key needs in a plain column, or delete such rows in the program"
    }
}

extension Catalog {
    func generatedForeignKeys() -> [GeneratedForeignKey] {
        programTables.flatMap { child in
            child.schema.foreignKeys.compactMap { key in
                guard let parent = self[local: key.parent] else { return nil }
                let isGenerated = key.from.map { child.schema.column($0)?.isGenerated ?? false }
                guard isGenerated.contains(true) else { return nil }
                let named = key.to.isEmpty ? parent.schema.keyColumns.map(\.name) : key.to
                let namesIntegers = zip(isGenerated, named).contains { isGenerated, name in
                    isGenerated && parent.localInteger?.folded == name.folded
                }
                return GeneratedForeignKey(
                    child: child.schema.name, columns: key.from,
                    generated: zip(key.from, isGenerated).filter(\.1).map(\.0), parent: parent.schema.name,
                    namesIntegers: namesIntegers)
            }
        }
    }
}
