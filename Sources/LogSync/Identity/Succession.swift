import LogSyncContainer
import LogSyncModel
import LogSyncStore
import Logging

/// Why a store has to become a new peer, which succeeds the one that it was.
struct Succession {
    var kind: StoreStatus.IdentityTrouble.Kind
    /// What was found out, as the beginning of a sentence.
    var detail: String
    /// Whether nothing but the folder says so.
    var restsOnFolder: Bool

    /// Whether the new peer goes by the name of the former: a copy is another machine's, or another process's.
    var keepsName: Bool { kind == .restored }

    /// Whether the store lacks what was done under the former id, and imports that before it publishes anything.
    var isOutdated: Bool { kind != .copied }

    /// Whether the former self may go on elsewhere: then only what was captured in the very millisecond that it says is taken
    /// for what it has recorded.
    var mayGoOn: Bool { kind != .restored || restsOnFolder }
}

extension ReplicatedStore {
    /// Finds out which peer this store is, and makes it another where it has to be one.
    ///
    /// - Parameter scan: what the container holds; nil where it is not available or was not looked at.
    /// - Returns: why it was made another peer; nil where it was not.
    /// - Throws: `containerUnavailable` where only the container could tell.
    @discardableResult
    func settleIdentity(_ scan: ContainerScan?) throws -> Succession? {
        guard let succession = try identity.settle(scan) else { return nil }
        try become(succession)
        return succession
    }

    /// Makes this store a new peer that succeeds the present one.
    private func become(_ succession: Succession) throws {
        let successor = configuration.randomPeer()
        let former = peer
        let name =
            succession.keepsName ? registration.name : "\(registration.name)-\(successor.description.prefix(4))"
        let sentence =
            "\(succession.detail): it goes on as the new peer \(successor) (\(name)), which succeeds \(former)"
        logger.warning("\(place.path): \(sentence)", metadata: ["peer": "\(former)"])
        let retiring = succession.kind == .restored ? try selvesHere() : []
        // Before the store changes, so that a process killed in between leaves a store that is at home here.
        try stateDirectory.save(
            StateFile(
                peer: successor, content: registration.content, container: registration.container, path: place.path,
                inode: place.inode, machine: configuration.machineID,
                trouble: StoreStatus.IdentityTrouble(kind: succession.kind, time: configuration.now, detail: sentence),
                believedFolder: succession.restsOnFolder ? configuration.clock.now() : nil))
        store.expect(nil)
        try store.becomeSuccessor(successor, name: name, retiring: retiring)
        try refresh()
        try identity.takeUp()
    }

    /// The peers that a store at this path was, as far as this machine knows: a backup may be restored again and again, and
    /// knows of none that came of it before.
    private func selvesHere() throws -> Set<PeerID> {
        let here = try stateDirectory.all(at: place.path).filter { $0.content == registration.content }
        return Set(here.filter { $0.hasLeft != true }.map(\.peer)).union([peer])
    }
}
