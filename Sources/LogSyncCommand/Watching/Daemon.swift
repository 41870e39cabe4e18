import Dispatch
import Foundation
import LogSync
import LogSyncModel
import Logging
import ServiceLifecycle
import Synchronization
import UnixSignals

/// Watches stores until it is told to end, and does another plan's work from when SIGHUP has it read the configuration anew.
final class Daemon: Sendable {
    private struct State {
        var plan: DaemonPlan
        /// Of the configuration; stores are watched anew where it has changed.
        var revision = 0
        var server: MetricsServer?
        /// Waits for the address at which metrics are to be served.
        var retry: Task<Void, Never>?

        func stopMetrics() {
            server?.stop()
            retry?.cancel()
        }
    }

    private let state: Mutex<State>
    private let counts = Metrics()
    private let readiness: Readiness
    private let audience = Audience()
    private let output: OutputWriter
    private let hook: ImportHook
    private let carrier: CarrierHooks
    private let stores: WatchedStores
    /// What the configuration says now.
    private let read: @Sendable () throws -> DaemonPlan

    /// How long the daemon may take to end; nothing is lost where it takes longer.
    private static let patience = DispatchTimeInterval.seconds(15)
    /// After how long it is tried again to serve metrics at an address that is taken.
    private static let metricsPause = Duration.seconds(5)
    /// How many seconds what was said last may take to be written when the daemon ends.
    private static let outputPatience = 0.5

    /// - Parameter read: makes the plan, at first and at each SIGHUP.
    /// - Throws: what `read` throws; `configuration` where metrics cannot be served; `ioError` where the limit on open files
    ///   leaves no room for a single store.
    init(read: @escaping @Sendable () throws -> DaemonPlan) throws {
        let plan = try read()
        let limit = Descriptors.count
        if let first = plan.stores.first, Descriptors.storeCount(within: limit) == 0 {
            throw Descriptors.refusal(first, limit: limit)
        }
        self.read = read
        state = Mutex(State(plan: plan))
        Terminal.setErrorWriter(EventPrinter.errorWriter(plan.session))
        let output = EventPrinter.writer(plan.session, audience)
        self.output = output
        let readiness = Readiness(stores: plan.stores, logger: plan.session.logger)
        self.readiness = readiness
        let hook = ImportHook(plan.onImport, logger: plan.session.logger) { [counts] in
            counts.countRun(of: .onImport, isDone: $0)
        }
        self.hook = hook
        let carrier = CarrierHooks(plan.carrier, logger: plan.session.logger) { [counts] hook, isDone in
            counts.countRun(of: hook, isDone: isDone)
        }
        self.carrier = carrier
        stores = WatchedStores { [audience] in
            readiness.stopping()
            DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) {
                hook.kill()
                carrier.kill()
                Terminal.finishErrors(within: Self.outputPatience)
                Foundation.exit(audience.error.map { ExitStatus($0.code).rawValue } ?? 0)
            }
        }
        if let address = plan.metrics { try serveMetrics(at: address, plan.session) }
    }

    /// Runs until SIGTERM, SIGINT or SIGQUIT, or until nobody reads what it prints.
    func run() async throws {
        let plan = state.withLock { $0.plan }
        watch(plan, revision: 0)
        var logger = plan.session.logger
        // The group reports each service's coming and going.
        logger.logLevel = max(logger.logLevel, .warning)
        // Ended in reverse order: the stores first, and the command last, which then gets what they still imported.
        let services: [any Service] =
            [carrier, hook, stores, Reload(daemon: self)] + [Watchdog(readiness)].compactMap { $0 }
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: services.map { .init(service: $0) }
                    + [.init(service: audience, successTerminationBehavior: .gracefullyShutdownGroup)],
                gracefulShutdownSignals: [.sigterm, .sigint, .sigquit], logger: logger))
        defer { state.withLock { $0 }.stopMetrics() }
        try await group.run()
        output.finish(within: Self.outputPatience)
        if let error = audience.error { throw error }
    }

    // MARK: Reading the configuration anew

    /// Reads the configuration anew at each SIGHUP.
    private struct Reload: Service {
        let daemon: Daemon

        func run() async throws {
            let signals = await UnixSignalsSequence(trapping: .sighup)
            if Interruption.takeHangup() { daemon.reload() }
            for await _ in signals.cancelOnGracefulShutdown() { daemon.reload() }
        }
    }

    /// Does what the configuration now says; where it is wrong, goes on as before.
    private func reload() {
        let former = state.withLock { $0.plan }
        let next: DaemonPlan
        do {
            next = try read()
        } catch {
            former.session.logger.error(
                "The configuration was not read anew, and what it said before holds: \(LogSyncError(describing: error))"
            )
            return
        }
        let isChanged = !next.session.settings.isSame(as: former.session.settings)
        let revision = state.withLock { state in
            state.plan = next
            if isChanged { state.revision += 1 }
            return state.revision
        }
        hook.change(to: next.onImport, logger: next.session.logger)
        carrier.change(to: next.carrier, logger: next.session.logger)
        if next.metrics != former.metrics { moveMetrics(to: next.metrics, next.session) }
        watch(next, revision: revision)
        if let lost = former.session.settings.file, next.session.settings.file == nil {
            next.session.logger.warning("the configuration file \(lost) is gone, and what it said holds no more")
        }
        let changes = next.changes(since: former).map { "; \($0)" }.joined()
        next.session.logger.notice(
            "The configuration was read anew: \(next.stores.count.counted("store is", "stores are")) watched\(changes)")
    }

    private func moveMetrics(to address: ListenAddress?, _ session: Session) {
        guard let address else {
            return state.withLock { state in
                state.stopMetrics()
                (state.server, state.retry) = (nil, nil)
            }
        }
        do {
            try serveMetrics(at: address, session)
        } catch {
            session.logger.error("\(LogSyncError(describing: error)); they are served where they were")
        }
    }

    /// Serves metrics there from now on, or from when the address is free: nobody's replication is to end for them.
    private func serveMetrics(at address: ListenAddress, _ session: Session) throws {
        do {
            try beginMetrics(at: address, session)
        } catch let error as LogSyncError where error.code == .locked {
            session.logger.error("\(error); it is tried again, and the stores go on")
            let retry = Task { [weak self] in
                // A sleep fails when the task is cancelled, and only then.
                while (try? await Task.sleep(for: Self.metricsPause)) != nil {
                    // The address is still taken.
                    guard let self, (try? self.beginMetrics(at: address, session)) == nil else { return }
                }
            }
            state.withLock { state in
                state.retry?.cancel()
                state.retry = retry
            }
        }
    }

    private func beginMetrics(at address: ListenAddress, _ session: Session) throws {
        let server = try MetricsServer(address, text: counts.text)
        server.start()
        state.withLock { state in
            state.stopMetrics()
            (state.server, state.retry) = (server, nil)
        }
        session.logger.notice("metrics are served at http://\(server.address)/metrics")
    }

    // MARK: Stores

    private func watch(_ plan: DaemonPlan, revision: Int) {
        let limit = Descriptors.count
        let count = Descriptors.storeCount(within: limit)
        counts.setStores(plan.stores, hooks: Hook.allCases.filter { plan.command(of: $0) != nil })
        readiness.setStores(plan.stores)
        let notes = WorkNotes(stateDirectory: plan.configuration.stateDirectory)
        let watched = Array(plan.stores.prefix(count))
        let setBacks = notes.takeUp(watched)
        stores.watch(watched.map { watch($0, plan, revision: revision, notes, setBacks[$0]) })
        let printer = EventPrinter(session: plan.session, audience: audience, output: output)
        for store in plan.stores.dropFirst(count) {
            let error = Descriptors.refusal(store, limit: limit)
            plan.session.logger.error("\(error)")
            take(.error(store: store, error: error), of: store, printer)
        }
    }

    private func watch(
        _ store: String, _ plan: DaemonPlan, revision: Int, _ notes: WorkNotes, _ setBack: StoreStatus.SetBack?
    ) -> StoreWatch {
        let printer = EventPrinter(session: plan.session, audience: audience, output: output)
        var configuration = plan.configuration
        configuration.didChangeFile = { [carrier] in carrier.noteChange(of: $0) }
        configuration.didChangeWork = { notes.note(store, isAtWork: $0) }
        return StoreWatch(
            store: store, revision: revision,
            make: { [configuration] in try Replicator(store: store, configuration: configuration, opensNow: false) },
            onChange: { [counts] in counts.setReplicator($0, of: store) },
            onEvent: { [self] in take($0, of: store, printer) },
            onReady: { [carrier] in carrier.noteFiles(in: $0) },
            subscriptions: SubscriptionServer(store: store, printer: printer, logger: plan.session.logger) {
                [counts] in counts.countRun(ofSubscription: $0, of: store, isDone: $1)
            },
            logger: plan.session.logger, notes: notes, setBack: setBack,
            onSetBack: { [counts, readiness] setBack in
                counts.setSetBack(setBack != nil, of: store)
                guard let setBack else { return plan.session.logger.notice("\(store) is watched again") }
                let text =
                    "the daemon ended while it was working on it, \(setBack.ends) times in a row; it is left alone until "
                    + "\(setBack.until), and the other stores go on"
                readiness.leaveAlone(store, because: text)
                plan.session.logger.error("\(store): \(text). logsync verify may say which file it is")
            })
    }

    private func take(_ event: ReplicationEvent, of store: String, _ printer: EventPrinter) {
        printer.print(event)
        counts.count(event, of: store)
        readiness.take(event, of: store)
        if case .didImport = event, let line = try? JSONText.line(event) { hook.add(line) }
    }
}
