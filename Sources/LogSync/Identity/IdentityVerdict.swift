import LogSyncStore

/// Which peer a store is.
enum IdentityVerdict: Equatable {
    /// The peer that it says it is.
    case same
    /// That peer, at another path than before.
    case moved(from: String)
    /// A copy of another store, which may live on: this one becomes a new peer.
    case copied(from: String?)
    /// An older state of that peer: it becomes a new peer, and its former self is no more.
    case restored(ahead: UInt64)
    /// Perhaps an older state of that peer: its state file is lost, and what it had told the folder is, too, or is that it
    /// has gone from there. A new peer.
    case untold
    /// Another process, elsewhere, writes under the same id: this one becomes a new peer.
    case shared
    /// The peer that it says it is, though the folder says that it is an older state, at `ahead`, or another process's: that
    /// was believed once today.
    case doubted(ahead: UInt64?)
    /// There is no state file, and the container, which could tell, is not available: nothing is recorded until it is.
    case unknown
}

extension IdentityEvidence {
    /// Which peer the store is by this evidence. A pure function, so that all cases can be listed in a test.
    var verdict: IdentityVerdict {
        if let original { return .copied(from: original) }
        let machinesAgree = state.map { Self.mayAgree($0.machine, machine) } ?? false
        guard let state, machinesAgree else {
            guard isConfirmedByItself else { return .copied(from: nil) }
            guard let folder else { return .unknown }
            if let verdict = verdict(from: folder, state: nil) { return verdict }
            if isContradicted { return .shared }
            // Every peer has a receipt from the beginning, and that is the last word only of one that has gone elsewhere.
            return folder.receipt == nil || folder.hasLeft ? .untold : movedOrSame(from: registration.path)
        }
        if state.sequence > sequence { return .restored(ahead: state.sequence) }
        if state.sequence == sequence, state.chain != chain { return .restored(ahead: sequence) }
        if let folder, let verdict = verdict(from: folder, state: state) { return believed(verdict) }
        if isContradicted { return believed(.shared) }
        return movedOrSame(from: state.path)
    }

    /// Whether the machine or the inode is the one that the store remembers; what is unknown confirms nothing.
    private var isConfirmedByItself: Bool {
        (machine != nil && machine == registration.machineID) || registration.inode == place.inode
    }

    private func verdict(from folder: FolderEvidence, state: StateFile?) -> IdentityVerdict? {
        if let receipt = folder.receipt, let state, isUnknown(receipt, to: state) {
            return .shared
        }
        if folder.highest > sequence { return .restored(ahead: folder.highest) }
        if let published = folder.published, published.sequence == sequence, sequence > 0, published.chain != chain {
            return .restored(ahead: sequence)
        }
        return nil
    }

    /// Whether neither the state file nor the store itself knows of the run that wrote a receipt.
    private func isUnknown(_ receipt: (counter: UInt64, nonce: String), to state: StateFile) -> Bool {
        receipt.counter >= state.receiptCounter && receipt.counter > 0 && !state.nonces.contains(receipt.nonce)
            && !registration.runs.contains(receipt.nonce)
    }

    private func movedOrSame(from path: String?) -> IdentityVerdict {
        guard let path, path != place.path else { return .same }
        return .moved(from: path)
    }
}
