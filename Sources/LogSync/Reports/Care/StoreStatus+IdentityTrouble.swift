extension StoreStatus {
    /// What was found out about a store's identity, as `status` shows it.
    public struct IdentityTrouble: Hashable, Sendable, Codable {
        public enum Kind: String, Hashable, Sendable, Codable {
            case moved, copied, restored, shared
            /// The folder says that the store is an older state or another process's, and is not believed.
            case claimed
        }

        public var kind: Kind
        /// When it was noticed.
        public var time: Timestamp
        /// One sentence for people.
        public var detail: String
    }
}
