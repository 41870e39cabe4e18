import ArgumentParser
import Foundation
import LogSync
import Logging

/// How log lines are written.
enum LogOutputFormat: String, ExpressibleByArgument, CaseIterable {
    case text, json
}

/// Writes log lines to stderr.
struct LogOutput: LogHandler {
    var metadataProvider: Logger.MetadataProvider?
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level
    let format: LogOutputFormat
    /// Whether stderr leads to systemd's journal, which takes a line's priority from its beginning.
    private static let isJournal = leadsToJournal(
        STDERR_FILENO, stream: ProcessInfo.processInfo.environment["JOURNAL_STREAM"])

    init(format: LogOutputFormat, level: Logger.Level) {
        self.format = format
        logLevel = level
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    private struct Line: Encodable {
        let format = 1
        var time: Timestamp
        var level: String
        var message: String
        var metadata: [String: String]

        private enum CodingKeys: String, CodingKey {
            case format, time, level, message, metadata
        }
    }

    func log(event: LogEvent) {
        var all = metadata
        all.merge(metadataProvider?.get() ?? [:]) { $1 }
        all.merge(event.metadata ?? [:]) { $1 }
        if let error = event.error { all["error"] = "\(error)" }
        Terminal.writeError(text(event.level, event.message.description, all))
    }

    /// A line of the log.
    func text(_ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata = [:]) -> String {
        let time = Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded()))
        // What has no value says nothing.
        let metadata = metadata.mapValues(\.description).filter { !$0.value.isEmpty }
        let line = Line(time: time, level: level.rawValue, message: message, metadata: metadata)
        if format == .json, let text = try? JSONText.line(line) { return Self.priority(level) + text + "\n" }
        let pairs = line.metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
        let text = "\(time) \(line.level) \(line.message)" + pairs.joined()
        return Self.priority(level) + Terminal.printable(text) + "\n"
    }

    /// Source: <https://www.freedesktop.org/software/systemd/man/latest/sd-daemon.html>.
    private static func priority(_ level: Logger.Level) -> String {
        guard isJournal else { return "" }
        return switch level {
        case .trace, .debug: "<7>"
        case .info: "<6>"
        case .notice: "<5>"
        case .warning: "<4>"
        case .error: "<3>"
        case .critical: "<2>"
        }
    }

    /// A process may inherit the variable and have its stderr led elsewhere, so device and inode are compared.
    private static func leadsToJournal(_ descriptor: CInt, stream: String?) -> Bool {
        var status = stat()
        guard let stream, fstat(descriptor, &status) == 0 else { return false }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }
}
