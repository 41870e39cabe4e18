import Foundation
import LogSyncContainer
import LogSyncModel
import LogSyncStore
import Logging

extension Replicator {
    /// Syncs as things happen, until the task is cancelled; what was done is kept.
    ///
    /// A store that is missing or locked, a container that is not there, a full disk: all are reported as
    /// ``ReplicationEvent``, and tried again.
    public func run() async throws {
        isRunning = true
        currentActivity.isRunning = true
        readers.setAwaited(true)
        defer {
            isRunning = false
            currentActivity.isRunning = false
            readers.setAwaited(false)
            storeReturn = nil
        }
        let wakes = WakeQueue()
        wakes.wake(.full)
        let watchers = Watchers(configuration: configuration, wakes: wakes)
        let path = path
        let silence = FolderSilence(folderCalls, of: path, logger: configuration.logger)
        let (moves, move) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await watchers.watchStore(path) }
            group.addTask { await self.watchContainer(watchers, anewAfter: moves) }
            group.addTask { await watchers.watchRequests(path) { await self.requestsPath() } }
            group.addTask { await watchers.watchTime() }
            group.addTask { await silence.watch() }
            group.addTask { await watchers.watchWriter(path) { await self.commits() } }
            await loop(wakes, move)
            group.cancelAll()
        }
    }

    /// Whether the container has not answered for seconds, as a mount that hangs; then neither does this replicator.
    public nonisolated var isContainerSilent: Bool {
        FolderSilence.isSilent(folderCalls.oldest)
    }

    /// Runs in the background until ``stop()``. Until then it keeps the replicator, whether anything else holds it or not.
    public func start() {
        guard background == nil else { return }
        background = Task {
            do {
                try await run()
            } catch {
                configuration.logger.error("\(path): \(error)")
            }
        }
    }

    /// Stops what ``start()`` started, after the step under way.
    public func stop() async {
        background?.cancel()
        await background?.value
        background = nil
    }

    /// Watches the content folder, and looks at it anew from when the content was found to be elsewhere or this to be another
    /// peer.
    private nonisolated func watchContainer(_ watchers: Watchers, anewAfter moves: AsyncStream<Void>) async {
        func watch() -> Task<Void, Never> { Task { await watchers.watchContainer { await self.contentPath() } } }
        var watching = watch()
        for await _ in moves {
            watching.cancel()
            await watching.value
            watching = watch()
        }
        watching.cancel()
        await watching.value
    }

    /// A number that changes with every commit of others; nil where the store cannot be asked.
    ///
    /// A store that has been let go of is not opened for it.
    private func commits() -> Int64? {
        guard opened?.store.isResting == false else { return nil }
        return try? inspect { try $0.store.dataVersion() }
    }

    /// Where other processes ask for the store; nil before it has been opened, which tells where that is.
    private func requestsPath() -> String? { locks == nil && access != .lettingGo ? nil : stateDirectory.locks }

    /// Where the content folder is; nil where the store cannot be asked.
    package func contentPath() -> String? {
        guard opened?.store.isResting == false || KernelLocks.shared.holder(of: path) == nil else { return nil }
        // The round says why the store cannot be opened.
        return try? inspect { $0.content.path }
    }

    // MARK: The loop

    private func loop(_ wakes: WakeQueue, _ move: AsyncStream<Void>.Continuation) async {
        var state = DaemonState(wakes: wakes, receiptDelay: configuration.receiptDelay)
        var own: String?
        for await _ in wakes.signals {
            if Task.isCancelled { break }
            let start = ContinuousClock.now
            var wake = wakes.take()
            // Which peer this is, is asked anew each time: what it publishes itself is no news to it.
            if let opened { wake.leaveOut(opened.peer) }
            if wake.reasons.isEmpty { continue }
            if owesReturn, state.trouble == nil {
                // A watch found the store replaced, and may have opened it again: that has been no trouble here.
                state.trouble = .locked
                wake.reasons.insert(.full)
            }
            let (directory, inodes) = (stateDirectory, stateDirectory.inodes)
            var isAtWork = false
            defer {
                if isAtWork { endWork() }
                if let now = opened.map({ $0.content.peer($0.peer).path }), now != own {
                    if own != nil { move.yield() }
                    own = now
                }
            }
            do {
                if wake.reasons.contains(.request) { try await letGo(wakes) }
                state.schedule(wake.reasons)
                if isUntouched(by: wake) { continue }
                let isOnlyNoticed = wake.reasons.isSubset(of: [.local, .commit, .rest])
                if isOnlyNoticed, wake.reasons.contains(.rest) {
                    try rest(&state)
                    continue
                }
                try await checkIsFree(&state)
                state.postponeRest(unlessAsBefore: isOnlyNoticed ? RestingFiles(path) : nil)
                beginWork()
                isAtWork = true
                let result = try await respond(to: wake, &state)
                if wake.reasons.contains(.acknowledge) { try await acknowledge(nil) }
                state.noteReceipt(
                    isWritten: !wake.reasons.isDisjoint(with: [.acknowledge, .full]), isOwed: result != nil)
                guard let result else { continue }
                announce(result, of: wake, &state)
                try compareRows()
                if wake.reasons.contains(.full) { try await upkeep(compacts: state.isTimeToCompact()) }
                endWork()
                isAtWork = false
                // What arrives meanwhile is done together.
                try await Task.sleep(until: start + max(configuration.debounce, readers.spacing()))
            } catch is CancellationError {
                break
            } catch {
                let error = LogSyncError(wrapping: error, at: path)
                state.postponeRest()
                if state.holder != nil || error.isHeldAlone {
                    announceHolder(error, &state)
                } else if storeReturn?.isWaiting ?? false {
                    announceReturn(error, &state)
                } else if seenToken != nil, directory == stateDirectory, directory.isRemoved(since: inodes),
                    (try? directory.create()) != nil
                {
                    configuration.logger.notice(
                        "\(directory.path) was removed, and is made again: \(error.message)")
                    state.retrySoon()
                } else {
                    announce(error, &state)
                }
            }
        }
        state.stop()
        // Closed as by any program, which leaves one file where nobody else has it open.
        if opened?.store.isResting ?? false, KernelLocks.shared.holder(of: path) == nil { _ = try? inspect { $0.peer } }
        guard state.owesReceipt else { return }
        // In a task that is not cancelled. What cannot be said now is said at the next start.
        await Task { try? await acknowledge(nil) }.value
    }

    /// Does what a wake calls for. Returns nil where there was nothing to do.
    private func respond(to wake: Wake, _ state: inout DaemonState) async throws -> SyncResult? {
        if wake.reasons.contains(.full) { return try await round(.everything) }
        if !wake.reasons.isDisjoint(with: [.folder, .maintenance]) {
            let own = try wake.reasons.contains(.maintenance) ? [store().peer] : []
            return try await round([.scan, .publish, .import], .changes(in: wake.peers?.union(own)))
        }
        let (version, isPending) = try inspect { (try $0.store.dataVersion(), try $0.store.hasPendingChanges()) }
        guard isPending || version != state.version else { return nil }
        state.version = version
        let result = try await round(.publish)
        // Where there was nothing to publish, the container was not looked at, and may not be there.
        return result.published > 0 ? result : nil
    }

    // MARK: Rest

    /// Whether a wake is for writes that were none: of a store that was let go of, or a database that is no store, whose
    /// files are as they were. To look into a database wakes as a write does, when the look ends.
    private func isUntouched(by wake: Wake) -> Bool {
        guard wake.reasons.isSubset(of: [.local, .commit, .rest]) else { return false }
        if let opened { return opened.store.isUntouchedAtRest }
        return notReplicated.map { $0 == RestingFiles(path) } ?? false
    }

    /// Lets go of the store's files, so that a program that wants them for itself gets them.
    ///
    /// Where the program that has them open is this one, no other gets them anyway, and opening them again would delay the
    /// next commit and the next import.
    private func rest(_ state: inout DaemonState) throws {
        let isShared = KernelLocks.shared.isOpenElsewhere(path)
        guard state.noteRest(isShared: isShared) else { return }
        guard let opened, !opened.store.isResting, notifying == nil else { return }
        let now = PassingTime.nanosecondsSince1970()
        guard opened.isCurrent, var files = opened.store.restingFiles(now: now, standing: state.restingFiles) else {
            return state.postponeRest(unlessAsBefore: RestingFiles(path))
        }
        if files.hasLog, !isShared {
            // People copy a file that programs have closed, and put another in its place, which a log would spoil.
            do {
                guard try opened.store.emptyLog() else { return state.postponeRest() }
            } catch let error as LogSyncError where error.code == .ioError {
                // As where the disk is full. Programs that want the file for themselves are to get it all the same.
                configuration.logger.debug("the -wal of \(path) stays: \(error.message)")
            }
            // A write that comes next makes the log longer, however soon it comes; what has been copied is in the database.
            files = RestingFiles(path)
        }
        // What was written before that look is seen by this one, and what is written after it changes the files.
        guard try isRecorded(&state) else { return }
        try opened.store.rest(files)
    }

    /// Whether nothing is left to be recorded; else that comes first.
    private func isRecorded(_ state: inout DaemonState) throws -> Bool {
        let (version, isPending) = try inspect { (try $0.store.dataVersion(), try $0.store.hasPendingChanges()) }
        guard isPending || version != state.version ?? version else { return true }
        state.postponeRest()
        state.wakes.wake(.local)
        return false
    }

    /// Where the database was replaced while it was open here, says whether its rows are what was recorded of them.
    ///
    /// A program that wrote it before this replicator let go of it may have written on in the log of the database before,
    /// and SQLite has then taken pages of that for the new one's: rows that no trigger saw.
    /// Source: <https://www.sqlite.org/howtocorrupt.html>, section 1.4.
    private func compareRows() throws {
        guard isReplaced, storeReturn == nil, let differing = try inspect({ try $0.store.differingRows() }) else {
            return
        }
        isReplaced = false
        guard !differing.isEmpty else { return }
        let tables = differing.sorted { $0.key < $1.key }.map { "\($0.value.counted("row")) of \($0.key)" }
        let error = LogSyncError(
            .invalidStore,
            """
            \(path) was replaced while a program wrote it, and holds something else than was recorded: \
            \(tables.joined(separator: ", ")); all of that is kept, and no other peer has it
            """,
            help: "Look whether it is right; `logsync rescan \(path.asShellArgument)` records it", subject: .store(path)
        )
        configuration.logger.error("\(error)")
        hub.send(.error(store: path, error: error))
    }

    /// How often, and after which pauses, it is looked whether a program that lets nobody in does so for longer than a
    /// commit.
    private static let attempts = 5
    private static let attemptPause = Duration.milliseconds(50)

    /// Where the store is not open, looks first whether a program has it for itself: trying to open it would only wait.
    private func checkIsFree(_ state: inout DaemonState) async throws {
        guard opened?.store.isResting ?? true else { return }
        var count = state.holder == nil ? Self.attempts : 1
        while let process = KernelLocks.shared.holder(of: path) {
            count -= 1
            guard count > 0 else {
                state.holder = process
                throw LogSyncError.heldAlone(path, by: process)
            }
            try await Task.sleep(for: Self.attemptPause)
        }
        state.holder = nil
    }

    /// Said once: it is no trouble, and what the program writes is recorded when it lets go.
    private func announceHolder(_ error: LogSyncError, _ state: inout DaemonState) {
        state.fail()
        guard state.trouble != error.code else { return }
        state.trouble = error.code
        configuration.logger.notice(
            "\(error.message.replacing("; nothing was changed", with: "")); it is recorded and imported when that ends")
    }

    private func letGo(_ wakes: WakeQueue) async throws {
        if try await letGoWhereAsked() { wakes.wake(.full) }
    }

    /// After this many transactions published one by one, the own folder is maintained.
    private static let maintenanceInterval = 64

    // MARK: Announcing

    private func announce(_ result: SyncResult, of wake: Wake, _ state: inout DaemonState) {
        if state.succeed(wake.reasons), state.trouble != nil || !state.hasBegun {
            if state.trouble != nil { configuration.logger.notice("\(path) is in step again") }
            state.trouble = nil
            owesReturn = false
            state.hasBegun = true
            hub.send(.ready(store: path))
        }
        state.published += result.published
        if state.published >= Self.maintenanceInterval {
            state.published = 0
            state.wakes.wake(.maintenance)
        }
        guard result.held != state.held else { return }
        state.held = result.held
        for item in result.held {
            configuration.logger.notice(
                "\(path) holds \(item.peer.name):\(item.sequence) (\(item.reason.rawValue))",
                metadata: item.file.map { ["file": "\($0)"] })
        }
        hub.send(.held(store: path, items: result.held))
    }

    /// A store that was missing or replaced is there, and not yet to be opened: no trouble of its own, unless it lasts.
    private func announceReturn(_ error: LogSyncError, _ state: inout DaemonState) {
        state.retrySoon()
        state.trouble = state.trouble ?? error.code
        guard let span = storeReturn?.timeToSay() else { return }
        guard span >= StoreReturn.firstWarning else { return configuration.logger.notice("\(error.message)") }
        configuration.logger.warning(
            """
            \(path) was put into place \(span.components.seconds) seconds ago and is not opened yet: its files go on \
            changing, as if it were still being copied. What programs commit waits in it. Let them pause for two \
            seconds, or start the daemon anew where nothing is being copied
            """)
        hub.send(.unavailable(store: path, error: error))
    }

    /// How often it is looked whether the folder is there without which the database cannot become a store.
    private static let foundingPause = Duration.seconds(2)

    private func announce(_ error: LogSyncError, _ state: inout DaemonState) {
        // Nothing tells of a folder that is not there yet.
        state.fail(retryAfter: founding == nil ? nil : Self.foundingPause)
        if error.code == .noStore, let span = state.isTimeToMissStore() {
            configuration.logger.warning(
                """
                there has been no store at \(path) for \(span.components.seconds) seconds; it is watched for. \
                Check the path, where it is not to come
                """)
            hub.send(.unavailable(store: path, error: error))
        }
        guard state.trouble != error.code else { return }
        state.trouble = error.code
        configuration.logger.error("\(path): \(error)")
        if error.code == .containerUnavailable {
            hub.send(.unavailable(store: path, error: error))
        } else {
            hub.send(.error(store: path, error: error))
        }
    }
}
