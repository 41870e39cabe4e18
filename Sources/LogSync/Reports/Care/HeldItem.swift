import LogSyncModel

/// A log file, transaction or snapshot that cannot be imported yet, and why.
public struct HeldItem: Hashable, Sendable, Encodable {
    public enum Reason: String, Hashable, Sendable, Codable, CaseIterable {
        /// The file is still arriving.
        case incomplete
        /// The file has its full length and not its hash, or holds what it cannot hold.
        case damaged
        /// An earlier transaction of the same peer is missing.
        case gap
        /// A transaction of another peer that it depends on is missing.
        case dependency
        /// Its time lies too far ahead of this machine's clock; `logsync peers accept-clock` lets it in.
        case clock
        /// A newer version of logsync wrote it.
        case newerFormat = "newer-format"
        /// A value that is kept in a file of its own is missing.
        case missingBlob = "missing-blob"
        /// One dot, different bytes: two stores wrote under one identity.
        case fork
        /// It is whole, and makes no sense that this store could follow: the rows in it contradict each other or the
        /// schema.
        case refused
        /// It makes sense, and a table of this store needs a function or collation that only its own program has, or has an
        /// index that allows other rows on each peer, so that logsync cannot write it.
        case unwritable
        /// It makes sense, and a trigger of this store's program refuses a row of it.
        case trigger
        /// It would take up more than a file of its length should; `logsync peers accept-size` lets it in.
        case tooLarge = "too-large"
    }

    public var peer: PeerName
    /// The first transaction that waits.
    public var sequence: UInt64
    /// The name of the log file or snapshot, or of the blob file that it waits for; nil where no log file is there.
    public var file: String?
    public var reason: Reason
    /// One sentence for people.
    public var detail: String?
    /// Of one that waits for another transaction: the one that is held here for a reason of its own and keeps that from being
    /// imported; nil where it has not come.
    package var cause: Cause?

    /// A transaction for which others are held.
    package struct Cause: Hashable, Sendable {
        package var peer: PeerName
        package var sequence: UInt64
        package var reason: Reason
    }

    public init(peer: PeerName, sequence: UInt64, file: String?, reason: Reason, detail: String? = nil) {
        self.peer = peer
        self.sequence = sequence
        self.file = file
        self.reason = reason
        self.detail = detail
    }

    private enum CodingKeys: String, CodingKey {
        case peer, sequence, file, reason, detail
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(peer, forKey: .peer)
        try container.encode(sequence, forKey: .sequence)
        try container.encode(file, forKey: .file)
        try container.encode(reason, forKey: .reason)
        try container.encode(detail, forKey: .detail)
    }
}

extension HeldItem {
    /// What lets it in, for people.
    ///
    /// - Parameter store: the path of the store that holds it.
    package func help(at store: String) -> String {
        func command(_ name: String) -> String {
            "logsync peers \(name) \(store.asShellArgument) "
                + peer.name.asShellArgument
        }
        let rebuild =
            "where that is no more, logsync rebuild on a store that has imported it: its snapshot has all of it"
        if reason == .dependency, let cause {
            let item = HeldItem(peer: cause.peer, sequence: cause.sequence, file: nil, reason: cause.reason)
            let other = "\(cause.peer.name):\(cause.sequence)"
            return "it comes in after \(other), which is held here (\(cause.reason.rawValue)): \(item.help(at: store))"
        }
        return switch reason {
        case .dependency:
            "wait for the sync engine; if it stays so, run logsync sync on the store of the peer that it waits for, or, "
                + rebuild
        case .incomplete, .gap:
            "wait for the sync engine; if it stays so, run logsync sync on the store of \(peer.name), or, \(rebuild)"
        case .missingBlob:
            "wait for the sync engine; if it stays so, run logsync sync on the store of \(peer.name), or, \(rebuild); "
                + "where none has it, \(command("accept-loss")) imports all but the large value"
        case .damaged: "run logsync sync on the store of \(peer.name), which writes it again, or, \(rebuild)"
        case .clock: "set the clocks, or let it in with \(command("accept-clock"))"
        case .newerFormat: "install a newer logsync on this machine"
        case .refused:
            "ask \(peer.name) what wrote it: it contradicts itself or the schema; all that does not depend on it "
                + "goes on. Where others have imported it, logsync snapshot on one of their stores lets in what comes after"
        case .unwritable:
            LoadableExtension.remedy + "; what waits comes in then, and what does not depend on it goes on meanwhile"
        case .trigger:
            "mend the trigger of this store's program, or what is in the way in the table that it writes: it comes in with the "
                + "next sync then, and what does not depend on it goes on meanwhile"
        case .tooLarge: "where it is meant, let it in with \(command("accept-size"))"
        case .fork:
            "run logsync sync on every store of this content: one that has imported both histories takes a snapshot that "
                + "says which is which; logsync status on each shows which two share an id. Where no other store is left, as "
                + "after the restore of an old backup, clone the content anew beside this one, and write to the clone what this "
                + "one alone shows"
        }
    }
}

/// How completely a step did its work.
public enum Outcome: String, Hashable, Sendable, Codable {
    /// Everything that is in the container is in the store (exit 0).
    case complete
    /// Something is held that may come by itself (exit 3).
    case held
    /// Something is damaged or forked; the rest was done (exit 4).
    case integrity

    public init(held: [HeldItem]) {
        if held.contains(where: { [.damaged, .fork, .refused].contains($0.reason) }) {
            self = .integrity
        } else {
            self = held.isEmpty ? .complete : .held
        }
    }

    /// The exit code of the command line's contract.
    public var exitCode: Int32 {
        switch self {
        case .complete: 0
        case .held: 3
        case .integrity: 4
        }
    }
}
