import ArgumentParser
import Foundation
import InotifyEvents
import LogSync

/// The daemon.
struct Watch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Keep stores in step as things happen, in the foreground, until SIGTERM or SIGINT.",
        discussion: """
            With --json each event is a line: ready, didImport, held, unavailable or error. Stores that are missing or locked
            are tried again while the others go on. SIGTERM, SIGINT and SIGQUIT are its normal end, with code 0. SIGHUP has it
            read the configuration file anew.

            EXAMPLE
              logsync watch music.db notes.db --on-import 'notify-send Imported'
            """)

    @Argument(
        help: "The stores; without any, those of the configuration (LOGSYNC_STORES, separated by colons).",
        completion: .file())
    var stores: [String] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Look at the container at this interval instead of waiting for events (LOGSYNC_POLL).", valueName: "seconds"
        ), transform: Seconds.parse)
    var poll: Seconds?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How long to gather further events after the first (LOGSYNC_DEBOUNCE).", valueName: "milliseconds"),
        transform: Milliseconds.parse)
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

    func run() async throws {
        // NB: libdispatch ends the process where it cannot count its threads there. May go when it does without.
        guard access("/proc/self/stat", R_OK) == 0 else {
            throw LogSyncError(
                .configuration, "/proc is not there, and without it the daemon would not last; nothing was done",
                help: "Mount it: mount -t proc proc /proc")
        }
        // Before anything is open that could take the descriptors that it can use.
        InotifyFolderEvents.shared.prepare()
        try await Daemon { [self] in try plan() }.run()
    }

    private func plan() throws -> DaemonPlan {
        let session = try Session(common)
        let settings = session.settings
        var configuration = session.configuration()
        configuration.pollInterval = (poll ?? settings.poll)?.duration
        if let debounce = debounce ?? settings.debounce { configuration.debounce = debounce.duration }
        // In the order given, each once, also where another name of it is a link.
        var paths: [String] = []
        var places: Set<String> = []
        for store in (stores.isEmpty ? settings.stores : stores).map(Self.absolute)
        where places.insert(Self.place(store)).inserted {
            paths.append(store)
        }
        guard !paths.isEmpty else {
            throw LogSyncError(
                .usage, "no stores are given, and the configuration names none",
                help: "Name them after `logsync watch`, or as stores = [\"…\"] in the configuration file")
        }
        return DaemonPlan(
            session: session, stores: paths, configuration: configuration, onImport: onImport ?? settings.onImport,
            carrier: settings.carrier, metrics: metrics ?? settings.metrics)
    }

    private static func absolute(_ path: String) -> String {
        URL(fileURLWithPath: HomeDirectory.expand(path)).standardizedFileURL.path
    }

    /// Where a path leads; a path to nothing leads to itself.
    private static func place(_ path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
