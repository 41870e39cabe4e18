import Forgery
import LogSync
import LogSyncContainer
import LogSyncModel
import LogSyncStore

/// Scenarios in which somebody lies. What is shown then is no question to the oracle, which knows only what was done: what has
/// to hold is that every call ends, with a result or an error of logsync's, that stores add up, and that who takes part comes to
/// the same.
extension FolderWorld {
    func lie(to peer: FolderPeer, choice: UInt64, _ trace: (String) -> Void) throws {
        let folder = ForgedFolder("\(peer.container)/\(FolderPeer.content)")
        let lie = try liar.lie(
            in: folder, besides: peer.openStore(), of: peers.map(\.id), scenario.schema, choice: choice)
        trace("    \(lie)")
    }

    /// Takes note of who a peer is by now: the folder may have told it that it was restored.
    func meet(_ peer: FolderPeer) throws { peer.id = try peer.openStore().registration().peer }

    func audit(_ peer: FolderPeer) throws {
        let store = try peer.openStore()
        guard try !store.hasPendingChanges() else { return }
        if let problem = try store.audit().problems.first { throw Failure(.audit, "\(peer.model.name): \(problem)") }
    }

    /// Everybody has what everybody who takes part has made, or says that it is held: because it depends on a lie that others
    /// have believed. Who holds nothing shows the same, but where two made-up snapshots may say two things of one transaction.
    func checkHonest(_ trace: (String) -> Void) async throws {
        let authors = try peers.map { ($0.id, try $0.openStore().vector()[$0.id]) }
        var contented: FolderPeer?
        for peer in peers {
            let held = try await sync(peer, nil, trace)?.held ?? []
            let store = try peer.openStore()
            guard try store.record() == nil else {
                throw Failure(.phantom, "\(peer.model.name) records a change that nobody made")
            }
            try audit(peer)
            let vector = try store.vector()
            for (author, last) in authors where vector[author] < last && !held.contains(where: { $0.peer.id == author })
            {
                throw Failure(
                    .unsettled,
                    "\(peer.model.name) stays at \(author):\(vector[author]), of which there are \(last), and does not say so"
                )
            }
            guard held.isEmpty, liar.snapshots < 2 else { continue }
            guard let first = contented else {
                contented = peer
                continue
            }
            let other = try first.openStore()
            guard try vector == other.vector() else {
                throw Failure(
                    .unsettled,
                    "\(first.model.name) and \(peer.model.name) hold nothing and stay at \(Spelling.vector(try other.vector())) "
                        + "and \(Spelling.vector(vector))")
            }
            guard try store.summary().digest == other.summary().digest, try store.audit().shown == other.audit().shown
            else {
                throw Failure(
                    .divergence, "\(first.model.name) and \(peer.model.name) have the same vector and show other rows")
            }
        }
    }
}
