import Foundation
import LogSync
import TOMLKit

/// The configuration file: TOML, every key checked.
enum SettingsFile {
    /// - Parameters:
    ///   - path: the file that was asked for; nil for the default one.
    /// - Returns: what is said, and the file that says it; nil where there is no default one.
    /// - Throws: `configuration`.
    static func read(
        _ path: String?, environment: [String: String]
    ) throws -> (found: [Settings.Key: GivenSetting], file: String?) {
        let file = path ?? defaultPath(environment)
        let text: String
        do {
            text = try String(contentsOfFile: file, encoding: .utf8)
        } catch {
            if path == nil, isAbsent(file) { return ([:], nil) }
            throw LogSyncError(
                .configuration, "the configuration file \(file) cannot be read: \(reason(error))",
                help: "Name another with --config")
        }
        // NB: TOMLKit reads a text up to its first NUL. May go when it does not.
        if let end = text.utf8.firstIndex(of: 0) {
            let line = text.utf8[..<end].count { $0 == UInt8(ascii: "\n") } + 1
            throw LogSyncError(
                .configuration,
                "the configuration file \(file) is not TOML: line \(line) has a NUL byte, as what a crash has left of a file",
                help: "Write it anew, or name another with --config")
        }
        do {
            return (try settings(TOMLTable(string: text), file: file), file)
        } catch let error as TOMLParseError {
            throw LogSyncError(
                .configuration, "the configuration file \(file) is not TOML: \(error.debugDescription)",
                help: "Correct it, or name another with --config")
        }
    }

    /// Whether nothing is at a path, which a folder that this user may not enter does not say.
    private static func isAbsent(_ file: String) -> Bool {
        guard access(file, F_OK) != 0 else { return false }
        // Before anything else is asked of the system, such as memory.
        let number = errno
        return number == ENOENT || number == ENOTDIR
    }

    /// `$XDG_CONFIG_HOME/logsync/config.toml`.
    static func defaultPath(_ environment: [String: String]) -> String {
        // The XDG Base Directory Specification: a relative path is to be ignored.
        if let home = environment["XDG_CONFIG_HOME"], home.hasPrefix("/") { return home + "/logsync/config.toml" }
        return HomeDirectory.path(environment) + "/.config/logsync/config.toml"
    }

    private static func settings(_ table: TOMLTable, file: String) throws -> [Settings.Key: GivenSetting] {
        try settings(table, file: file, within: "")
    }

    /// - Parameter prefix: of the keys of a table within the file, with its dot.
    private static func settings(
        _ table: TOMLTable, file: String, within prefix: String
    ) throws -> [Settings.Key: GivenSetting] {
        var found: [Settings.Key: GivenSetting] = [:]
        for name in table.keys.sorted().map({ prefix + $0 }) {
            let inner = Settings.Key.allCases.contains { $0.rawValue.hasPrefix(name + ".") }
            if inner, let table = table[name]?.table {
                found.merge(try settings(table, file: file, within: name + ".")) { $1 }
                continue
            }
            guard let key = Settings.Key(rawValue: name) else {
                throw LogSyncError(
                    .configuration, "the configuration file \(file) has the unknown key \(name.debugDescription)",
                    help: "The keys are " + Settings.Key.allCases.map(\.rawValue).sorted().joined(separator: ", "))
            }
            guard let value = table[String(name.dropFirst(prefix.count))], let text = text(value, kind: key.kind) else {
                throw LogSyncError(
                    .configuration,
                    "the key \(name.debugDescription) in the configuration file \(file) has the wrong "
                        + "type: it takes \(key.kind.rawValue)", help: "Correct it, or name another file with --config")
            }
            found[key] = GivenSetting(
                text: text, list: list(value), source: "the key \(name.debugDescription) in \(file)")
        }
        return found
    }

    private static func text(_ value: any TOMLValueConvertible, kind: SettingKind) -> String? {
        switch kind {
        case .text: value.string
        case .number: value.int.map { String($0) } ?? value.double.map { String($0) }
        case .boolean: value.bool.map { String($0) }
        case .list: list(value)?.joined(separator: ":")
        }
    }

    /// The texts of a list; nil where it is none, or holds something else.
    static func list(_ value: any TOMLValueConvertible) -> [String]? {
        guard let array = value.array else { return nil }
        let texts = array.compactMap(\.string)
        return texts.count == array.count ? texts : nil
    }

    static func reason(_ error: any Error) -> String {
        guard let cause = (error as? CocoaError)?.underlying as? POSIXError else { return error.localizedDescription }
        return String(cString: strerror(cause.code.rawValue))
    }
}
