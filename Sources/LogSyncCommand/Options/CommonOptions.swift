import ArgumentParser
import Foundation
import LogSync
import LogSyncContainer
import Logging

/// What every subcommand takes.
struct CommonOptions: ParsableArguments {
    @Flag(help: "Print one JSON document; errors on stderr are JSON too.")
    var json = false

    @Flag(name: .shortAndLong, help: "Say on stderr what is being done.")
    var verbose = false

    @Flag(name: .shortAndLong, help: "Say nothing but errors and what was asked for.")
    var quiet = false

    @Option(help: ArgumentHelp("How log lines on stderr are written: text or json.", valueName: "format"))
    var logFormat: LogOutputFormat?

    @Option(
        help: ArgumentHelp(
            "The configuration file; otherwise $XDG_CONFIG_HOME/logsync/config.toml.", valueName: "file"),
        completion: .file())
    var config: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How long to wait for a daemon, another logsync or a long writer, then end with 75; 10 unless told (LOGSYNC_WAIT).",
            valueName: "seconds"), transform: WaitingTime.parse)
    var wait: WaitingTime?

    @Option(
        help: ArgumentHelp(
            "An extension of SQLite to load before a database is read; may be repeated (LOGSYNC_LOAD_EXTENSION).",
            valueName: "file[:entry]"),
        completion: .file())
    var loadExtension: [String] = []

    func validate() throws {
        if verbose, quiet { throw ValidationError("--verbose and --quiet exclude each other.") }
    }

    /// Runs a subcommand until it ends or SIGINT or SIGTERM ends it, and ends the process with its code.
    ///
    /// - Throws: `ExitCode` where that is not 0.
    func run(_ body: @escaping @Sendable (Session) async throws -> ExitStatus) async throws {
        let session = try Session(self)
        let silence = Task { await FolderSilence(session.folderCalls, logger: session.logger).watch() }
        defer { silence.cancel() }
        let status = try await Interruption.watch(isJSON: json) { try await body(session) }
        if status != .done { throw ExitCode(status.rawValue) }
    }
}

/// What a subcommand runs with.
struct Session: Sendable {
    let settings: Settings
    /// Whether stdout is read by a program.
    let isJSON: Bool
    /// Whether people want to read no more than they must.
    let isQuiet: Bool
    let logger: Logger
    /// How the lines of the log are written.
    let logOutput: LogOutput
    /// How long to wait for locks; nil for the library's choice.
    let wait: WaitingTime?
    let extensions: [LoadableExtension]
    /// What is being asked of shared folders.
    let folderCalls = PendingCalls()

    init(_ options: CommonOptions) throws {
        try self.init(options, settings: Settings(file: options.config))
    }

    init(_ options: CommonOptions, settings: Settings) {
        self.settings = settings
        wait = options.wait ?? settings.wait
        extensions = (options.loadExtension.isEmpty ? settings.loadExtension : options.loadExtension)
            .map(LoadableExtension.init(argument:))
        isJSON = options.json
        isQuiet = !options.verbose && (options.quiet || settings.quiet ?? false)
        let isVerbose = !options.quiet && (options.verbose || settings.verbose ?? false)
        let format = options.logFormat ?? settings.logFormat ?? (options.json ? .json : .text)
        let level: Logger.Level = isVerbose ? .debug : isQuiet ? .error : .notice
        let logOutput = LogOutput(format: format, level: level)
        self.logOutput = logOutput
        logger = Logger(label: "logsync") { _ in logOutput }
    }

    /// Prints a report: as one JSON document, or as the lines that people get unless they asked for quiet.
    func report(_ report: some Encodable, lines: () -> [String]) throws {
        if isJSON {
            try Terminal.print(JSONText.line(report))
        } else if !isQuiet {
            for line in lines() { try Terminal.print(line) }
        }
    }

    /// Prints what was asked for, quiet or not.
    func answer(_ answer: some Encodable, lines: () -> [String]) throws {
        let lines = isJSON ? [try JSONText.line(answer)] : lines()
        for line in lines { try Terminal.print(line) }
    }

    /// Does something to each store, whatever becomes of the others, and returns what was made of stores that went
    /// well, and the gravest code.
    func forEach<Result: Sendable>(
        of stores: [String], _ body: (String) async throws -> (Result, ExitStatus)
    ) async throws -> ([Result], ExitStatus) {
        var results: [Result] = []
        var worst = ExitStatus.done
        for store in stores {
            do {
                let (result, status) = try await body(store)
                results.append(result)
                worst = max(worst, status)
            } catch let error as CancellationError {
                throw error
            } catch {
                let error = LogSyncError(describing: error)
                Complaint.print(error, isJSON: isJSON)
                worst = max(worst, ExitStatus(error.code))
            }
        }
        return (results, worst)
    }
}

extension LoadableExtension {
    /// Takes `FILE` or `FILE:ENTRY`. The path is made absolute: no search path decides which library it is.
    fileprivate init(argument: String) {
        var (file, entry) = (argument, String?.none)
        if !FileManager.default.fileExists(atPath: argument), let colon = argument.lastIndex(of: ":") {
            file = String(argument[..<colon])
            entry = String(argument[argument.index(after: colon)...])
        }
        self.init(file: URL(fileURLWithPath: HomeDirectory.expand(file)).path, entry: entry)
    }
}
