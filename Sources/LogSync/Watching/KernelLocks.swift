import Foundation
import Synchronization

/// Who has databases locked, as the kernel lists it: nothing is opened for that, and nothing locked.
///
/// Source: `proc_locks(5)`, and <https://www.sqlite.org/walformat.html>, section 2.3: the writer locks byte 120 of the log's
/// index, or without a log the reserved byte of the database.
final class KernelLocks: Sendable {
    static let shared = KernelLocks()

    private struct State {
        var read: ContinuousClock.Instant?
        /// By inode, of the databases and of the indexes.
        var writers: Locks = [:]
    }

    private typealias Locks = [UInt64: [(process: pid_t, bytes: ClosedRange<UInt64>)]]

    private let state = Mutex(State())

    /// For how long a reading serves all stores of the process.
    private static let validity = Duration.seconds(1)
    private static let logWriterByte: UInt64 = 120
    /// Who reads a log locks one of these.
    private static let logReaderBytes: ClosedRange<UInt64> = 123...127
    /// The first of SQLite's SHARED bytes: who has locked that for writing lets nobody read.
    private static let sharedByte: UInt64 = 0x4000_0002
    /// SQLite's RESERVED_BYTE.
    private static let reservedByte: UInt64 = 0x4000_0001

    /// The process, other than this one, that has a write transaction open; nil where there is none, or that cannot be told.
    func writer(of path: String) -> pid_t? {
        let places = [(path + "-shm", Self.logWriterByte), (path, Self.reservedByte)]
        return state.withLock { state in
            if state.read.map({ $0.duration(to: .now) >= Self.validity }) ?? true {
                state.writers = Self.read("WRITE")
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

    /// The process, other than this one, that has the database for itself; nil where there is none, or that cannot be told.
    func holder(of path: String) -> pid_t? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return Self.read("WRITE", of: UInt64(status.st_ino))[UInt64(status.st_ino)]?
            .first { $0.bytes.contains(Self.sharedByte) && $0.process > 0 && $0.process != getpid() }?.process
    }

    /// Whether another process is reading the database right now, through its log.
    func isRead(_ path: String) -> Bool {
        var status = stat()
        guard stat(path + "-shm", &status) == 0 else { return false }
        return Self.read("READ", of: UInt64(status.st_ino))[UInt64(status.st_ino)]?
            .contains { $0.bytes.overlaps(Self.logReaderBytes) && $0.process != getpid() } ?? false
    }

    /// Without /proc nothing is known.
    ///
    /// - Parameter inode: the file that is asked for; nil for all.
    private static func read(_ kind: Substring, of inode: UInt64? = nil) -> Locks {
        let file = open("/proc/locks", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return [:] }
        defer { close(file) }
        // It has no size, and comes in pieces.
        var bytes: [UInt8] = []
        let piece = 1 << 12
        while true {
            let start = bytes.count
            bytes.append(contentsOf: repeatElement(0, count: piece))
            let count = bytes.withUnsafeMutableBytes { Foundation.read(file, $0.baseAddress.map { $0 + start }, piece) }
            bytes.removeLast(piece - max(0, count))
            if count <= 0 { break }
        }
        return parse(bytes, kind, of: inode)
    }

    /// Lines as `1: POSIX  ADVISORY  WRITE 4711 08:01:131 120 120`; one that is waited for has an arrow after the number.
    private static func parse(_ text: [UInt8], _ kind: Substring, of wanted: UInt64?) -> Locks {
        let mark = wanted.map { Array(":\($0) ".utf8) }
        return text.split(separator: UInt8(ascii: "\n")).reduce(into: [:]) { locks, line in
            // Most lines are other files', and there may be thousands.
            if let mark, line.firstRange(of: mark) == nil { return }
            let words = String(decoding: line, as: UTF8.self).split(separator: " ")
            guard words.count == 8, words[1] == "POSIX", words[3] == kind, let process = pid_t(words[4]),
                let inode = words[5].split(separator: ":").last.flatMap({ UInt64($0) }), let first = UInt64(words[6])
            else { return }
            let last = words[7] == "EOF" ? UInt64.max : UInt64(words[7]) ?? first
            guard first <= last else { return }
            locks[inode, default: []].append((process, first...last))
        }
    }
}
