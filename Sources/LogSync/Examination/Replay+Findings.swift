import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore

/// What a replay says of what it could not do.
extension Replay {
    /// That the store has transactions which the folder has not, so that it could not be compared.
    func notCompared(_ stop: Stop) throws -> Finding {
        let (names, reached) = (try replica.names(), try replica.store.vector())
        let lacking = stop.vector.sequences.filter { $0.value > reached[$0.key] }.keys.sorted()
            .map { "\(names[$0].name):\(reached[$0] + 1)" }
        return Finding(
            "not-compared", .note, "the store was not compared with its transactions", at: folder.path,
            why: lacking.isEmpty
                ? "the folder has more than it has imported"
                : "the folder has not all of what it has imported: \(lacking.joined(separator: ", ")) and what comes after",
            help: "run logsync sync on the store and on all others; where what is lacking is nowhere, logsync rebuild")
    }

    /// Whether what was replayed of a store's own transactions is what another store wrote under its id.
    func hasOtherHistory(than store: ReplicatedStore) throws -> Bool {
        let (sequence, chain) = (try replica.store.vector()[store.peer], try replica.store.chain(of: store.peer))
        return try sequence > 0 && store.store.knows(store.peer, sequence, chain.mark) == .contradicted
    }

    /// That such a store could not be compared.
    func notCompared(with store: ReplicatedStore) throws -> Finding {
        Finding(
            "not-compared", .trouble, "the store was not compared with its transactions", at: store.place.path,
            why:
                "the folder has another history of \(try replica.names()[store.peer].name) than the store: two stores wrote "
                + "under that id",
            help: "run logsync doctor \(store.place.path.asShellArgument), which says what to do")
    }

    func heldFindings() throws -> [Finding] {
        let names = try replica.names()
        return plan.held.map { held in
            let isDamage = held.reason == .fork || held.reason == .damaged
            return Finding(
                "held-\(held.reason.rawValue)", isDamage ? .damage : .trouble,
                "\(names[held.dot.peer].name):\(held.dot.sequence) cannot be replayed",
                at: held.blob.map { folder.peer(held.dot.peer).path($0) }
                    ?? held.file.map { folder.peer(held.dot.peer).path($0) } ?? folder.path, why: held.detail,
                help: "run logsync doctor on the folder")
        }
    }
}
