import Foundation
import Synchronization

/// Who has databases locked, as the kernel lists it: nothing is opened for that, and nothing locked.
///
/// The list is that of all processes and files, and while the kernel writes it down nobody on the machine locks anything.
/// So one reading serves all stores of this process: for as long as who asks is content with, and at least for ten times
/// as long as it took, so that a daemon of many stores spends no more than a part of its time on it.
///
/// Source: `proc_locks(5)`, and <https://www.sqlite.org/walformat.html>, section 2.3: the writer locks byte 120 of the log's
/// index, or without a log the reserved byte of the database.
final class KernelLocks: Sendable {
    static let shared = KernelLocks()

    private struct Lock {
        let process: pid_t
        let device: Device
        let isWrite: Bool
        let bytes: ClosedRange<UInt64>
    }

    /// Of a file system, as the kernel numbers it.
    private struct Device: Hashable {
        let major: UInt64
        let minor: UInt64

        /// Source: `gnu_dev_major` in glibc's `sys/sysmacros.h`.
        init(_ number: dev_t) {
            let number = UInt64(number)
            major = number >> 8 & 0xFFF | number >> 32 & 0xFFFF_F000
            minor = number & 0xFF | number >> 12 & 0xFFFF_FF00
        }

        /// Two numbers with a colon between them.
        init?(text: ArraySlice<UInt8>, radix: UInt64) {
            let parts = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
            guard parts.count >= 2, let major = UInt64(text: parts[0], radix: radix),
                let minor = UInt64(text: parts[1], radix: radix)
            else { return nil }
            (self.major, self.minor) = (major, minor)
        }
    }

    private struct LockList {
        let start: ContinuousClock.Instant
        let cost: Duration
        /// By inode, of the databases and of the indexes.
        let locks: [UInt64: [Lock]]
        /// The file systems that are mounted; nil while nobody has asked.
        var mounted: Set<Device>?
    }

    private let list: @Sendable () -> [UInt8]
    private let mounts: @Sendable () -> [UInt8]
    private let last = Mutex<LockList?>(nil)

    /// How old a reading may be that tells of a transaction, of a database that is held alone, and of who reads.
    private static let writerAge = Duration.seconds(1)
    private static let holderAge = Duration.milliseconds(20)
    private static let readerAge = Duration.milliseconds(1)
    private static let costFactor = 10
    private static let logWriterByte: UInt64 = 120
    /// Who reads a log locks one of these.
    private static let logReaderBytes: ClosedRange<UInt64> = 123...127
    private static let logBytes: ClosedRange<UInt64> = 120...128
    /// All that SQLite locks of a database: PENDING, RESERVED and SHARED.
    private static let databaseBytes: ClosedRange<UInt64> = 0x4000_0000...0x4000_01FF
    /// The first of SQLite's SHARED bytes: who has locked that for writing lets nobody read.
    private static let sharedByte: UInt64 = 0x4000_0002
    /// SQLite's RESERVED_BYTE.
    private static let reservedByte: UInt64 = 0x4000_0001

    /// - Parameters:
    ///   - list: what the kernel lists, in the form of `/proc/locks`.
    ///   - mounts: what is mounted, in the form of `/proc/self/mountinfo`.
    init(
        list: @escaping @Sendable () -> [UInt8] = { KernelLocks.contents("/proc/locks") },
        mounts: @escaping @Sendable () -> [UInt8] = { KernelLocks.contents("/proc/self/mountinfo") }
    ) {
        self.list = list
        self.mounts = mounts
    }

    /// The process, other than this one, that has a write transaction open; nil where there is none, or that cannot be told.
    ///
    /// It is asked for every second, and one that ends sooner is no matter: so is a database that is held alone.
    func writer(of path: String) -> pid_t? {
        guard holder(of: path, age: Self.writerAge) == nil else { return nil }
        for (file, byte) in [(path + "-shm", Self.logWriterByte), (path, Self.reservedByte)] {
            let writer = locks(of: file, age: Self.writerAge).first { $0.isWrite && $0.bytes.contains(byte) }
            if let writer { return writer.process == getpid() ? nil : writer.process }
        }
        return nil
    }

    /// The process, other than this one, that has the database for itself; nil where there is none, or that cannot be told.
    func holder(of path: String) -> pid_t? { holder(of: path, age: Self.holderAge) }

    private func holder(of path: String, age: Duration) -> pid_t? {
        locks(of: path, age: age)
            .first { $0.isWrite && $0.bytes.contains(Self.sharedByte) && $0.process != getpid() }?.process
    }

    /// Whether another process is reading the database right now, through its log.
    func isRead(_ path: String) -> Bool {
        locks(of: path + "-shm", age: Self.readerAge)
            .contains { !$0.isWrite && $0.bytes.overlaps(Self.logReaderBytes) && $0.process != getpid() }
    }

    /// Whether any process, this one too, has the database open in a way that SQLite locks it for: through a log for as long
    /// as it is open, otherwise for as long as it reads or writes.
    func isInUse(_ path: String) -> Bool { isLocked(path) { _ in true } }

    /// The same, where this process has just closed it: what the kernel said before does not count.
    func isStillInUse(_ path: String) -> Bool {
        last.withLock { $0 = nil }
        return isInUse(path)
    }

    /// Whether another process has it open through its log; false also where that cannot be told.
    func isOpenElsewhere(_ path: String) -> Bool { isLocked(path) { $0 != getpid() } }

    private func isLocked(_ path: String, by isMeant: (pid_t) -> Bool) -> Bool {
        [(path, Self.databaseBytes), (path + "-shm", Self.logBytes)].contains { file, bytes in
            locks(of: file, age: Self.holderAge).contains { $0.bytes.overlaps(bytes) && isMeant($0.process) }
        }
    }

    // MARK: Reading

    private func locks(of path: String, age: Duration) -> [Lock] {
        var status = stat()
        guard stat(path, &status) == 0 else { return [] }
        return last.withLock { last in
            if last.map({ $0.start.duration(to: .now) >= max(age, $0.cost * Self.costFactor) }) ?? true {
                let start = ContinuousClock.now
                let locks = Self.parse(list())
                last = LockList(start: start, cost: start.duration(to: .now), locks: locks)
            }
            let locks = last?.locks[UInt64(status.st_ino)] ?? []
            // Files of two file systems may have one number.
            let device = Device(status.st_dev)
            guard locks.contains(where: { $0.device != device }) else { return locks }
            // On some, as btrfs, files have another device than the one that the kernel lists, and then no mount has it.
            let mounted = last?.mounted ?? Self.devices(mounts())
            last?.mounted = mounted
            return mounted.contains(device) ? locks.filter { $0.device == device } : locks
        }
    }

    /// What the kernel lists; without /proc nothing is known.
    private static func contents(_ path: String) -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        // It has no size, and comes in pieces.
        var bytes: [UInt8] = []
        let piece = 1 << 12
        while true {
            let start = bytes.count
            bytes.append(contentsOf: repeatElement(0, count: piece))
            let count = bytes.withUnsafeMutableBytes { Foundation.read(file, $0.baseAddress.map { $0 + start }, piece) }
            bytes.removeLast(piece - max(0, count))
            if count <= 0 { return bytes }
        }
    }

    /// Lines as `1: POSIX  ADVISORY  WRITE 4711 08:01:131 120 120`; one that is waited for has an arrow after the number.
    private static func parse(_ text: [UInt8]) -> [UInt64: [Lock]] {
        text.split(separator: UInt8(ascii: "\n")).reduce(into: [:]) { locks, line in
            let words = line.split(separator: UInt8(ascii: " "))
            guard words.count == 8, words[1].elementsEqual("POSIX".utf8), let process = pid_t(text: words[4]),
                process > 0, let device = Device(text: words[5], radix: 16),
                let inode = words[5].split(separator: UInt8(ascii: ":")).last.flatMap({ UInt64(text: $0) }),
                let first = UInt64(text: words[6])
            else { return }
            let last = words[7].elementsEqual("EOF".utf8) ? UInt64.max : UInt64(text: words[7]) ?? first
            guard first <= last else { return }
            let isWrite = words[3].elementsEqual("WRITE".utf8)
            locks[inode, default: []].append(
                Lock(process: process, device: device, isWrite: isWrite, bytes: first...last))
        }
    }
}

extension KernelLocks {
    /// The devices of what is mounted, as `36 35 98:0 /mnt1 /mnt2 rw,noatime …` lists them.
    ///
    /// Source: `proc_pid_mountinfo(5)`.
    private static func devices(_ mounts: [UInt8]) -> Set<Device> {
        Set(
            mounts.split(separator: UInt8(ascii: "\n")).compactMap { line in
                line.split(separator: UInt8(ascii: " ")).dropFirst(2).first.flatMap { Device(text: $0, radix: 10) }
            })
    }
}

extension FixedWidthInteger {
    /// A number in digits; nil where it is none.
    fileprivate init?(text: ArraySlice<UInt8>, radix: UInt64 = 10) {
        self.init(String(decoding: text, as: UTF8.self), radix: Int(radix))
    }
}
