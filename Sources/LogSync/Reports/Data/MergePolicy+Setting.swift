public import LogSyncModel

extension MergePolicy {
    /// A merge policy that is set.
    public struct Setting: Sendable, Encodable {
        /// `TABLE` or `TABLE.COLUMN`.
        public var target: String
        public var policy: String

        public init(target: String, policy: String) {
            self.target = target
            self.policy = policy
        }
    }
}
