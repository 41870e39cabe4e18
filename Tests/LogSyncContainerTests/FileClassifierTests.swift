import Foundation
import LogSyncModel
import Testing

@testable import LogSyncContainer

@Suite struct FileClassifierTests {
    let folder: TemporaryFolder
    let peer: PeerFolder
    let bytes = logBytes("some transactions")
    let time = ManualTime()

    init() throws {
        folder = try TemporaryFolder()
        peer = try makeContent(folder).peer(alice)
        try peer.create()
    }

    private func put(_ bytes: [UInt8], as name: LogFileName) throws {
        try folder.write(bytes, to: "notes/peers/\(alice)/logs/\(name)")
    }

    private func state(of bytes: [UInt8], named name: LogFileName) throws -> FileState {
        try put(bytes, as: name)
        return try FileClassifier(shape: testShape, now: time.now).classify(name, of: peer)
    }

    @Test func `Only a file whose length, hash and trailer agree is complete`() throws {
        let name = try #require(logName(1, 1, bytes))
        #expect(try state(of: bytes, named: name) == .complete)
        for length in bytes.indices {
            #expect(try state(of: Array(bytes[..<length]), named: name) == .incomplete, "\(length) bytes")
        }
        #expect(try state(of: bytes + [0], named: name) == .damaged)
        for index in bytes.indices where !(16..<24).contains(index) {
            var damaged = bytes
            damaged[index] ^= 1
            #expect(try state(of: damaged, named: name) == .damaged, "byte \(index)")
        }
        // Room made in advance and nothing written yet.
        #expect(try state(of: Array(repeating: 0, count: bytes.count), named: name) == .incomplete)
    }

    @Test func `A file that is not there yet is incomplete`() throws {
        let classifier = FileClassifier(shape: testShape, now: time.now)
        #expect(try classifier.classify(try #require(logName(1, 1, bytes)), of: peer) == .incomplete)
    }

    @Test func `Bytes that their name confirms but no format does are foreign`() throws {
        let other = Array("OTHERLOG and more than a header's length".utf8)
        #expect(try state(of: other, named: try #require(logName(1, 1, other))) == .foreign)
        let short = Array("short".utf8)
        #expect(try state(of: short, named: try #require(logName(1, 1, short))) == .foreign)
        let badTrailer = Array(bytes.dropLast(4)) + Array("GONE".utf8)
        #expect(try state(of: badTrailer, named: try #require(logName(1, 1, badTrailer))) == .foreign)
    }

    @Test func `A file longer than a chunk is hashed whole`() throws {
        let long = logBytes(String(repeating: "0123456789", count: 300_000))
        let name = try #require(logName(1, 1, long))
        #expect(try state(of: long, named: name) == .complete)
        var damaged = long
        damaged[2_500_000] ^= 1
        #expect(try state(of: damaged, named: name) == .damaged)
    }

    @Test func `A complete file is read once, a doubtful one until it has stood still`() throws {
        let recording = FailingFileSystem()
        let watched = ContentFolder(container: folder.path, name: try .notes, fileSystem: recording).peer(alice)
        let classifier = FileClassifier(shape: testShape, now: time.now)
        func opens() throws -> Int { recording.calls.filter { $0 == "open" }.count }
        let good = try #require(logName(1, 1, bytes))
        try put(bytes, as: good)
        for _ in 0..<3 { #expect(try classifier.classify(good, of: watched) == .complete) }
        #expect(try opens() == 1)

        let bad = try #require(logName(2, 2, bytes))
        try put(Array(repeating: 7, count: bytes.count), as: bad)
        let modified = try FileManager.default.attributesOfItem(atPath: peer.path(bad))[.modificationDate]
        #expect(try classifier.classify(bad, of: watched) == .damaged)
        // Filled within the same tick of the clock: the status is the same.
        let handle = try #require(FileHandle(forWritingAtPath: peer.path(bad)))
        try handle.write(contentsOf: Data(bytes))
        try handle.close()
        try FileManager.default.setAttributes(
            [.modificationDate: try #require(modified)], ofItemAtPath: peer.path(bad))
        #expect(try classifier.classify(bad, of: watched) == .complete)
    }

    @Test func `A damaged file that has stood still is read again only on a full scan`() throws {
        let recording = FailingFileSystem()
        let watched = ContentFolder(container: folder.path, name: try .notes, fileSystem: recording).peer(alice)
        let classifier = FileClassifier(shape: testShape, now: time.now)
        let name = try #require(logName(2, 2, bytes))
        try put(Array(repeating: 7, count: bytes.count), as: name)
        for _ in 0..<3 {
            #expect(try classifier.classify(name, of: watched) == .damaged)
            time.advance(.seconds(2))
        }
        let opens = recording.calls.filter { $0 == "open" }.count
        #expect(try classifier.classify(name, of: watched) == .damaged)
        #expect(recording.calls.filter { $0 == "open" }.count == opens)
        classifier.forgetDoubts()
        #expect(try classifier.classify(name, of: watched) == .damaged)
        #expect(recording.calls.filter { $0 == "open" }.count == opens + 1)
        try put(bytes, as: name)
        #expect(try classifier.classify(name, of: watched) == .complete)
    }

    @Test func `A file that cannot be read gets no verdict`() throws {
        let name = try #require(logName(1, 1, bytes))
        try put(bytes, as: name)
        let counting = FailingFileSystem()
        _ = try FileClassifier(shape: testShape).classify(
            name, of: ContentFolder(container: folder.path, name: try .notes, fileSystem: counting).peer(alice))
        #expect(counting.calls.count > 3)
        for failing in 1...counting.calls.count {
            let broken = FailingFileSystem(plan: .fail(EIO), failing: failing)
            let watched = ContentFolder(container: folder.path, name: try .notes, fileSystem: broken).peer(alice)
            let classifier = FileClassifier(shape: testShape, now: time.now)
            #expect { try classifier.classify(name, of: watched) } throws: { ($0 as? LogSyncError)?.code == .ioError }
            #expect(try classifier.classify(name, of: watched) == .complete)
        }
    }

    @Test func `A symbolic link, a directory and a FIFO are foreign`() throws {
        let name = try #require(logName(1, 1, bytes))
        let path = peer.path(name)
        let classifier = FileClassifier(shape: testShape, now: time.now)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/etc/passwd")
        #expect(try classifier.classify(name, of: peer) == .foreign)
        try FileManager.default.removeItem(atPath: path)
        #expect(mkfifo(path, 0o600) == 0)
        #expect(try classifier.classify(name, of: peer) == .foreign)
    }
}
