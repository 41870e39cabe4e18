package import LogSyncModel
import LogSyncSQLite

/// A transaction that merging refused, as the store remembers it: who only looks at the folder would think it ready.
package struct RefusalNote: Hashable, Sendable {
    /// In the history of the peer or branch that it is of.
    package var dot: Dot
    package var file: String
    /// As ``HeldItem/Reason`` spells it.
    package var reason: String
    package var detail: String

    package init(dot: Dot, file: String, reason: String, detail: String) {
        self.dot = dot
        self.file = file
        self.reason = reason
        self.detail = detail
    }
}

/// A snapshot that an import could not join, as the store remembers it: what is wrong with its rows is known only to who has
/// read all of them.
package struct SnapshotNote: Hashable, Sendable {
    /// Whose folder it is in.
    package var peer: PeerID
    /// Its file's name.
    package var snapshot: String
    /// The file that is at fault: the snapshot, or the blob that it waits for.
    package var file: String
    /// As ``HeldItem/Reason`` spells it.
    package var reason: String
    package var detail: String

    package init(peer: PeerID, snapshot: String, file: String, reason: String, detail: String) {
        self.peer = peer
        self.snapshot = snapshot
        self.file = file
        self.reason = reason
        self.detail = detail
    }
}

extension Store {
    private static let refusals = "refused "
    private static let snapshots = "held_snapshot "

    /// Remembers which transactions the last import could not merge, one a peer at most.
    package func noteRefusals(_ notes: [RefusalNote]) throws {
        guard Set(try refusalNotes()) != Set(notes) else { return }
        try replace(
            under: Self.refusals,
            with: notes.map { ($0.dot.peer.description, [String($0.dot.sequence), $0.file, $0.reason, $0.detail]) })
    }

    /// The transactions that have not been merged since.
    package func refusalNotes() throws -> [RefusalNote] {
        try database.read { store in
            try store.facts.values(under: Self.refusals).compactMap { name, value in
                let fields = try KeyList.decode(String(text: value))
                guard let peer = PeerID(name), fields.count == 4, let sequence = UInt64(fields[0]),
                    !store.peers.vector.covers(Dot(peer, sequence))
                else { return nil }
                return RefusalNote(dot: Dot(peer, sequence), file: fields[1], reason: fields[2], detail: fields[3])
            }
        }
    }

    /// Remembers which snapshots the last import could not join.
    package func noteHeldSnapshots(_ notes: [SnapshotNote]) throws {
        guard Set(try snapshotNotes()) != Set(notes) else { return }
        try replace(
            under: Self.snapshots,
            with: notes.map { ("\($0.peer) \($0.snapshot)", [$0.file, $0.reason, $0.detail]) })
    }

    /// The snapshots that the last import could not join. Whether that still holds is for its caller to ask.
    package func snapshotNotes() throws -> [SnapshotNote] {
        try database.read { store in
            try store.facts.values(under: Self.snapshots).compactMap { name, value in
                let (names, fields) = (name.split(separator: " "), try KeyList.decode(String(text: value)))
                guard names.count == 2, let peer = PeerID(String(names[0])), fields.count == 3 else { return nil }
                return SnapshotNote(
                    peer: peer, snapshot: String(names[1]), file: fields[0], reason: fields[1], detail: fields[2])
            }
        }
    }

    private func replace(under prefix: String, with notes: [(name: String, fields: [String])]) throws {
        try database.write { store in
            try store.facts.remove(under: prefix)
            for note in notes { try store.facts.set(prefix + note.name, .text(try KeyList.encode(note.fields))) }
        }
    }
}
