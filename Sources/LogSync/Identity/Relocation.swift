import LogSyncContainer
import LogSyncModel
import LogSyncStore
import Logging

/// Where the content of a store is: said in the store, and in its state file, which a restored backup leaves as it is.
extension ReplicatedStore {
    /// Says that the content is at another place from now on.
    ///
    /// The state file says it first: what is killed in between is followed at the next step.
    func relocate(to container: String, _ name: ContentName) throws {
        let former = try knownHere()
        if var next = former {
            next.container = container
            next.content = name.description
            try stateDirectory.save(next)
        }
        do {
            try store.setContent(name.description, container: container)
        } catch {
            if let former { try stateDirectory.save(former) }
            throw error
        }
        try refresh()
        try identity.refresh()
    }

    /// Goes on where this machine last had the store: a backup from before a `move` or an `attach` names the place that the
    /// store has left, where nobody may be any more.
    func resumeRelocation() throws {
        guard let known = try identity.state ?? knownHere(), known.path == place.path, let container = known.container,
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

    /// The state file of this peer where it is of this very path; nil for a copy's, which is its original's.
    private func knownHere() throws -> StateFile? {
        guard let known = try stateDirectory.load(peer), known.path == place.path,
            IdentityEvidence.mayAgree(known.machine, configuration.machineID)
        else { return nil }
        return known
    }
}
