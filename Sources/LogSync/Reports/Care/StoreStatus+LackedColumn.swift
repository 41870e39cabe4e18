extension StoreStatus {
    /// A column that a store's app has dropped, and its values with it, while other peers still show them: as long as they do,
    /// no log file goes because of a snapshot of this store.
    public struct LackedColumn: Hashable, Sendable, Encodable {
        /// By the names in logs.
        public var table: String
        public var column: String
        /// The peers that take part and show it, or whose schema is not known yet.
        public var peers: [PeerName]

        /// As `TABLE.COLUMN`.
        public var name: String { "\(table).\(column)" }
    }
}

extension [StoreStatus.LackedColumn] {
    /// The columns, for people.
    var columns: String { map(\.name).joined(separator: ", ") }

    /// The peers that show any of them, each once.
    var peers: [PeerName] {
        var seen: Set<PeerName> = []
        return flatMap(\.peers).filter { seen.insert($0).inserted }
    }
}
