import LogSyncContainer
import LogSyncModel
import LogSyncStore

/// One round, from the program's changes to everybody else's.
extension Replicator {
    /// Record → publish → scan → import → did import, as far as it is asked for.
    ///
    /// The container is scanned in the same step in which local changes are recorded, because it tells which peer the store
    /// is. Where that finds the store to be an older state of itself, what its former self had done is imported first.
    ///
    /// - Parameter extent: how much of the container is scanned; the first scan of a process that goes by earlier ones leaves
    ///   what it finds to the next process.
    func round(_ parts: RoundParts, _ extent: ScanExtent = .full) async throws -> SyncResult {
        do {
            try await found()
            let result = try await wholeRound(parts, extent)
            noteActivity(.success(result))
            return result
        } catch {
            noteActivity(.failure(error))
            throw error
        }
    }

    private func wholeRound(_ parts: RoundParts, _ extent: ScanExtent) async throws -> SyncResult {
        var round = Round(SyncResult(store: path))
        let leavesScan = try extent == .cached && store().inbox.isBeforeFirstScan
        let recording = try await record(parts, extent, &round)
        // Where the container is not there, what was recorded waits in the outbox.
        var scan = try recording.scan?.get()
        if recording.isOutdated, let found = scan { scan = try await importAll(found, publishes: false, &round) }
        if parts.contains(.publish) {
            try await publish(&round)
            // A repair of the own folder is told with what is held. In a hurry, what has arrived comes first.
            if extent.isFull, let scan { try await maintainOwnFolder(scan, &round) }
        }
        if parts.contains(.import), let found = scan {
            let before = round.result.recorded
            scan = try await importAll(found, publishes: parts.contains(.publish), &round)
            // What was recorded on the way, and rows that an import brought back here, are news for the others.
            if parts.contains(.publish), round.result.recorded > before { try await publish(&round) }
        }
        if parts.contains(.publish), case .changes(let peers) = extent, let scan,
            try store().ownFolder.isConcerned(by: scan, in: peers)
        {
            try await maintainOwnFolder(scan, &round)
        }
        if parts.contains(.acknowledge) {
            do { try await acknowledge(scan) } catch { try round.goOn(after: error) }
        }
        if leavesScan, let scan { try await step { try $0.inbox.saveForNextProcess(scan) } }
        if let refusal = round.refusal { throw refusal }
        round.result.held = opened?.inbox.held ?? []
        return round.result
    }

    /// A round under way.
    private struct Round {
        var result: SyncResult
        /// Why the folder takes nothing, as where it is full or may only be read.
        private(set) var refusal: LogSyncError?

        init(_ result: SyncResult) { self.result = result }

        /// Has a round go on when the folder has refused to take something. That waits in the store, and is no reason not to
        /// import what the others have published: the round throws it when it has.
        ///
        /// - Throws: an error of anything but the folder.
        mutating func goOn(after error: any Error) throws {
            guard let error = error as? LogSyncError, error.isOfContainer else { throw error }
            refusal = refusal ?? error
        }
    }

    // MARK: Record, and scan

    /// What a recording found out on the way.
    private struct Recording {
        /// What the container holds, or why that cannot be seen; nil where it was not asked.
        var scan: Result<ContainerScan, any Error>?
        /// Whether the store is an older state of itself.
        var isOutdated: Bool
    }

    private func record(
        _ parts: RoundParts, _ extent: ScanExtent, _ round: inout Round
    ) async throws -> Recording {
        let (recording, recorded) = try await step(settles: true) { store in
            let isAsked = parts.contains(.scan) || !store.identity.isSettledWithFolder
            let scan = isAsked ? Result { try store.scan(extent) } : nil
            let succession = try settleIdentity(of: store, try? scan?.get())
            let recorded = try store.record()
            return (Recording(scan: scan, isOutdated: succession?.isOutdated ?? false), recorded)
        }
        if recorded != nil { round.result.recorded += 1 }
        return recording
    }

    /// Settles which peer the store is. One that was restored or copied first takes in what its former self did with what the
    /// backup had captured.
    @discardableResult
    func settleIdentity(of store: ReplicatedStore, _ scan: ContainerScan?) throws -> Succession? {
        guard let succession = try store.settleIdentity(scan) else { return nil }
        // A folder that is not there says nothing of it.
        if let scan = scan ?? (try? store.scan()), let step = try store.inbox.importRepeated(succession, scan) {
            try announce(step, in: store)
        }
        return succession
    }

    // MARK: Publish

    /// Publishes what waits, unless the folder has taken nothing in this round already.
    private func publish(_ round: inout Round) async throws {
        guard round.refusal == nil else { return }
        currentActivity.isExporting = true
        defer { currentActivity.isExporting = false }
        do {
            while true {
                let count = try await step { try $0.ownFolder.publishNext() }
                if count == 0 { break }
                round.result.published += count
            }
        } catch {
            try round.goOn(after: error)
        }
    }

    private func maintainOwnFolder(_ scan: ContainerScan, _ round: inout Round) async throws {
        guard round.refusal == nil else { return }
        do {
            try await step { try $0.ownFolder.maintain(scan) }
        } catch {
            try round.goOn(after: error)
        }
    }

    /// Says in the receipt what was published and imported, where that is news.
    ///
    /// - Parameter scan: what the container holds; nil for what the last scan found.
    func acknowledge(_ scan: ContainerScan?) async throws { try await step { try $0.ownFolder.acknowledge(scan) } }

    // MARK: Import

    /// - Parameter publishes: whether what programs write meanwhile goes out before all is imported, which may take long.
    /// - Returns: what the folder holds now, as far as it had to be looked at again.
    private func importAll(
        _ scan: ContainerScan, publishes: Bool, _ round: inout Round
    ) async throws -> ContainerScan {
        currentActivity.isImporting = true
        var (scan, isNew) = (scan, false)
        // One plan after the other: a folder may have as many branches in one another as it likes.
        while true {
            switch try await importOnce(scan, isNew: isNew, publishes: publishes, &round) {
            case .finished: return scan
            case .anotherPlan: continue
            case .anotherScan(let peers):
                scan = try await step { try $0.scan(.changes(in: peers)) }
                isNew = true
            }
        }
    }

    /// What a plan, carried out, calls for.
    private enum Sequel {
        case finished
        case anotherPlan
        /// Of the folders of these peers, where a file had gone since it was listed.
        case anotherScan(Set<PeerID>)
    }

    /// - Parameter isNew: whether the folder was looked at again in this round: then what is not there is held.
    private func importOnce(
        _ scan: ContainerScan, isNew: Bool, publishes: Bool, _ round: inout Round
    ) async throws -> Sequel {
        let plan = try await step { try $0.inbox.plan(scan) }
        while let step = try await importNext(plan) {
            round.result.recorded += (step.recorded == nil ? 0 : 1) + step.revived.count
            round.result.imported += step.imported.count
            if publishes, step.recorded != nil { try await publish(&round) }
        }
        if !isNew, !plan.outdated.isEmpty { return .anotherScan(plan.outdated) }
        if try await step({ try $0.inbox.branches.findBranches(plan, scan) }) { return .anotherPlan }
        if let joined = try await joinSnapshot(plan, scan) {
            if joined.recorded != nil { round.result.recorded += 1 }
            round.result.imported += Int(clamping: joined.transactions)
            return .anotherPlan
        }
        return try await step { store in
            try store.inbox.finish(plan, scan)
            // Others have seen what this store never did: it is an older state of itself.
            guard store.identity.seenByOthers > 0 else { return .finished }
            return try store.settleIdentity(scan)?.isOutdated ?? false ? .anotherPlan : .finished
        }
    }

    /// Imports what is ready, a step at a time. Returns nil where nothing is.
    func importNext(_ plan: ImportPlan) async throws -> ImportStep? {
        while true {
            let progress = try await step { store in
                let progress = try store.inbox.importNext(plan)
                if case .imported(let step) = progress { try announce(step, in: store) }
                return progress
            }
            if case .finished = progress { return nil }
            try Task.checkCancellation()
            if case .imported(let step) = progress { return step }
        }
    }

    /// Joins a snapshot where the logs alone do not lead on. Returns nil where there is none.
    private func joinSnapshot(_ plan: ImportPlan, _ scan: ContainerScan) async throws -> JoinedSnapshot? {
        try await step { store in
            guard let (snapshot, joined) = try store.inbox.joinSnapshot(plan, scan) else { return nil }
            announce(try DidImport(snapshot, joined, into: store), .joinedSnapshot)
            return joined
        }
    }
}

/// What a round does besides recording.
struct RoundParts: OptionSet {
    let rawValue: Int
    static let scan = RoundParts(rawValue: 1)
    static let publish = RoundParts(rawValue: 2)
    static let `import` = RoundParts(rawValue: 4)
    /// Publishes a receipt where it would say anything new.
    static let acknowledge = RoundParts(rawValue: 8)
    static let everything: RoundParts = [.scan, .publish, .import, .acknowledge]
}
