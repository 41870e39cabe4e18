import LogSyncContainer
import LogSyncModel
import LogSyncStore
import Logging

/// Where the content of a store is: said in the store, and in its state file, which a restored backup leaves as it is.
extension ReplicatedStore {
    /// Says that the content is at another place from now on.
    ///
    /// The state file says it first: what is killed in between is resumed at the next step. So do those of the peers that the
    /// store was before: a backup of one of them may be restored.
    func relocate(to container: String, _ name: ContentName) throws {
        let selves = try stateDirectory.all(at: place.path).filter {
            $0.content == registration.content && $0.hasLeft != true && isOfThisMachine($0)
        }
        for var next in selves {
            next.container = container
            next.content = name.description
            try stateDirectory.save(next)
        }
        do {
            try store.setContent(name.description, container: container)
        } catch {
            for former in selves { try stateDirectory.save(former) }
            throw error
        }
        try refresh()
        try identity.refresh()
    }

    /// Goes on where this machine last had the store: a backup from before a `move` or an `attach` names the place that the
    /// store has left, where nobody may be any more.
    func resumeRelocation() throws {
        // That of a copy is its original's, which is at another path.
        guard let known = try identity.state ?? stateDirectory.load(peer), known.path == place.path,
            isOfThisMachine(known), let container = known.container,
            container != registration.container || known.content != registration.content
        else { return }
        logger.notice(
            """
            \(place.path) names \(content.path) as the place of its content, as a backup does that is from before a move: \
            it goes on with \(container), content \(known.content), where it was last
            """)
        try store.setContent(known.content, container: container)
        try refresh()
    }

    private func isOfThisMachine(_ known: StateFile) -> Bool {
        IdentityEvidence.mayAgree(known.machine, configuration.machineID)
    }
}
