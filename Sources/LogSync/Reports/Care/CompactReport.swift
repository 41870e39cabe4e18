/// What `compact` did, or would do, with each file that it has a say in.
public struct CompactReport: Sendable, Encodable {
    public struct File: Sendable, Hashable, Encodable {
        /// The path within the content's folder.
        public var file: String
        public var action: Action
        public var reason: Reason
        /// Its length in bytes.
        public var bytes: UInt64
    }

    public enum Action: String, Sendable, Hashable, Codable {
        case keep, delete
        /// Becomes part of a larger log file.
        case merge
        /// Is written now.
        case publish
    }

    public enum Reason: String, Sendable, Hashable, Codable, CaseIterable {
        /// A snapshot stands for it, and every live peer has it.
        case covered
        /// A larger log file of the same peer holds all that it does.
        case contained
        /// There are many small log files.
        case small
        /// No snapshot that could be read back stands for it.
        case uncovered
        /// A live peer has not said, since it was asked, that it has it.
        case unacknowledged
        /// It is younger than the grace period.
        case young
        /// A snapshot that was taken later has all that it does.
        case superseded
        /// Nothing stands for all that it does.
        case newest
        /// The one before the newest, should that come to harm.
        case spare
        /// A log file, a snapshot or the outbox names this blob.
        case named
        /// Nothing names this blob any more.
        case unnamed
        /// Log files are old enough to go, and no snapshot stands for them yet.
        case needed
    }

    public let format = 1
    /// The store's path.
    public var store: String
    public var dryRun: Bool
    /// In order of their paths.
    public var files: [File] = []
    /// The peers without whose word log files that could go otherwise may not.
    public var blockedBy: [PeerName] = []
    /// What a snapshot of this store would lack of what live peers show: then it takes none to stand for log files.
    public var lacks: [StoreStatus.LackedColumn] = []

    /// How many bytes go.
    public var freed: UInt64 { files.filter { $0.action == .delete }.reduce(0) { $0 + $1.bytes } }

    private enum CodingKeys: String, CodingKey {
        case format, store, dryRun, files, blockedBy, lacks
    }
}
