import LogSyncModel

extension StoreStatus {
    /// A table that is another one for other peers: they have set theirs aside and made a new one of its name.
    public struct OtherTable: Codable, Sendable, Hashable {
        /// By its name in the database.
        public var table: String
        /// What logs call the table that this store shows under the name.
        public var here: String
        /// What logs call the one that the others show.
        public var there: String
        /// What makes theirs of this store's: its rows become rows of that one.
        public var same: String

        /// For people.
        public var line: String {
            "\(table) is not the table \(table) of other peers, who have made theirs anew: run \(same) once the program of "
                + "this store has done what theirs did"
        }

        init(table: String, here: String, there: String, of store: String) {
            self.table = table
            self.here = here
            self.there = there
            same =
                "logsync migrate " + store.asShellArgument + " --rename "
                + "\(there)=\(table)".asShellArgument
        }
    }
}
