import LogSyncModel

extension StoreStatus {
    /// A column that came with a migration and seems to hold integers of other tables' rows, which differ from peer to peer.
    public struct HeldReference: Codable, Sendable, Hashable {
        public var table: String
        public var column: String
        /// The tables whose rows it may name, the likeliest first.
        public var parents: [String]
        /// What says which rows it names; one for each table that it may be.
        public var refers: [String]
        /// What says that it names none.
        public var refersNot: String

        /// For people.
        public var line: String {
            "\(table).\(column) until it is known whether it holds integers of rows of \(parents.joined(separator: " or ")): "
                + "run \(refers.joined(separator: ", or ")), or \(refersNot)"
        }

        init(table: String, column: String, parents: [String], of store: String) {
            (self.table, self.column, self.parents) = (table, column, parents)
            let command = "logsync migrate " + store.asShellArgument
            refers = parents.map { command + " --reference " + "\(table).\(column)=\($0)".asShellArgument }
            refersNot = command + " --no-reference " + "\(table).\(column)".asShellArgument
        }
    }
}
