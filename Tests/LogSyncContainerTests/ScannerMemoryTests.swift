import Foundation
import LogSyncModel
import Testing

@testable import LogSyncContainer

@Suite("What one process found in the folder, the next goes by")
struct ScannerMemoryTests {
    let folder: TemporaryFolder
    let content: ContentFolder
    /// Past the time within which a change may leave a file's times as they are.
    let later: @Sendable () -> Int64 = { PassingTime.nanosecondsSince1970() + 10_000_000_000 }
    let file: LogFileName

    init() throws {
        folder = try TemporaryFolder()
        content = try makeContent(folder)
        file = try Self.publish(1, 3, in: content)
        let peer = content.peer(alice)
        try peer.write(
            PeerDescription(
                name: "laptop", created: 7, publicKey: [1, 2], succeeds: bob,
                schema: SchemaFingerprint(bytes: [UInt8](repeating: 5, count: 16)), without: [["note", "a"], ["tag"]]))
        _ = try peer.publishReceipt(
            .init(
                published: 3, chain: "c0ffee", imported: .init([alice: 3, bob: 4]),
                held: [.init(peer: bob, sequence: 9, file: "x.tlog", reason: "damaged")], collectionEpoch: 5),
            counter: 6, nonce: "n", written: 1000)
    }

    @discardableResult
    private static func publish(_ first: UInt64, _ last: UInt64, in content: ContentFolder) throws -> LogFileName {
        let bytes = logBytes("\(first) \(last)")
        let file = try Publisher(folder: content.peer(alice)).stage(LogFileName.self)
        try file.write(bytes)
        return try file.publish { LogFileName(first: first, last: last, fileHash: $0) }
    }

    private func scanner(_ clock: (@Sendable () -> Int64)? = nil) -> ContainerScanner {
        ContainerScanner(content: content, trustsDirectoryTimes: true, clock: clock ?? later)
    }

    /// What a process that scans the folder leaves to the next.
    private func memory(_ clock: (@Sendable () -> Int64)? = nil) throws -> RememberedPeer? {
        let scanner = scanner(clock)
        _ = try scanner.scan()
        return try scanner.remembered(alice, for: bob)
    }

    /// Scans as the next process does. Returns what it found, and the names of what it opened or listed for it.
    private func next(_ memory: RememberedPeer, full: Bool = false) throws -> (scan: ContainerScan, read: [String]) {
        let counting = FailingFileSystem()
        let content = ContentFolder(container: content.container, name: content.name, fileSystem: counting)
        let scanner = ContainerScanner(content: content, trustsDirectoryTimes: true, clock: later)
        scanner.recall([memory])
        let scan = try scanner.scan(full: full)
        return (scan, counting.calls.filter { ["open", "read", "list"].contains($0) })
    }

    @Test("A folder that stands as it stood is neither listed nor read")
    func unchanged() throws {
        let memory = try #require(try memory())
        let decoded = try #require(RememberedPeer(id: alice, decoding: memory.encoded()))
        let (scan, read) = try next(decoded)
        // The content folder and the peers' are listed, and the marker is read.
        #expect(read.filter { $0 == "list" }.count == 2)
        let whole = try scanner().scan()
        let plain = try #require(whole.peers[alice])
        let peer = try #require(scan.peers[alice])
        #expect(peer.logs == plain.logs && peer.logs.map(\.name) == [file])
        #expect(peer.snapshots == plain.snapshots && peer.schemas == plain.schemas && peer.blobs == plain.blobs)
        #expect(peer.description == plain.description && peer.receiptModified == plain.receiptModified)
        #expect(peer.receipt == .unread && peer.said == plain.said)
        #expect(peer.said?.held == plain.receipt.value?.content.held && peer.said?.collectionEpoch == 5)
        #expect(peer.imported(of: bob) == 4 && plain.imported(of: bob) == 4)
        #expect(peer.imported(of: alice) == 0, "nobody asked for it then")
        #expect(peer.overview.published == 3 && peer.overview.seenAt == plain.overview.seenAt)
        #expect(scan.changed == [alice])
    }

    @Test("A full scan lists and reads it nevertheless")
    func full() throws {
        let memory = try #require(try memory())
        let (scan, read) = try next(memory, full: true)
        #expect(read.filter { $0 == "list" }.count > 2)
        #expect(scan.peers[alice]?.receipt.value?.counter == 7)
    }

    enum Change: CaseIterable {
        case newLog, sameSizeAndTime, inPlace, noReceipt, noFolder
    }

    @Test("Any change shows", arguments: Change.allCases)
    func changed(_ change: Change) throws {
        let memory = try #require(try memory())
        let receipt = content.peer(alice).receiptPath
        let before = try FileManager.default.attributesOfItem(atPath: receipt)[.modificationDate] as? Date
        var status = stat()
        lstat(receipt, &status)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: receipt))
        var other = bytes
        other[bytes.count - 10] ^= 1
        switch change {
        case .newLog: try Self.publish(4, 4, in: content)
        case .sameSizeAndTime, .inPlace:
            // As a carrier does that sets the author's time.
            if change == .inPlace {
                let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: receipt))
                try handle.write(contentsOf: other)
                try handle.close()
            } else {
                try other.write(to: URL(fileURLWithPath: receipt), options: .atomic)
            }
            var times = [status.st_atim, status.st_mtim]
            #expect(utimensat(AT_FDCWD, receipt, &times, 0) == 0)
            #expect(before == (try FileManager.default.attributesOfItem(atPath: receipt)[.modificationDate] as? Date))
        case .noReceipt: try FileManager.default.removeItem(atPath: receipt)
        case .noFolder: try FileManager.default.removeItem(atPath: content.peer(alice).path)
        }
        let (scan, _) = try next(memory)
        let peer = scan.peers[alice]
        switch change {
        case .newLog: #expect(peer?.logs.count == 2 && peer?.receipt.value != nil)
        case .sameSizeAndTime, .inPlace: #expect(peer?.receipt == .damaged && peer?.said == nil)
        case .noReceipt: #expect(peer?.receipt == .missing && peer?.said == nil)
        case .noFolder: #expect(peer == nil)
        }
    }

    @Test("What was changed within a step of the clock before the look is not remembered")
    func racy() throws {
        #expect(try memory({ PassingTime.nanosecondsSince1970() }) == nil)
        let almost: @Sendable () -> Int64 = { PassingTime.nanosecondsSince1970() + 1_000_000_000 }
        #expect(try memory(almost) == nil)
    }

    @Test("Nor what cannot be read, or does not belong there")
    func doubtful() throws {
        let path = content.peer(alice).path
        let strange = "\(path)/logs/what.ever"
        try Data().write(to: URL(fileURLWithPath: strange))
        #expect(try memory() == nil)
        try FileManager.default.removeItem(atPath: strange)
        #expect(try memory() != nil)
        try Data("{".utf8).write(to: URL(fileURLWithPath: content.peer(alice).receiptPath))
        #expect(try memory() == nil)
    }

    @Test("Nor anything of a file system that other machines change")
    func remote() throws {
        let scanner = ContainerScanner(content: content, trustsDirectoryTimes: false, clock: later)
        _ = try scanner.scan()
        #expect(try scanner.remembered(alice, for: bob) == nil)
    }

    @Test("Bytes that are not what was left are nothing")
    func garbage() throws {
        let bytes = try #require(try memory()?.encoded())
        #expect(RememberedPeer(id: alice, decoding: []) == nil)
        for count in stride(from: 0, to: bytes.count, by: 7) {
            #expect(RememberedPeer(id: alice, decoding: Array(bytes.prefix(count))) == nil)
        }
        #expect(RememberedPeer(id: alice, decoding: bytes + [0]) == nil)
        for index in bytes.indices {
            var other = bytes
            other[index] ^= 0x80
            // Whatever comes of it, it comes to an end.
            _ = RememberedPeer(id: alice, decoding: other)
        }
    }
}
