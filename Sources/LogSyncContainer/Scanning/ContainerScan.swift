package import LogSyncModel

/// What one scan of a content folder found.
package struct ContainerScan: Sendable {
    package var peers: [PeerID: PeerScan]
    /// What is not of the grammar, by path: ignored by import, listed by `doctor`.
    package var strange: [StrangeEntry]
    /// What could not be read this time. A peer whose folder is among it keeps what was found before.
    package var failures: [LogSyncError]
    /// Whether the folder of all peers could not be listed: which there are is what was found before.
    package var isUnreadable = false
    /// The peers of which log files may be there that cannot be seen.
    package var unread: Set<PeerID>
    /// The peers where anything differs from the scan before; all of them in the first.
    package var changed: Set<PeerID>

    /// Whether this scan has found what the one before it by the same scanner did.
    package func isUnchanged(since last: ContainerScan) -> Bool {
        changed.isEmpty && strange == last.strange && failures.map(\.message) == last.failures.map(\.message)
    }

    /// Whether another scan has found all the log files, snapshots and schemas that this one has found.
    package func isContained(in other: ContainerScan) -> Bool {
        peers.allSatisfy { id, peer in
            guard let now = other.peers[id] else { return false }
            return Set(now.logs.map(\.name)).isSuperset(of: peer.logs.map(\.name))
                && Set(now.snapshots.map(\.name)).isSuperset(of: peer.snapshots.map(\.name))
                && Set(now.schemas.map(\.name)).isSuperset(of: peer.schemas.map(\.name))
        }
    }
}

/// What one scan found in one peer's folder.
package struct PeerScan: Sendable {
    package var id: PeerID
    /// Each kind by name.
    package var logs: [FoundFile<LogFileName>] = []
    package var snapshots: [FoundFile<SnapshotName>] = []
    package var schemas: [FoundFile<SchemaFileName>] = []
    package var blobs: [FoundFile<BlobName>] = []
    package var description: Found<PeerDescription> = .missing
    /// The newest receipt ever read, or ``Found/outdated`` where only an older one is at hand.
    package var receipt: Found<Receipt> = .missing {
        didSet { said = receipt.value.map { ReceiptGist($0) } }
    }
    /// What it says, short of its vectors; nil where there is none that can be read.
    package internal(set) var said: ReceiptGist?
    /// Where the receipt was not read again: who read it before, and how far it says that this one was imported.
    var rememberedImport: Dot?

    /// How far the receipt says its peer has imported another. Of a receipt that was not read again that is known only
    /// for the peer that read it before.
    package func imported(of other: PeerID) -> UInt64 {
        if let receipt = receipt.value { return receipt.content.imported[other] }
        return rememberedImport?.peer == other ? rememberedImport?.sequence ?? 0 : 0
    }

    /// Takes the receipt of an earlier scan for the newest, where it is; else there is none.
    mutating func goOn(byReceiptOf earlier: PeerScan?, counter: UInt64) {
        guard let earlier, let said = earlier.said, said.counter == counter else {
            receipt = .outdated
            return
        }
        receipt = earlier.receipt
        self.said = said
        rememberedImport = earlier.rememberedImport
    }

    /// When the receipt's file was last modified, in Unix milliseconds by the file system's clock.
    package var receiptModified: Int64?

    /// How a JSON document was found.
    package enum Found<Document: Sendable & Hashable>: Sendable, Hashable {
        case valid(Document)
        case missing
        /// Incomplete, damaged, or another peer's.
        case damaged
        case newerFormat
        /// A receipt older than one that was read before: it says nothing.
        case outdated
        /// It stands as it stood when an earlier process read it, and was not read again: ``PeerScan/said`` has the gist.
        case unread

        package var value: Document? {
            if case .valid(let document) = self { document } else { nil }
        }
    }

    package var logFiles: LogFileSet { LogFileSet(logs.map(\.name)) }

    /// What `status` says of this peer.
    package var overview: PeerOverview {
        let seen = [said?.written, receiptModified].compactMap { $0 }.max()
        return PeerOverview(
            id: id, name: description.value?.name,
            published: max(said?.published ?? 0, logs.map(\.name.last).max() ?? 0), seenAt: seen,
            succeeds: description.value?.succeeds, imported: receipt.value?.content.imported)
    }
}

/// What the folder says of a peer.
package struct PeerOverview: Hashable, Sendable {
    package var id: PeerID
    /// nil until its description has arrived.
    package var name: String?
    /// The highest sequence that its receipt or its log files speak of.
    package var published: UInt64
    /// Unix milliseconds of its last receipt, by its own clock or the file's, whichever is later; nil for none.
    package var seenAt: Int64?
    package var succeeds: PeerID?
    package var imported: VersionVector?
}

/// Something in the content folder that is not of the grammar.
package struct StrangeEntry: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// A file on its way: ours, or a sync engine's.
        case temporary
        /// A sync engine kept two versions of one file or folder of ours.
        case conflictCopy
        /// A good name on something that is not a file or not a directory, as a symbolic link.
        case wrongType
        case unknown
    }

    /// Relative to the content folder.
    package var path: String
    package var kind: Kind

    init(path: String, kind: Kind) {
        self.path = path
        self.kind = kind
    }

    /// Tells the kind of a name that is not of the grammar.
    init(path: String, name: String) {
        let lower = name.lowercased()
        self.path = path
        if ConflictCopy(path: path) != nil {
            kind = .conflictCopy
        } else if StagingName.isStaged(name) || name.hasPrefix(".syncthing.") || name.hasPrefix("~syncthing~")
            || lower.hasSuffix(".tmp") || lower.hasSuffix(".part") || lower.hasSuffix(".partial") || name.hasSuffix("~")
        {
            kind = .temporary
        } else {
            kind = .unknown
        }
    }
}
