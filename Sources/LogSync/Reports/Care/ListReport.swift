import LogSyncModel

/// The stores of a state directory, by their paths: what `logsync list` prints.
public struct ListReport: Sendable, Encodable {
    public let format = 1
    public var stores: [Store]

    private enum CodingKeys: String, CodingKey {
        case format, stores
    }
}

extension ListReport {
    /// A store of this user's on this machine, and how it is.
    public struct Store: Sendable, Encodable {
        public enum State: String, Sendable, Encodable {
            /// Everything that others say they have published is in it.
            case ok
            /// Others have published what has not come yet.
            case behind
            /// Something is held; `logsync status` says what and why.
            case held
            /// Its container is not there or cannot be read, or the store cannot be asked now.
            case unavailable
            /// Its container does not answer, as a mount that hangs.
            case silent
            /// There is no store at its path any more.
            case missing
        }

        /// Its path.
        public var store: String
        public var content: String
        /// The shared folder; nil where the store could not be asked.
        public var container: String?
        public var peer: PeerName
        public var state: State
        /// How many transactions of others are not in it; this and what follows is nil where the store could not be asked.
        public var behind: UInt64?
        public var conflicts: Int?
        public var parked: Int?
        /// When transactions of others were last imported; nil where none were.
        public var lastImport: Timestamp?

        private enum CodingKeys: String, CodingKey {
            case store, content, container, peer, state, behind, conflicts, parked, lastImport
        }

        /// A store that could not be asked.
        init(_ store: String, content: String, peer: PeerID, _ state: State) {
            self.store = store
            self.content = content
            self.peer = PeerName(id: peer, name: nil)
            self.state = state
        }

        init(_ status: StoreStatus) {
            store = status.store
            content = status.content
            container = status.container.path
            peer = status.peer
            // What others say of themselves may be anything.
            let behind = status.peers.filter { !$0.retired }.reduce(UInt64(0)) { sum, peer in
                let (next, isTooMuch) = sum.addingReportingOverflow(peer.behind)
                return isTooMuch ? .max : next
            }
            self.behind = behind
            conflicts = status.conflicts
            parked = status.parked
            lastImport = status.lastImport
            state =
                !status.container.available ? .unavailable : !status.held.isEmpty ? .held : behind > 0 ? .behind : .ok
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(store, forKey: .store)
            try container.encode(content, forKey: .content)
            try container.encode(self.container, forKey: .container)
            try container.encode(peer, forKey: .peer)
            try container.encode(state, forKey: .state)
            try container.encode(behind, forKey: .behind)
            try container.encode(conflicts, forKey: .conflicts)
            try container.encode(parked, forKey: .parked)
            try container.encode(lastImport, forKey: .lastImport)
        }
    }
}
