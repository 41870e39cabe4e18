extension DoctorReport {
    /// Something that `logsync doctor --repair` does about findings.
    public struct Repair: Hashable, Sendable, Encodable {
        public enum Action: String, Hashable, Sendable, Encodable {
            /// Records what was changed behind the triggers' back, and puts triggers back.
            case rescan
            /// Records, publishes, puts this peer's own files back, imports.
            case sync
            /// Puts the bytes of a conflict copy in the place of its original, which is missing or damaged, and deletes the copy.
            case restore
            /// Deletes a file that is not read, and whose bytes are here under their own name.
            case remove
        }

        public var action: Action
        /// The store, or the file.
        public var place: String
        /// The codes of the findings that advise it.
        public var findings: [String]
        /// Whether it was done; false where it was only to be told, or failed.
        public var done = false
        /// Why it could not be done.
        public var error: String?

        private enum CodingKeys: String, CodingKey {
            case action
            case place = "where"
            case findings, done, error
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(action, forKey: .action)
            try container.encode(place, forKey: .place)
            try container.encode(findings, forKey: .findings)
            try container.encode(done, forKey: .done)
            try container.encode(error, forKey: .error)
        }
    }
}
