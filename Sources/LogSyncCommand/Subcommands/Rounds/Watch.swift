import ArgumentParser
import Foundation
import InotifyEvents
import LogSync
import Logging

/// The daemon.
struct Watch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Keep stores in step as things happen, in the foreground, until SIGTERM or SIGINT.",
        discussion: """
            With --json each event is a line: ready, didImport, held, unavailable, error or subscription; or omitted, in place
            of events that were left out because nobody read them. Stores that are missing or locked are tried again while the
            others go on. SIGTERM, SIGINT and SIGQUIT are its normal end, with code 0. SIGHUP has it read the configuration
            file anew.

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
        guard !stores.contains("") else {
            throw LogSyncError(
                .usage, "the path of a store is empty; nothing was done",
                help: "Look whether a variable of the shell has nothing in it")
        }
        // In the order given, each once, also where another name of it is a link, or in a folder that is mounted twice.
        var paths: [String] = []
        var known: [(path: String, place: StoreFile)] = []
        for path in (stores.isEmpty ? settings.stores : stores).map(Self.absolute) {
            let place = StoreFile(path)
            guard let first = known.first(where: { $0.place.isSame(as: place) }) else {
                paths.append(path)
                known.append((path, place))
                continue
            }
            if place.isHardLink(of: first.place) {
                session.logger.warning(
                    """
                    \(path) is a hard link to \(first.path), which alone is watched: SQLite keeps a -wal for each name, so \
                    that programs which use both names damage the database. Remove one of the names
                    """)
            }
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
}
