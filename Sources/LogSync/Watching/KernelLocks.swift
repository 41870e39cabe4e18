import Foundation
import Synchronization

/// Who has databases locked for writing, as the kernel lists it: nothing is opened for that, and nothing locked.
///
/// Source: `proc_locks(5)`, and <https://www.sqlite.org/walformat.html>, section 2.3: the writer locks byte 120 of the log's
/// index, or without a log the reserved byte of the database.
final class KernelLocks: Sendable {
    static let shared = KernelLocks()

    private struct State {
        var read: ContinuousClock.Instant?
        /// By inode, of the databases and of the indexes.
        var writers: [UInt64: [(process: pid_t, bytes: ClosedRange<UInt64>)]] = [:]
    }

    private let state = Mutex(State())

    /// For how long a reading serves all stores of the process.
    private static let validity = Duration.seconds(1)
    private static let logWriterByte: UInt64 = 120
    /// SQLite's RESERVED_BYTE.
    private static let reservedByte: UInt64 = 0x4000_0001

    /// The process, other than this one, that has a write transaction open; nil where there is none, or that cannot be told.
    func writer(of path: String) -> pid_t? {
        let places = [(path + "-shm", Self.logWriterByte), (path, Self.reservedByte)]
        return state.withLock { state in
            if state.read.map({ $0.duration(to: .now) >= Self.validity }) ?? true {
                // Without /proc nothing is known.
                state.writers = Self.parse((try? String(contentsOfFile: "/proc/locks", encoding: .utf8)) ?? "")
                state.read = .now
            }
            for (file, byte) in places {
                var status = stat()
                guard stat(file, &status) == 0 else { continue }
                let found = state.writers[UInt64(status.st_ino)]?.first { $0.bytes.contains(byte) && $0.process > 0 }
                if let found { return found.process == getpid() ? nil : found.process }
            }
            return nil
        }
    }

    /// Lines as `1: POSIX  ADVISORY  WRITE 4711 08:01:131 120 120`; one that is waited for has an arrow after the number.
    private static func parse(_ text: String) -> [UInt64: [(process: pid_t, bytes: ClosedRange<UInt64>)]] {
        text.split(separator: "\n").reduce(into: [:]) { writers, line in
            let words = line.split(separator: " ")
            guard words.count == 8, words[1] == "POSIX", words[3] == "WRITE", let process = pid_t(words[4]),
                let inode = words[5].split(separator: ":").last.flatMap({ UInt64($0) }), let first = UInt64(words[6])
            else { return }
            let last = words[7] == "EOF" ? UInt64.max : UInt64(words[7]) ?? first
            guard first <= last else { return }
            writers[inode, default: []].append((process, first...last))
        }
    }
}
