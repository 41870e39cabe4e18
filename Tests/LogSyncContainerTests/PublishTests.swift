import Foundation
import LogSyncModel
import Testing

@testable import LogSyncContainer

@Suite struct PublishTests {
    let folder: TemporaryFolder
    let bytes = logBytes("three transactions")

    init() throws {
        folder = try TemporaryFolder()
        _ = try makeContent(folder)
    }

    private func publisher(_ fileSystem: any FileSystem = PosixFileSystem(), staging: String? = nil) throws -> Publisher
    {
        let content = ContentFolder(container: folder.path, name: try .notes, fileSystem: fileSystem)
        return Publisher(folder: content.peer(alice), stagingDirectory: staging)
    }

    private func publish(_ publisher: Publisher) throws -> LogFileName {
        let file = try publisher.stage(LogFileName.self)
        try file.write(Array(bytes[..<10]))
        try file.write(Array(bytes[10...]))
        return try file.publish { LogFileName(first: 1, last: 3, fileHash: $0) }
    }

    private var logs: [String] {
        get throws { try folder.files().filter { $0.hasPrefix("notes/peers/") } }
    }

    @Test func `A published file has the name of its bytes, and reads back`() throws {
        let publisher = try publisher()
        let name = try publish(publisher)
        #expect(name.description == "000000000001-000000000003-\(StreamingHash.of(bytes)).tlog")
        #expect(try logs == ["notes/peers/\(alice)/logs/\(name)"])
        #expect(try publisher.folder.verify(name) == .intact)
        #expect(try publisher.folder.read(name, limit: 1000) == bytes)
        #expect(throws: LogSyncError.self) { try publisher.folder.read(name, limit: 10) }
    }

    @Test func `A hash in a name is the beginning of the SHA-256`() {
        // printf abc | sha256sum
        #expect(StreamingHash.of(Array("abc".utf8)).description == "ba7816bf8f01cfea414140de5dae2223")
    }

    @Test func `Publishing the same again changes nothing`() throws {
        let publisher = try publisher()
        let name = try publish(publisher)
        let path = publisher.folder.path(name)
        let before = try PosixFileSystem().status(path, followingLinks: false)
        #expect(try publish(publisher) == name)
        #expect(try PosixFileSystem().status(path, followingLinks: false) == before)
        #expect(try logs.count == 1)
    }

    @Test func `Publishing mends a damaged file of the same name`() throws {
        let publisher = try publisher()
        let name = try publish(publisher)
        var damaged = bytes
        damaged[30] ^= 1
        for wrong in [damaged, Array(bytes.dropLast()), []] {
            try Data(wrong).write(to: URL(fileURLWithPath: publisher.folder.path(name)))
            #expect(try publisher.folder.verify(name) == .damaged)
            #expect(try publish(publisher) == name)
            #expect(try publisher.folder.verify(name) == .intact)
        }
    }

    @Test func `What is staged stays outside the container where the file system is the same`() throws {
        let state = try TemporaryFolder()
        let publisher = try publisher(staging: state.path)
        let file = try publisher.stage(LogFileName.self)
        try file.write(bytes)
        #expect(try logs == [])
        #expect(try state.files().count == 1)
        let name = try file.publish { LogFileName(first: 1, last: 3, fileHash: $0) }
        #expect(try state.files() == [])
        #expect(try publisher.folder.verify(name) == .intact)
    }

    @Test func `What is staged lies beside its place under a dot-name where the file systems differ`() throws {
        guard FileManager.default.isWritableFile(atPath: "/dev/shm") else { return }
        let state = try TemporaryFolder(in: "/dev/shm")
        let device = { (path: String) in try PosixFileSystem().status(path, followingLinks: true).device }
        try #require(try device(state.path) != device(folder.path))
        let publisher = try publisher(staging: state.path)
        let file = try publisher.stage(LogFileName.self)
        #expect(try state.files() == [])
        let staged = try #require(try logs.first)
        #expect(staged.contains("/.logsync-\(alice)-"))
        #expect(staged.hasSuffix(".tmp"))
        file.discard()
        #expect(try logs == [])
    }

    @Test func `A rename that turns out to cross file systems is made up for by copying`() throws {
        let state = try TemporaryFolder()
        var failing = FailingFileSystem(plan: .fail(EXDEV), failing: 1)
        failing.onlyOperations = ["rename"]
        let publisher = try publisher(failing, staging: state.path)
        let name = try publish(publisher)
        #expect(try publisher.folder.verify(name) == .intact)
        #expect(try state.files() == [])
        #expect(try logs.count == 1)
    }

    @Test func `A file let go of unpublished leaves nothing`() throws {
        try { try publisher().stage(LogFileName.self).write(bytes) }()
        #expect(try logs == [])
    }

    @Test func `A name that does not fit the bytes is refused and nothing is visible`() throws {
        let file = try publisher().stage(LogFileName.self)
        try file.write(bytes)
        #expect { try file.publish { _ in logName(1, 3, [1, 2, 3]) } } throws: {
            ($0 as? LogSyncError)?.code == .cannotCreate
        }
        #expect(try logs == [])
    }

    @Test func `Permissions follow the umask`() throws {
        let name = try publish(try publisher())
        let path = try publisher().folder.path(name)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        let mask = umask(0)
        umask(mask)
        #expect(mode == 0o666 & ~Int(mask))
    }

    /// How many calls publishing makes when all goes well, with folders that are there already.
    private func countOfCalls(staging: String?) throws -> Int {
        let counting = FailingFileSystem()
        _ = try publish(try publisher(counting, staging: staging))
        try FileManager.default.removeItem(atPath: try publisher().folder.path(of: LogFileName.self))
        try publisher().folder.create()
        return counting.calls.count
    }

    @Test(arguments: [ENOSPC, EIO, EROFS, EACCES, ESTALE], [true, false])
    func `A failure at any step leaves the whole file or none, nothing staged, and a retry succeeds`(
        number: CInt, staged: Bool
    ) throws {
        let state = try TemporaryFolder()
        let staging = staged ? state.path : nil
        let count = try countOfCalls(staging: staging)
        #expect(count > 15)
        for failing in 1...count {
            let broken = FailingFileSystem(plan: .fail(number), failing: failing)
            do {
                _ = try publish(try publisher(broken, staging: staging))
            } catch let error as LogSyncError {
                #expect(error.help != nil)
                if number == ENOSPC { #expect(error.message.contains("disk full")) }
            }
            try checkAndRetry(state, "failing call \(failing) of \(count): \(broken.calls.last ?? "")")
        }
    }

    @Test func `A torn write leaves nothing, and a retry succeeds`() throws {
        for failing in 1...2 {
            var broken = FailingFileSystem(plan: .tear(ENOSPC), failing: failing)
            broken.onlyOperations = ["write"]
            #expect { try publish(try publisher(broken)) } throws: { ($0 as? LogSyncError)?.code == .ioError }
            #expect(try logs == [])
        }
        _ = try publish(try publisher())
    }

    @Test(arguments: [true, false])
    func `A process that dies at any step leaves the whole file or none, and the next start tidies up`(
        staged: Bool
    ) throws {
        let state = try TemporaryFolder()
        let staging = staged ? state.path : nil
        let count = try countOfCalls(staging: staging)
        for failing in 1...count {
            let dying = FailingFileSystem(plan: .die, failing: failing)
            #expect(throws: LogSyncError.self) { try publish(try publisher(dying, staging: staging)) }
            try publisher(staging: state.path).removeStaleFiles(now: staged ? Self.now : Self.later)
            try checkAndRetry(state, "dying at call \(failing) of \(count)")
        }
    }

    private static var now: Int64 { PassingTime.nanosecondsSince1970() }
    private static var later: Int64 { now + 3_601_000_000_000 }

    @Test func `What others may be staging stays for an hour, what this store staged in its own directory does not`()
        throws
    {
        let state = try TemporaryFolder()
        let (own, others) = (".logsync-\(alice)-0000000000000000.tmp", ".logsync-\(bob)-0000000000000000.tmp")
        let inFolder = "notes/peers/\(alice)/logs/\(own)"
        let publisher = try publisher(staging: state.path)
        try publisher.folder.create()
        for name in [own, others, "0123", ".logsync-notes.db"] { try state.write("", to: name) }
        try folder.write("", to: inFolder)
        publisher.removeStaleFiles(now: Self.now)
        #expect(try state.files() == [others, ".logsync-notes.db", "0123"])
        #expect(try folder.files().contains(inFolder))
        publisher.removeStaleFiles(now: Self.later)
        #expect(try state.files() == [".logsync-notes.db", "0123"])
        #expect(try !folder.files().contains(inFolder))
    }

    @Test func `A file staged for another's folder goes by the name of the store that staged it`() throws {
        let state = try TemporaryFolder()
        let content = ContentFolder(container: folder.path, name: try .notes)
        let forBob = Publisher(folder: content.peer(bob), stagingDirectory: state.path, stager: alice)
        let file = try forBob.stage(LogFileName.self)
        Publisher(folder: content.peer(bob), stagingDirectory: state.path).removeStaleFiles()
        #expect(try state.files().count == 1, "bob's own store leaves it")
        file.discard()
    }

    private func checkAndRetry(_ state: TemporaryFolder, _ when: String) throws {
        let visible = try logs
        #expect(visible.count <= 1, "\(when): \(visible)")
        #expect(try state.files() == [], "\(when)")
        let name = try #require(logName(1, 3, bytes))
        for path in visible {
            #expect(path.hasSuffix("/logs/\(name)"), "\(when)")
            #expect(try publisher().folder.verify(name) == .intact, "\(when)")
        }
        #expect(try publish(try publisher()) == name)
        #expect(try publisher().folder.verify(name) == .intact, "\(when)")
        try publisher().folder.remove(name)
        #expect(try publisher().folder.verify(name) == .missing)
    }

    @Test func `The staged file is synchronized before it is renamed, and the directory after`() throws {
        let recording = FailingFileSystem()
        _ = try publish(try publisher(recording))
        let calls = recording.calls.filter {
            ["write", "synchronize", "close", "rename", "synchronizeDirectory"].contains($0)
        }
        #expect(calls.suffix(6) == ["write", "write", "synchronize", "close", "rename", "synchronizeDirectory"])
    }

    @Test func `Removing a file that is not there is no error`() throws {
        let name = try #require(logName(1, 3, bytes))
        try publisher().folder.remove(name)
    }

    @Test func `A symbolic link in place of a published file is not followed`() throws {
        let publisher = try publisher()
        let name = try publish(publisher)
        let path = publisher.folder.path(name)
        try FileManager.default.moveItem(atPath: path, toPath: folder.path + "/elsewhere")
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: folder.path + "/elsewhere")
        #expect(throws: LogSyncError.self) { try publisher.folder.read(name, limit: 1000) }
        #expect(try publish(publisher) == name)
        #expect(try publisher.folder.verify(name) == .intact)
    }
}
