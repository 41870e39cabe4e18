package import LogSyncModel

/// Why bytes could not be read as a log.
///
/// The cases call for different answers: wait for *incomplete*, hold and report *damaged*, hold *newer format* until this
/// program is upgraded, and *too large* until its user lets it in. Errors of a ``ByteSource`` itself are passed on as they are.
package enum LogFileError: Error, Hashable, Sendable {
    /// The file is shorter than its header says, or shorter than a header: it is probably still arriving.
    /// `expected` is nil where so little is there that the length cannot be known.
    case incomplete(found: Int, expected: Int?)
    /// Everything is there, and something in it is wrong.
    /// `offset` counts from the start of the file, or of the first block where blocks were read without a file.
    case damaged(_ what: String, offset: Int)
    /// Intact as far as can be told, and made by a newer version of logsync. Never guess at what it says.
    case newerFormat(_ what: String, offset: Int)
    /// It comes to more bytes than a file of its length may without being asked about (``Limits/expansion(ofFile:)``).
    case tooLarge(_ what: String, offset: Int)

    /// The error to show to people.
    ///
    /// - Parameter file: the file's name, or what else names these bytes.
    package func logSyncError(file: String) -> LogSyncError {
        switch self {
        case .incomplete:
            LogSyncError(
                .malformedLog, "\(file): \(description)", help: "It is read again when the rest of it has arrived")
        case .damaged:
            LogSyncError(
                .malformedLog, "\(file): \(description); nothing of it was imported",
                help: "Its owner writes it again at its next sync")
        case .newerFormat:
            LogSyncError(
                .newerFormat, "\(file): \(description); it is held, nothing of it was imported",
                help: "Upgrade logsync on this machine")
        case .tooLarge:
            LogSyncError(
                .malformedLog, "\(file): \(description); nothing of it was imported",
                help: "Where its author is to be trusted with it: logsync peers accept-size")
        }
    }
}

extension LogFileError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .incomplete(let found, let expected?): "incomplete: \(found) of \(expected) bytes are here"
        case .incomplete(let found, nil): "incomplete: only \(found) bytes are here"
        case .damaged(let what, let offset): "damaged at byte \(offset): \(what)"
        case .newerFormat(let what, let offset): "made by a newer version of logsync: \(what) at byte \(offset)"
        case .tooLarge(let what, let offset): "too large at byte \(offset): \(what)"
        }
    }
}
