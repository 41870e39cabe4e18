import Foundation
import LogSync
import Synchronization

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

    static func write(_ bytes: [UInt8]) throws { try write(bytes, to: STDOUT_FILENO) }

    /// Writes all of it, and waits until it is taken.
    ///
    /// - Throws: as ``print(_:)``.
    static func write(_ bytes: [UInt8], to descriptor: CInt) throws {
        guard writeAll(bytes, to: descriptor) else { throw failure(errno, of: descriptor) }
    }

    /// Whether it leads to a file, which keeps its writer waiting for no reader.
    static func isFile(_ descriptor: CInt) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
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

    private static func failure(_ number: CInt, of descriptor: CInt = STDOUT_FILENO) -> LogSyncError {
        let name = descriptor == STDERR_FILENO ? "stderr" : "stdout"
        return LogSyncError(.ioError, "\(name) could not be written: \(String(cString: strerror(number)))")
    }

    /// What writes to stderr in a process that is not to wait for its reader; nil in any other.
    private static let errorWriter = Mutex<OutputWriter?>(nil)

    /// Has another write to stderr from now on.
    static func setErrorWriter(_ writer: OutputWriter) { errorWriter.withLock { $0 = writer } }

    /// Waits until all that was said on stderr is written, or that many seconds have passed.
    static func finishErrors(within seconds: Double) { errorWriter.withLock { $0 }?.finish(within: seconds) }

    /// Writes to stderr. There is nowhere to report that this failed.
    static func writeError(_ text: String) { writeError(Array(text.utf8)) }

    static func writeError(_ bytes: [UInt8]) {
        if let writer = errorWriter.withLock({ $0 }) {
            try? writer.write(bytes)
        } else {
            _ = writeAll(bytes, to: STDERR_FILENO)
        }
    }

    private static func writeAll(_ bytes: [UInt8], to descriptor: CInt) -> Bool {
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
