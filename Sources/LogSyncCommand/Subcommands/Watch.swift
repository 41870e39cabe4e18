import ArgumentParser
import Dispatch
import Foundation
import LogSync
import Logging
import ServiceLifecycle
import UnixSignals

/// The daemon.
struct Watch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Keep stores in step as things happen, in the foreground, until SIGTERM or SIGINT.",
        discussion: """
            With --json each event is a line: ready, didImport, held, unavailable or error. Stores that are missing or locked
            are tried again while the others go on. SIGTERM and SIGINT are its normal end, with code 0.

            EXAMPLE
              logsync watch music.db notes.db --on-import 'notify-send Imported'
            """)

    @Argument(help: "The stores.")
    var stores: [String]

    @Option(
        help: ArgumentHelp(
            "Look at the container at this interval instead of waiting for events (LOGSYNC_POLL).", valueName: "seconds"
        ))
    var poll: Seconds?

    @Option(
        help: ArgumentHelp(
            "How long to gather further events after the first (LOGSYNC_DEBOUNCE).", valueName: "milliseconds"))
    var debounce: Milliseconds?

    @Option(
        help: ArgumentHelp(
            "Run this by 'sh -c' after imports, with their events as JSON on stdin, a line each (LOGSYNC_ON_IMPORT).",
            valueName: "command"))
    var onImport: String?

    @Option(
        help: ArgumentHelp(
            "Serve metrics for Prometheus at http://ADDRESS:PORT/metrics (LOGSYNC_METRICS).", valueName: "address:port")
    )
    var metrics: ListenAddress?

    @OptionGroup var common: CommonOptions

    /// How long the daemon may take to end; nothing is lost where it takes longer.
    private static let patience = DispatchTimeInterval.seconds(15)

    func run() async throws {
        // That a reader has ended is to be an error of writing, which ends the daemon in order.
        signal(SIGPIPE, SIG_IGN)
        let session = try Session(common)
        // In the order given, each once.
        var paths: [String] = []
        for store in stores.map(Self.absolute) where !paths.contains(store) { paths.append(store) }

        let hook = (onImport ?? session.settings.onImport).map { ImportHook($0, logger: session.logger) }
        let counts = Metrics(stores: paths)
        let readiness = Readiness(stores: paths, logger: session.logger)
        let audience = Audience()
        let printer = EventPrinter(session: session, audience: audience)
        var configuration = session.configuration()
        configuration.pollInterval = (poll ?? session.settings.poll)?.duration
        if let debounce = debounce ?? session.settings.debounce { configuration.debounce = debounce.duration }

        let watches = paths.map { [configuration] path in
            StoreWatch(
                store: path,
                make: { try Replicator(store: path, configuration: configuration, opensNow: false) },
                onChange: { counts.setReplicator($0, of: path) },
                onEvent: { event in
                    printer.print(event)
                    counts.count(event, of: path)
                    readiness.settle(path)
                    if let hook, case .didImport = event, let line = try? JSONText.line(event) { hook.add(line) }
                })
        }
        // Ended in reverse order: the stores first, and the command last, which then gets what they still imported.
        var services: [any Service] = hook.map { [$0] } ?? []
        if let address = metrics ?? session.settings.metrics {
            let server = try MetricsServer(address, text: counts.text)
            session.logger.notice("metrics are served at http://\(server.address)/metrics")
            services.append(server)
        }
        services.append(
            WatchedStores(watches: watches) {
                readiness.stopping()
                DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) {
                    hook?.kill()
                    Foundation.exit(audience.error.map { ExitStatus($0.code).rawValue } ?? 0)
                }
            })
        try await Self.serve(services, audience, session)
        if let error = audience.error { throw error }
    }

    private static func serve(_ services: [any Service], _ audience: Audience, _ session: Session) async throws {
        var logger = session.logger
        // The group reports each service's coming and going.
        logger.logLevel = max(logger.logLevel, .warning)
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: services.map { .init(service: $0) }
                    + [.init(service: audience, successTerminationBehavior: .gracefullyShutdownGroup)],
                gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
        try await group.run()
    }

    private static func absolute(_ path: String) -> String {
        URL(fileURLWithPath: path).standardizedFileURL.path
    }
}
