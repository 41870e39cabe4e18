import ArgumentParser
import LogSync

/// Where the content is, and what this peer is called there.
struct ContentOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The shared folder (LOGSYNC_CONTAINER).", valueName: "dir"), completion: .directory)
    var container: String?

    @Option(
        help: ArgumentHelp(
            "The name that says which data set this is, the same on every peer (LOGSYNC_CONTENT).", valueName: "name"))
    var content: String?

    @Option(
        help: ArgumentHelp("This peer's name for people; otherwise the host's (LOGSYNC_PEER).", valueName: "name"))
    var peer: String?

    /// - Throws: `usage` where neither a flag nor the configuration names them.
    func container(in session: Session) throws -> String {
        try required(container ?? session.settings.container, "container", "DIR")
    }

    func content(in session: Session) throws -> String {
        try required(content ?? session.settings.content, "content", "NAME")
    }

    func peer(in session: Session) -> String? {
        peer ?? session.settings.peer
    }
}

/// An option that a flag or the configuration has to give.
///
/// - Throws: `usage` where neither does.
func required(_ value: String?, _ option: String, _ placeholder: String) throws -> String {
    guard let value else {
        throw LogSyncError(
            .usage, "--\(option) \(placeholder) is missing",
            help: "Give the option, or set LOGSYNC_\(option.uppercased())")
    }
    return value
}
