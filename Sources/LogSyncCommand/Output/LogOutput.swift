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
        let time = Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded()))
        let line = Line(
            time: time, level: event.level.rawValue, message: event.message.description,
            metadata: all.mapValues(\.description))
        if format == .json, let text = try? JSONText.line(line) {
            Terminal.writeError(text + "\n")
        } else {
            let pairs = line.metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
            let text = "\(time) \(line.level) \(line.message)" + pairs.joined()
            Terminal.writeError(Terminal.printable(text) + "\n")
        }
    }
}
