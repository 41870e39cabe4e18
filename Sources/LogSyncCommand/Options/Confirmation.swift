import ArgumentParser
import Foundation
import LogSync

/// The consent that an irreversible subcommand needs: a flag, or a person at a terminal.
struct Confirmation: ParsableArguments {
    @Flag(help: "Do it without asking; needed where stdin is no terminal.")
    var yes = false

    /// Returns when there is consent.
    ///
    /// - Parameters:
    ///   - what: what is about to happen, as a sentence.
    ///   - command: the subcommand, for the way out.
    /// - Throws: `usage` where nobody can be asked; `interrupted` where the answer is not yes.
    func confirm(_ what: @autoclosure () async throws -> String, _ command: String) async throws {
        if yes { return }
        try check(command)
        Terminal.writeError("\(Terminal.printable(try await what())) Go on? [y/N] ")
        let answer = readLine() ?? ""
        guard ["y", "yes"].contains(answer.lowercased()) else {
            throw LogSyncError(
                .interrupted, "nothing was done", help: "Answer y, or give --yes, to do it")
        }
    }

    /// Throws `usage` at once where it will not be possible to ask.
    func check(_ command: String) throws {
        guard yes || isatty(STDIN_FILENO) == 1 else {
            throw LogSyncError(
                .usage, "logsync \(command) asks before it does anything, and stdin is no terminal",
                help: "Give --yes to do it without asking, or --dry-run to see what it would do")
        }
    }
}
