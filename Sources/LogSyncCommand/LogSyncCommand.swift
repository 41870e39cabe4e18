import ArgumentParser
import Foundation
import LogSync
import LogSyncModel

/// The tool's entry: takes the command line apart, runs the subcommand, ends with its code.
@main
struct LogSyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logsync",
        abstract: "Replicates SQLite databases between machines through a shared folder.",
        discussion: """
            A store is a SQLite database that logsync replicates; a container is the shared folder.

            EXAMPLE
              logsync init notes.db --container ~/Sync --content notes
              logsync watch notes.db

            See `logsync SUBCOMMAND --help` for an example of each.
            """,
        version: Version.current,
        // Each says its name: argument-parser would make it of the type's on every run, which takes longer than all else there.
        subcommands: [
            Init.self, Clone.self, Sync.self, Import.self, Export.self, Watch.self, Status.self, List.self, Log.self,
            Show.self,
            Conflicts.self, Policy.self, Subscribe.self, KeyValue.self, Peers.self, Snapshot.self, Compact.self,
            Seed.self, Migrate.self, Move.self, Attach.self, Rescan.self, Rebuild.self, Doctor.self, Verify.self,
            Leave.self, Destroy.self, Recipes.self,
        ])

    static func main() async {
        if Arguments.given.first(where: { !$0.hasPrefix("-") }) == Watch._commandName { Interruption.prepareDaemon() }
        Allocation.givesLargeValuesBack()
        Allocation.leavesOutStatistics()
        Descriptors.raiseLimit()
        // Before anything is awaited: that begins threads, of which each opens files.
        do { try Descriptors.checkLimit() } catch { Foundation.exit(end(error, Arguments.given).rawValue) }
        // Who reads what is printed may end before: that is an error of printing, which an exit status tells.
        signal(SIGPIPE, SIG_IGN)
        let code = await run(Arguments.given)
        Terminal.finishErrors(within: errorPatience)
        Foundation.exit(code.rawValue)
    }

    /// How many seconds what was said last may take to be written, where a writer of its own does that.
    private static let errorPatience = 0.5

    private static func run(_ arguments: [String]) async -> ExitCode {
        do {
            guard Arguments.areText else {
                throw LogSyncError(
                    .usage, "an argument is no UTF-8; nothing was done",
                    help: "Paths are given in UTF-8; bytes that are no text are the value x'80ff', with --literal")
            }
            var command = try parseAsRoot(LiteralArgument.shielding(arguments))
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            return .success
        } catch {
            return end(error, arguments)
        }
    }

    /// Says what has ended a command, if it was an error.
    private static func end(_ error: any Error, _ arguments: [String]) -> ExitCode {
        let isJSON = arguments.prefix { $0 != "--" }.contains("--json")
        if let code = error as? ExitCode { return code }
        if let error = error as? LogSyncError {
            Complaint.print(error, isJSON: isJSON)
            return ExitCode(ExitStatus(error.code).rawValue)
        }
        if exitCode(for: error).isSuccess { return show(fullMessage(for: error)) }
        return complain(clearer(error, arguments), arguments, isJSON: isJSON)
    }

    /// Help and the version, which were asked for.
    private static func show(_ text: String) -> ExitCode {
        do {
            try Terminal.print(text)
            return .success
        } catch {
            return ExitCode(ExitStatus.ioError.rawValue)
        }
    }

    /// What may stand before the subcommand.
    private static let flags = ["--json", "--verbose", "-v", "--quiet", "-q"]

    /// Blames a subcommand that is none, instead of the options after it, which only a subcommand would know.
    private static func clearer(_ error: any Error, _ arguments: [String]) -> any Error {
        guard exitCode(for: error) == .validationFailure,
            let name = arguments.drop(while: flags.contains).first, !name.hasPrefix("-"), name != "help",
            !configuration.subcommands.contains(where: { $0._commandName == name })
        else { return error }
        do {
            _ = try parseAsRoot([name])
            return error
        } catch let other {
            return other
        }
    }

    /// What was most likely meant by a command line that is wrong.
    private static func suggestion(_ arguments: [String], _ message: String) -> String? {
        guard let name = arguments.drop(while: flags.contains).first, !name.hasPrefix("-") else { return nil }
        let names = configuration.subcommands.map { $0._commandName }
        if names.contains(name) {
            if let value = valueWithDash(arguments) {
                return "Where \(value) is a key or value, write -- before it, which ends the options."
            }
            let isPlace = ["init", "clone"].contains(name) && message.lowercased().contains("unexpected argument")
            return isPlace ? "The shared folder is given as --container DIR, and the content as --content NAME." : nil
        }
        if name == "version" { return "Did you mean 'logsync --version'?" }
        let longer = names.filter { name.count > 2 && $0.hasPrefix(name) }
        return (longer.count == 1 ? longer[0] : name.nearest(among: names)).map { "Did you mean 'logsync \($0)'?" }
    }

    /// The argument with a dash in front that is a key or value, if any is: then the rest is a command line.
    private static func valueWithDash(_ arguments: [String]) -> String? {
        guard LiteralArgument.mayBegin(withDash: arguments) else { return nil }
        let options = arguments.prefix { $0 != "--" }
        return options.indices.dropFirst(2).first { index in
            var others = arguments
            others[index] = " " + arguments[index]
            return options[index].hasPrefix("-") && (try? parseAsRoot(LiteralArgument.shielding(others))) != nil
        }.map { arguments[$0] }
    }

    private static func complain(_ error: any Error, _ arguments: [String], isJSON: Bool) -> ExitCode {
        var known = LogSyncError(describing: error)
        if exitCode(for: error) == .validationFailure {
            // The last line of what argument-parser would say names the help of the subcommand that was meant.
            let last = fullMessage(for: error).split(separator: "\n").last.map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            let help = last.flatMap { $0.hasPrefix("See '") ? $0 : nil }
            let text = message(for: error)
            known = LogSyncError(
                .usage, text,
                help: [suggestion(arguments, text), help].compactMap { $0 }.joined(separator: " "))
        }
        Complaint.print(known, isJSON: isJSON)
        return ExitCode(ExitStatus(known.code).rawValue)
    }
}
