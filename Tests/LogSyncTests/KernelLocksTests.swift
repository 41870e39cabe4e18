import Foundation
import Synchronization
import Testing

@testable import LogSync

/// What the kernel lists of all processes' locks is read for all stores together.
@Suite struct KernelLocksTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("logsync-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

    /// A kernel's list, and how often it was asked for.
    private final class Kernel: Sendable {
        private let state = Mutex((lines: "", count: 0))
        let delay: UInt32

        /// - Parameter delay: how long it takes to write the list down, in microseconds.
        init(delay: UInt32 = 0) { self.delay = delay }

        var count: Int { state.withLock { $0.count } }

        func set(_ lines: String) { state.withLock { $0.lines = lines } }

        func list() -> [UInt8] {
            usleep(delay)
            return state.withLock { state in
                state.count += 1
                return Array(state.lines.utf8)
            }
        }
    }

    /// Files of that name, and the inode of each.
    private func file(_ name: String) throws -> (path: String, inode: UInt64) {
        let path = folder.appendingPathComponent(name).path
        try Data().write(to: URL(fileURLWithPath: path))
        var status = stat()
        try #require(stat(path, &status) == 0)
        return (path, UInt64(status.st_ino))
    }

    @Test func `who writes, who reads and who has a store for itself`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let (store, index) = (try file("a.db"), try file("a.db-shm"))
        let kernel = Kernel()
        func locks() -> KernelLocks { KernelLocks(list: kernel.list, mounts: { [] }) }
        #expect(locks().writer(of: store.path) == nil && locks().holder(of: store.path) == nil)
        #expect(!locks().isRead(store.path))
        kernel.set(
            """
            1: POSIX  ADVISORY  READ 4711 08:01:\(index.inode) 128 128
            1: -> POSIX  ADVISORY  WRITE 4712 08:01:\(index.inode) 120 120
            2: FLOCK  ADVISORY  WRITE 4713 08:01:\(store.inode) 0 EOF
            3: POSIX  ADVISORY  WRITE \(getpid()) 08:01:\(store.inode) 1073741826 1073742335
            4: OFDLCK ADVISORY  READ -1 08:01:\(index.inode) 124 124
            nonsense

            """)
        #expect(locks().writer(of: store.path) == nil && locks().holder(of: store.path) == nil)
        #expect(!locks().isRead(store.path))
        kernel.set("1: POSIX  ADVISORY  READ 4711 08:01:\(index.inode) 124 124\n")
        #expect(locks().isRead(store.path))
        kernel.set("1: POSIX  ADVISORY  WRITE 4711 08:01:\(index.inode) 120 120\n")
        #expect(locks().writer(of: store.path) == 4711 && !locks().isRead(store.path))
        kernel.set("1: POSIX  ADVISORY  WRITE 4711 08:01:\(store.inode) 1073741825 1073741825\n")
        #expect(locks().writer(of: store.path) == 4711 && locks().holder(of: store.path) == nil)
        kernel.set("1: POSIX  ADVISORY  WRITE 4711 08:01:\(store.inode) 1073741824 EOF\n")
        #expect(locks().holder(of: store.path) == 4711)
        // Told of as that, and not as a transaction.
        #expect(locks().writer(of: store.path) == nil)
    }

    @Test func `a file of another file system is another's, whatever its number`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try file("a.db")
        var status = stat()
        try #require(stat(store.path, &status) == 0)
        let (major, minor) = (status.st_dev >> 8 & 0xFFF, status.st_dev & 0xFF | status.st_dev >> 12 & 0xFFF00)
        let kernel = Kernel()
        func holder(_ mounts: String) -> pid_t? {
            KernelLocks(list: kernel.list, mounts: { Array(mounts.utf8) }).holder(of: store.path)
        }
        let mounts = """
            21 1 259:7 / / rw,relatime - ext4 /dev/root rw
            22 21 \(major):\(minor) / /srv rw,relatime shared:1 - ext4 /dev/sdb rw

            """
        kernel.set("1: POSIX  ADVISORY  WRITE 4711 103:07:\(store.inode) 1073741824 EOF\n")
        #expect(holder(mounts) == nil)
        // As on btrfs, whose files have a device that no mount has.
        #expect(holder("21 1 259:7 / / rw,relatime - btrfs /dev/root rw\n") == 4711)
        let own = "\(String(major, radix: 16)):\(String(minor, radix: 16))"
        kernel.set("1: POSIX  ADVISORY  WRITE 4712 \(own):\(store.inode) 1073741824 EOF\n")
        #expect(holder(mounts) == 4712)
        #expect(KernelLocks(list: kernel.list).holder(of: store.path) == 4712)
    }

    @Test func `one reading serves all stores, and a dear one for ten times as long as it took`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let stores = try (0..<100).map { try file("\($0).db") }
        let kernel = Kernel(delay: 100_000)
        let locks = KernelLocks(list: kernel.list, mounts: { [] })
        for store in stores { #expect(locks.holder(of: store.path) == nil && locks.writer(of: store.path) == nil) }
        for store in stores { #expect(!locks.isRead(store.path)) }
        let few = kernel.count
        // Without that there would be four hundred, and with the age alone one each 20 ms.
        #expect(few < 10)
        kernel.set("1: POSIX  ADVISORY  WRITE 4711 08:01:\(stores[7].inode) 1073741824 EOF\n")
        var isFound = false
        for _ in 1...1000 where !isFound {
            isFound = locks.holder(of: stores[7].path) == 4711
            usleep(10_000)
        }
        #expect(isFound)
        #expect(kernel.count > few)
    }
}
