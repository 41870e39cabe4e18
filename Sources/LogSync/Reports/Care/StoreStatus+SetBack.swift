extension StoreStatus {
    /// That a daemon leaves a store alone for a while, because it ended while it was working on it.
    public struct SetBack: Hashable, Sendable, Codable {
        /// How many times in a row.
        public var ends: Int
        /// When the last of them was noticed.
        public var last: Timestamp
        public var until: Timestamp
    }
}
