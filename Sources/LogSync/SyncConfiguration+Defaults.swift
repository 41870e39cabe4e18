import Foundation
import Logging

extension SyncConfiguration {
    /// A program that embeds a library does not expect to read of what went well.
    static var defaultLogger: Logger {
        var logger = Logger(label: "logsync")
        logger.logLevel = .notice
        return logger
    }

    /// `$STATE_DIRECTORY`, else `$XDG_STATE_HOME/logsync`, else `~/.local/state/logsync`.
    ///
    /// systemd may give several directories, separated by colons; the first is taken.
    public static var defaultStateDirectory: String {
        let environment = ProcessInfo.processInfo.environment
        if let given = environment["STATE_DIRECTORY"]?.split(separator: ":").first { return String(given) }
        if let home = environment["XDG_STATE_HOME"], home.hasPrefix("/") { return home + "/logsync" }
        return HomeDirectory.path(environment) + "/.local/state/logsync"
    }

    /// The content of `/etc/machine-id`; nil where it is missing or not 32 hex digits.
    public static var currentMachineID: String? {
        // A machine without the file (many containers) is an unknown machine, not an error.
        guard let text = try? String(contentsOfFile: "/etc/machine-id", encoding: .utf8) else { return nil }
        let id = text.trimmingCharacters(in: .whitespacesAndNewlines)
        return id.utf8.count == 32 && id.allSatisfy(\.isHexDigit) ? id.lowercased() : nil
    }
}
