import Foundation
import LogSync

/// The standard streams, and what may be shown on them.
enum Terminal {
    /// Whether stdout may have colour: a terminal that knows it, and nobody said `NO_COLOR` (<https://no-color.org>).
    static let hasColor: Bool = {
        let environment = ProcessInfo.processInfo.environment
        return isatty(STDOUT_FILENO) == 1 && environment["NO_COLOR", default: ""].isEmpty
            && environment["TERM"] != "dumb"
    }()

    /// Whether progress may be shown on stderr.
    static let showsProgress = isatty(STDERR_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"

    /// Writes a line to stdout in one piece, so that the reader of a pipe gets it at once.
    ///
    /// - Throws: `ioError` where stdout takes nothing more, as on a full disk; ``noReader`` where nobody reads it any more.
    static func print(_ line: String) throws {
        try write(line + "\n")
    }

    static func write(_ text: String) throws { try write(Array(text.utf8)) }

    static func write(_ bytes: [UInt8]) throws {
        guard write(bytes, to: STDOUT_FILENO) else { throw failure(errno) }
    }

    /// The program that read stdout has ended.
    static let noReader = failure(EPIPE)

    /// Waits until the program that reads stdout has ended.
    ///
    /// - Parameter timeout: for how many milliseconds; negative for as long as that takes.
    /// - Returns: whether it has ended; false at once where stdout is no pipe.
    static func awaitEndOfReader(timeout: CInt) -> Bool {
        var status = stat()
        guard fstat(STDOUT_FILENO, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else { return false }
        var polled = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        var count: CInt = -1
        repeat { count = poll(&polled, 1, timeout) } while count < 0 && errno == EINTR
        return count > 0 && polled.revents & Int16(POLLERR) != 0
    }

    private static func failure(_ number: CInt) -> LogSyncError {
        LogSyncError(.ioError, "stdout could not be written: \(String(cString: strerror(number)))")
    }

    /// Writes to stderr. There is nowhere to report that this failed.
    static func writeError(_ text: String) { writeError(Array(text.utf8)) }

    static func writeError(_ bytes: [UInt8]) {
        _ = write(bytes, to: STDERR_FILENO)
    }

    private static func write(_ bytes: [UInt8], to descriptor: CInt) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                // A terminal or pipe that another program made non-blocking is waited for.
                if errno == EAGAIN {
                    var poller = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    poll(&poller, 1, -1)
                } else if errno != EINTR {
                    return false
                }
            } else {
                rest = rest.dropFirst(count)
            }
        }
        return true
    }

    /// What a peer, a table or a file calls itself, without the control characters that would move the cursor.
    static func printable(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var shown = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": shown += "\\n"
            case "\r": shown += "\\r"
            case "\t": shown += "\\t"
            case _ where isControl(scalar): shown += "\\u{\(String(scalar.value, radix: 16))}"
            default: shown.unicodeScalars.append(scalar)
            }
        }
        return shown
    }

    static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        // Format characters include the ones that reverse the direction of what follows.
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }

    enum Style: String {
        case bold = "1"
        case dim = "2"
        case red = "31"
        case yellow = "33"
    }

    static func styled(_ text: String, _ style: Style) -> String {
        hasColor && !text.isEmpty ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }
}
