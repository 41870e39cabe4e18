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
            try store.connection.run(
                "DELETE FROM logsync_store WHERE substr(key, 1, ?2) = ?1", .text(Self.refusals),
                .integer(Int64(Self.refusals.utf8.count)))
            for note in notes {
                let fields = [String(note.dot.sequence), note.file, note.reason, note.detail]
                try store.facts.set(Self.refusals + note.dot.peer.description, .text(try KeyList.encode(fields)))
            }
        }
    }

    /// The transactions that have not been merged since.
    package func refusalNotes() throws -> [RefusalNote] {
        try database.read { store in
            try store.connection.rows(
                "SELECT substr(key, ?2 + 1), value FROM logsync_store WHERE substr(key, 1, ?2) = ?1 ORDER BY key",
                .text(Self.refusals), .integer(Int64(Self.refusals.utf8.count))
            ).compactMap { row in
                let fields = try KeyList.decode(String(text: row[1]))
                guard let peer = PeerID(String(text: row[0])), fields.count == 4, let sequence = UInt64(fields[0]),
                    !store.peers.vector.covers(Dot(peer, sequence))
                else { return nil }
                return RefusalNote(dot: Dot(peer, sequence), file: fields[1], reason: fields[2], detail: fields[3])
            }
        }
    }
}
