import LogSyncModel
import LogSyncStore

// What the doctor says of which peer a store is.

extension StoreExamination {
    func identity(_ trouble: StoreStatus.IdentityTrouble) -> Finding {
        guard trouble.kind == .claimed else {
            return Finding(
                "identity", .note, "the store was \(trouble.kind.rawValue)", at: path, why: trouble.detail,
                help: trouble.kind == .shared ? retirement() : nil)
        }
        return Finding(
            "identity-claimed", .trouble, "the folder says that this store is not the newest of its kind", at: path,
            why: trouble.detail,
            help:
                "logsync peers accept-claim \(path.asShellArgument) where that is so; else find out who writes the folder"
        )
    }

    /// What ends the wait for the id that a store shared with another one; nil where that is retired.
    ///
    /// Nothing tells whether one of the stores that had the id still has it, and writes nothing at the moment.
    private func retirement() -> String? {
        guard let former = store.registration.succeeds.last, let retired = try? store.store.retiredPeers(),
            !retired.contains(former)
        else { return nil }
        return
            "where the other store has become a new peer, too, logsync peers retire \(path.asShellArgument) \(former): "
            + "until then the others keep log files for that id"
    }
}
