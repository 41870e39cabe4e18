import LogSyncModel
import LogSyncStore

extension InitializeOptions {
    /// The options with columns and tables as the database has them, which alone says where in `a.b.c` the table's name
    /// ends, and in `a=b=c` the column's.
    func read(in outline: DatabaseOutline) -> InitializeOptions {
        var options = self
        options.references = references.map { reference in
            let text = "\(reference.table).\(reference.column)=\(reference.parent)"
            for equals in text.indices.reversed() where text[equals] == "=" {
                let parent = String(text[text.index(after: equals)...])
                let child = ColumnName.readings(of: String(text[..<equals])).first { outline.has($0) }
                guard let child, outline[parent] != nil else { continue }
                return Reference(table: child.table, column: child.column, parent: parent)
            }
            let child = Self.nearest(ColumnName(reference.table, reference.column), in: outline)
            return Reference(table: child.table, column: child.column, parent: reference.parent)
        }
        options.notReferences = notReferences.map { column in
            let name = Self.nearest(ColumnName(column.table, column.column), in: outline)
            return (name.table, name.column)
        }
        return options
    }

    /// The column as the database has it; where it does not, one whose table is there, which tells best what is wrong.
    private static func nearest(_ name: ColumnName, in outline: DatabaseOutline) -> ColumnName {
        name.reading { outline.has($0) } ?? name.reading { outline[$0.table] != nil } ?? name
    }
}
