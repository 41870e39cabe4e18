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

extension Store {
    private static let refusals = "refused "

    /// Remembers which transactions the last import could not merge, one a peer at most.
    package func noteRefusals(_ notes: [RefusalNote]) throws {
        guard Set(try refusalNotes()) != Set(notes) else { return }
        try database.write { store in
            try store.facts.remove(under: Self.refusals)
            for note in notes {
                let fields = [String(note.dot.sequence), note.file, note.reason, note.detail]
                try store.facts.set(Self.refusals + note.dot.peer.description, .text(try KeyList.encode(fields)))
            }
        }
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
}
