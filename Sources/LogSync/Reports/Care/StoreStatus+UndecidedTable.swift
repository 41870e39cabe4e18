import LogSyncModel

extension StoreStatus {
    /// A table with columns of which nothing tells whether a migration has renamed them.
    public struct UndecidedTable: Codable, Sendable, Hashable {
        /// A column, by names in the database.
        public struct Column: Codable, Sendable, Hashable {
            public var name: String
            /// What the column at its place was called before; its own name, where it may have taken that from another.
            public var former: String
        }

        public var table: String
        public var columns: [Column]
        /// What says that the columns at their places have other names now.
        public var renamed: String
        /// What says that each column is what its name says.
        public var notRenamed: String

        /// For people.
        public var line: String {
            let names = columns.map(\.name).joined(separator: ", ")
            return
                "\(table) (\(names)) until it is known whether columns were renamed: run \(renamed), or \(notRenamed)"
        }

        init(table: String, columns: [(name: String, former: String)], of store: String) {
            let columns = columns.map { Column(name: $0.name, former: $0.former) }
            self.table = table
            self.columns = columns
            func command(_ columns: [Column], _ former: (Column) -> String) -> String {
                let options = columns.map {
                    " --rename " + "\(table).\(former($0))=\($0.name)".asShellArgument
                }
                return "logsync migrate " + store.asShellArgument + options.joined()
            }
            // A column whose name was taken is not the one that has it now.
            renamed = command(columns.filter { $0.former != $0.name }, \.former)
            notRenamed = command(columns, \.name)
        }
    }
}
