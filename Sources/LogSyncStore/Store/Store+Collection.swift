import Foundation
package import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// What a store remembers of collection (Documentation/design.md, section 7): which of its log files may go, and who
/// has been asked.
package struct CollectionState: Sendable, Equatable, Codable {
    /// A point that others acknowledge by echoing its epoch in a receipt written after they had seen it.
    package struct Mark: Sendable, Equatable, Codable {
        package var epoch: UInt64
        /// What a verified snapshot covered then.
        package var covered: VersionVector

        package init(epoch: UInt64, covered: VersionVector) {
            self.epoch = epoch
            self.covered = covered
        }
    }

    /// Whose state it is: a successor begins anew.
    package var peer: PeerID
    /// The newest epoch; 0 before the first.
    package var epoch: UInt64 = 0
    /// By ascending epoch.
    package var marks: [Mark] = []
    /// Log files up to here may be missing in the folder: snapshots stand for them.
    package var floors = VersionVector()

    package init(peer: PeerID) {
        self.peer = peer
    }

    /// No more marks than this are kept; a middle one goes first, so that who is asked least often is asked still.
    static let maximumMarks = 64

    /// Sets a mark where one is needed for more than the last covers.
    ///
    /// - Returns: whether there is a new one.
    package mutating func mark(_ covered: VersionVector) -> Bool {
        guard !(marks.last?.covered.includes(covered) ?? covered.sequences.isEmpty) else { return false }
        epoch += 1
        var all = covered
        if let last = marks.last { all.formUnion(last.covered) }
        marks.append(Mark(epoch: epoch, covered: all))
        if marks.count > Self.maximumMarks { marks.remove(at: marks.count / 2) }
        return true
    }

    /// The first epoch by which others were asked about a transaction; nil where they were not.
    package func epoch(for dot: Dot) -> UInt64? {
        marks.first { $0.covered.covers(dot) }?.epoch
    }
}

extension Store {
    private static let collectionKey = "collection"

    package func collection() throws -> CollectionState {
        try database.read { store in
            guard let text = try store.facts.text(Self.collectionKey) else {
                return CollectionState(peer: store.ownID)
            }
            let state = try JSONDecoder().decode(CollectionState.self, from: Data(text.utf8))
            return state.peer == store.ownID ? state : CollectionState(peer: store.ownID)
        }
    }

    package func setCollection(_ state: CollectionState) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let text = String(decoding: try encoder.encode(state), as: UTF8.self)
        try database.write { try $0.facts.set(Self.collectionKey, .text(text)) }
    }

    /// Lets go of published transactions that a snapshot of this peer's stands for.
    ///
    /// - Parameter vector: what a published snapshot covers that was read back.
    /// - Returns: how many went.
    @discardableResult
    package func releaseOutbox(coveredBy vector: VersionVector) throws -> Int {
        var released = 0
        // Very many may be in the vector, and each takes a write transaction.
        let kept = Set(try outboxPeers())
        for dot in vector.dots where kept.contains(dot.peer) {
            while true {
                let count = try releaseSome(dot)
                released += count
                if count < Self.releasedAtOnce { break }
            }
        }
        try dropReleasedBlocks()
        return released
    }

    private static let releasedAtOnce = 64
    private static let blocksAtOnce = 16

    /// Removes the blocks of transactions that the outbox has let go, now or before a process died: few at a time, because
    /// a block may hold a megabyte, which SQLite may overwrite with zeros, and writers wait meanwhile.
    private func dropReleasedBlocks() throws {
        var released = try database.read { store in
            try store.connection.rows(
                """
                SELECT DISTINCT peer, sequence FROM logsync_outbox_block AS block WHERE NOT EXISTS
                    (SELECT 1 FROM logsync_outbox AS sent WHERE sent.peer = block.peer AND sent.sequence = block.sequence)
                """)
        }
        while !released.isEmpty {
            // What a power cut undoes of this is done again.
            try database.write(isDurable: false, isNews: false) { store in
                var left = Self.blocksAtOnce
                while left > 0, let dot = released.last {
                    try store.connection.run(
                        """
                        DELETE FROM logsync_outbox_block WHERE rowid IN
                            (SELECT rowid FROM logsync_outbox_block WHERE peer = ? AND sequence = ? LIMIT ?)
                        """, dot[0], dot[1], .integer(Int64(left)))
                    if store.connection.changes < left { released.removeLast() }
                    left -= store.connection.changes
                }
            }
        }
    }

    private func releaseSome(_ dot: Dot) throws -> Int {
        try database.write { store in
            guard let number = store.peers[dot.peer]?.number else { return 0 }
            let sequences = try store.connection.rows(
                """
                SELECT sequence FROM logsync_outbox WHERE peer = ? AND sequence <= ? AND published
                ORDER BY sequence LIMIT \(Self.releasedAtOnce)
                """, .integer(number), .integer(Int64(clamping: dot.sequence))
            ).map { $0[0] }
            for sequence in sequences {
                for table in ["logsync_outbox_blob", "logsync_outbox"] {
                    try store.connection.run(
                        "DELETE FROM \(table) WHERE peer = ? AND sequence = ?", .integer(number), sequence)
                }
            }
            return sequences.count
        }
    }

    /// The first transaction of a peer that the outbox has, or would have next.
    package func outboxStart(of peer: PeerID) throws -> UInt64 {
        try database.read { store in
            guard let entry = store.peers[peer] else { return 1 }
            let first = try store.connection.integer(
                "SELECT min(sequence) FROM logsync_outbox WHERE peer = ?", .integer(entry.number))
            guard let first, first > 0 else { return entry.sequence + 1 }
            return UInt64(first)
        }
    }

    /// The snapshot from which this store is being filled; nil where it is whole.
    package func fillingHash() throws -> String? {
        try database.read { try FillingPlace.hash($0) }
    }
}

extension Store {
    /// Settles, for all peers, that one takes part no more.
    package func retire(_ peer: PeerID) throws {
        try database.write { store in
            try Settings(store).set("retired", peer.description, "1")
            _ = try RecordStep(store).run()
        }
    }
}
