import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// From the container into the store.
extension ReplicatedStore {
    /// What one step of importing did.
    enum ImportProgress {
        case imported(ImportStep)
        /// A file turned out not to be what it seemed, and everything was undone: the next step does without it.
        case undone
        /// Nothing is ready any more.
        case finished
    }

    /// Looks at the content folder.
    ///
    /// - Parameters:
    ///   - full: whether to list all of it again.
    ///   - peers: where else to look; nil for everywhere.
    ///   - recalls: whether to go by what was found before, by earlier processes and in this one.
    /// - Throws: `containerUnavailable`, `newerFormat`, `configuration`, `noPermission`, `ioError`.
    func scan(full: Bool, in peers: Set<PeerID>? = nil, recalls: Bool = false) throws -> ContainerScan {
        let full = try full && !(recalls && goesByLooks())
        if full { lastFullLook = PassingTime.machine() }
        let scan = try peers.flatMap { try full ? nil : scanner.scan(in: $0) } ?? scanner.scan(full: full)
        if full { library.forgetDoubts() }
        blobs.look(scan, forgetsDoubts: full)
        for failure in scan.failures { logger.warning("\(failure)") }
        folderNames = scan.peers.compactMapValues { $0.description.value?.name }
        unacknowledged = scan
        return scan
    }

    /// A scan with this peer's own folder as it is by now; others' folders may be many.
    func withOwnFolder(_ scan: ContainerScan) throws -> ContainerScan {
        var scan = scan
        scan.peers[peer] = try scanner.scan(only: peer)
        return scan
    }

    func plan(_ scan: ContainerScan) throws -> ImportPlan {
        library.forgetImported(try store.vector())
        return ImportPlan(
            scan, except: peer, library: library, blobs: blobs, configuration: configuration,
            branches: try store.branches())
    }

    /// Merges what is ready, in one SQLite transaction that is kept short.
    func importNext(_ plan: ImportPlan) throws -> ImportProgress {
        try begin(plan)
        if try !plan.hasNext() {
            guard try acceptClocks(plan), try plan.hasNext() else { return .finished }
        }
        let step: ImportStep
        var files: [ImportedFile: Int] = [:]
        let isAsked = logger.logLevel <= .debug
        do {
            step = try store.importStep {
                let next = try plan.next()
                if isAsked, next != nil, let (peer, file, _) = plan.current {
                    files[ImportedFile(peer: peer, name: file.name), default: 0] += 1
                }
                return next
            }
        } catch let reason as NotReady {
            plan.wait(reason, at: try store.vector())
            return .undone
        } catch let gone as RowGone {
            try record(gone)
            return .undone
        } catch {
            try hold(plan, error)
            return .undone
        }
        try noteRecorded()
        sayImported(files)
        return .imported(step)
    }

    /// Records what nobody captured, so that the import can begin anew.
    private func record(_ gone: RowGone) throws {
        guard try store.recordGone(gone) != nil else {
            throw LogSyncError(
                .invalidStore, "a row of \(gone.table) is not where its clock record says; nothing was imported",
                help: "Run logsync rescan on \(place.path)")
        }
        try noteRecorded()
        let what = "a row of \(gone.table) was deleted behind the triggers' back; its deletion was recorded"
        logger.warning("\(place.path): \(what). logsync rescan finds whatever else was changed so")
    }

    /// Looks up what the keys of tables that are not here are called, where a log leaves that to schemas.
    func learnKeys(_ scan: ContainerScan) throws {
        guard
            scan.peers.values.contains(where: { peer in
                peer.schemas.contains { !learnedSchemas.contains($0.name.fingerprint) }
            }), try store.lacksKeys()
        else { return }
        try store.learnKeys(scan, in: content, known: &learnedSchemas)
    }

    private func begin(_ plan: ImportPlan) throws {
        let chains = try store.chains()
        try plan.begin(vector: try store.vector()) { chains[$0] ?? .zero }
    }

    /// Lets in the peers whose clocks somebody has accepted. Returns whether there is one among those that wait.
    func acceptClocks(_ plan: ImportPlan) throws -> Bool {
        var isAny = false
        for place in plan.waitingForClock
        where try store.readiness(of: place.header, chainBefore: place.chainBefore) == .ready {
            plan.acceptClock(of: place.header.dot.peer)
            isAny = true
        }
        return isAny
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
            }
            return
        }
        guard plan.current != nil, let error = error as? LogSyncError else { throw error }
        switch error.code {
        case .malformedLog: plan.block(.damaged, error.message)
        case .newerFormat: plan.block(.newerFormat, error.message)
        default: throw error
        }
    }

    /// Everything that could not be imported, and why.
    func heldItems(_ plan: ImportPlan, _ scan: ContainerScan) throws -> [HeldItem] {
        noteDependents(plan)
        let contradicted = try contradicted ?? contradictedReceipts(scan)
        self.contradicted = nil
        let heldTransactions = plan.held
        var items = heldSnapshots
        let isNothing =
            heldTransactions.isEmpty && items.isEmpty && contradicted.isEmpty && unexplained.isEmpty
            && foreignFiles.isEmpty
        if isNothing { return [] }
        let names = try names()
        for held in heldTransactions {
            items.append(
                HeldItem(
                    peer: names[held.dot.peer], sequence: held.dot.sequence,
                    file: held.blob?.description ?? held.file?.description,
                    reason: held.reason, detail: held.detail))
        }
        for id in contradicted
        where !items.contains(where: { $0.peer.id == id && $0.reason == .fork }) {
            items.append(
                HeldItem(
                    peer: names[id], sequence: scan.peers[id]?.said?.published ?? 0, file: nil,
                    reason: .fork,
                    detail: "the peer says that this transaction is another than the one imported here"))
        }
        for (id, name) in unexplained where !items.contains(where: { $0.peer.id == id && $0.reason == .fork }) {
            items.append(
                HeldItem(
                    peer: names[id], sequence: name.last, file: name.description, reason: .fork,
                    detail:
                        "it holds another history of this peer, and no file that can be read says where that goes off"
                ))
        }
        for name in foreignFiles {
            items.append(
                HeldItem(
                    peer: names[peer], sequence: name.last, file: name.description, reason: .fork,
                    detail: "another store writes under the id of this one"))
        }
        return items.sorted { ($0.peer.id, $0.sequence) < ($1.peer.id, $1.sequence) }
    }

    /// What an import changed, for those who listen.
    func event(_ step: ImportStep) throws -> DidImport? {
        guard !step.imported.isEmpty else { return nil }
        let names = try names()
        return DidImport(
            store: place.path,
            transactions: step.imported.map { transaction in
                DidImport.Transaction(
                    peer: names[transaction.dot.peer], sequence: transaction.dot.sequence,
                    time: Timestamp(milliseconds: transaction.time.milliseconds), author: transaction.author,
                    context: transaction.context, tables: transaction.tables)
            })
    }
}
