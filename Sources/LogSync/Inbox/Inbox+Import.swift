import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// From the container into the store.
extension Inbox {
    /// What one step of importing did.
    enum ImportProgress {
        case imported(ImportStep)
        /// A file turned out not to be what it seemed, and everything was undone: the next step does without it.
        case undone
        /// Nothing is ready any more.
        case finished
    }

    func plan(_ scan: ContainerScan) throws -> ImportPlan {
        library.logs.forgetImported(try store.vector())
        library.logs.acceptsSize = try store.peersOfAcceptedSize()
        return ImportPlan(
            scan, except: peer, library: library, configuration: owner.configuration, branches: try store.branches())
    }

    /// Merges what the peer recorded next that this store was until it was restored or copied, before anything is recorded
    /// here: what the backup had captured may be in it, and is not to count twice.
    ///
    /// - Returns: nil where nothing of that peer can be imported; then everything that was captured counts as new.
    func importRepeated(_ succession: Succession, _ scan: ContainerScan) throws -> ImportStep? {
        guard let former = owner.registration.succeeds.last else { return nil }
        let plan = try plan(scan)
        var limit = try store.vector()
        limit[former] += 1
        plan.limit = limit
        while true {
            do {
                switch try importNext(plan, repeating: succession) {
                case .imported(let step): return step.imported.isEmpty ? nil : step
                case .undone: continue
                case .finished: return nil
                }
            } catch is UncertainRepetition {
                logger.notice(
                    """
                    \(owner.place.path): what the backup had captured cannot be told from what was written since, and counts \
                    as new
                    """)
                return nil
            }
        }
    }

    /// Merges what is ready, in one SQLite transaction that is kept short.
    ///
    /// - Parameter succession: where it is the first that is imported after the store has become another peer.
    func importNext(_ plan: ImportPlan, repeating succession: Succession? = nil) throws -> ImportProgress {
        try begin(plan)
        if try !plan.hasNext() {
            guard try acceptClocks(plan), try plan.hasNext() else { return .finished }
        }
        let step: ImportStep
        var files: [ImportedFile: Int] = [:]
        let isLogged = logger.logLevel <= .debug
        do {
            step = try store.importStep(repeatsExactly: succession?.mayGoOn) {
                let next = try plan.next()
                if isLogged, next != nil, let (peer, file, _) = plan.current {
                    files[ImportedFile(peer: peer, name: file.name), default: 0] += 1
                }
                return next
            }
        } catch let reason as NotReady {
            plan.wait(reason, at: try store.vector())
            return .undone
        } catch let unready as UnreadyTable {
            do {
                try store.prepare(unready)
                try owner.identity.noteRecorded()
            } catch let refused as RefusedTransaction {
                // What was captured comes first, and is no other peer's fault.
                guard plan.current != nil else { throw unready }
                plan.reject(.refused, refused.detail)
            }
            return .undone
        } catch let gone as RowGone {
            try record(gone)
            return .undone
        } catch let error as UncertainRepetition {
            throw error
        } catch {
            try hold(plan, error)
            return .undone
        }
        // What others did is on their disks; what was recorded here is nowhere else.
        if step.recorded != nil || !step.revived.isEmpty { try owner.identity.noteRecorded() }
        log(files)
        return .imported(step)
    }

    private func begin(_ plan: ImportPlan) throws {
        let chains = try store.chains()
        try begin(plan) { chains[$0] ?? .zero }
    }

    func begin(_ plan: ImportPlan, chain: (PeerID) throws -> ChainHash) throws {
        try plan.begin(
            vector: try store.vector(), newPeers: try store.newPeersToday(), latestTime: try store.latestTime(),
            chain: chain)
    }

    /// Lets in the peers whose clocks were accepted by hand. Returns whether a transaction of one of them waits.
    func acceptClocks(_ plan: ImportPlan) throws -> Bool {
        var isAny = false
        for transaction in plan.waitingForClock
        where try store.readiness(of: transaction.header, chainBefore: transaction.chainBefore) == .ready {
            plan.acceptClock(of: transaction.header.dot.peer)
            isAny = true
        }
        return isAny
    }

    // MARK: Failed steps

    /// Records a deletion that was not captured, so that the import can begin anew.
    private func record(_ gone: RowGone) throws {
        guard try store.recordGone(gone) != nil else {
            throw LogSyncError(
                .invalidStore, "a row of \(gone.table) is not where its clock record says; nothing was imported",
                help: "Run logsync rescan \(owner.place.path.asShellArgument)")
        }
        try owner.identity.noteRecorded()
        let what = "a row of \(gone.table) was deleted behind the triggers' back; its deletion was recorded"
        logger.warning("\(owner.place.path): \(what). logsync rescan finds whatever else was changed so")
    }

    /// Finds the file that a failed step failed in; throws what is not a file's fault.
    private func hold(_ plan: ImportPlan, _ error: any Error) throws {
        if plan.isBlobToBlame { return }
        if let failure = plan.streamFailure {
            if plan.readAgain() { return }
            switch failure {
            case .incomplete: plan.block(.incomplete, failure.description)
            case .damaged: plan.block(.damaged, failure.description)
            case .newerFormat: plan.block(.newerFormat, failure.description)
            case .tooLarge: plan.block(.tooLarge, failure.description)
            }
            return
        }
        if let refused = error as? RefusedTransaction {
            return plan.reject(
                refused.isOfClock
                    ? .clock : refused.isOfProgram ? .unwritable : refused.isOfTrigger ? .trigger : .refused,
                refused.detail)
        }
        guard plan.current != nil, let error = error as? LogSyncError else { throw error }
        switch error.code {
        case .malformedLog: plan.block(.damaged, error.message)
        case .newerFormat: plan.block(.newerFormat, error.message)
        default: throw error
        }
    }

    // MARK: Logging

    /// A log file that transactions were imported from.
    private struct ImportedFile: Hashable {
        var peer: PeerID
        var name: LogFileName
    }

    /// - Parameter files: how many transactions were imported from each; empty where that is not logged.
    private func log(_ files: [ImportedFile: Int]) {
        for (file, count) in files.sorted(by: { ($0.key.peer, $0.key.name) < ($1.key.peer, $1.key.name) }) {
            logger.debug(
                "Imported from \(file.name) into \(owner.place.path)",
                metadata: [
                    "transactions": "\(count)",
                    "peer": "\(PeerName(id: file.peer, name: folderNames[file.peer]).name)",
                ])
        }
    }
}
