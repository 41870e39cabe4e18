import LogSyncContainer
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
