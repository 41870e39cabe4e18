import Foundation
import LogSyncModel
import Testing

@testable import LogSyncContainer

@Suite struct ContentFolderTests {
    let folder: TemporaryFolder
    let content: ContentFolder

    init() throws {
        folder = try TemporaryFolder()
        content = ContentFolder(container: folder.path, name: try .notes)
    }

    private func code(_ body: () throws -> Void) -> LogSyncError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? LogSyncError)?.code
        }
    }

    @Test func `Creating writes the marker, and creating again changes nothing`() throws {
        #expect(try !content.exists())
        try content.create()
        let marker = try String(contentsOfFile: content.markerPath, encoding: .utf8)
        #expect(marker == "{\"content\":\"notes\",\"format\":1}\n")
        let before = try PosixFileSystem().status(content.markerPath, followingLinks: false)
        try content.create()
        #expect(try PosixFileSystem().status(content.markerPath, followingLinks: false) == before)
        #expect(try content.exists())
        try content.checkAvailable()
        #expect(try folder.files() == ["notes/logsync.json"])
    }

    @Test func `No content is made within the folder of another, which was meant for the one around it`() throws {
        try content.create()
        for container in [content.path, content.peersPath] {
            let inner = ContentFolder(container: container, name: try .notes)
            for attempt in [{ _ = try inner.exists() }, { try inner.create() }, { try inner.checkAvailable() }] {
                let error = #expect(throws: LogSyncError.self) { try attempt() }
                #expect(error?.help?.contains("--container \(folder.path) --content notes") == true, "\(error as Any)")
            }
            #expect(code { try inner.create() } == .configuration)
        }
        #expect(try folder.files() == ["notes/logsync.json"])
    }

    @Test func `Two that write the marker at once both succeed`() throws {
        let other = content
        let raced = RacingFileSystem(before: content.markerPath) { try other.create() }
        try ContentFolder(container: folder.path, name: try .notes, fileSystem: raced).create()
        #expect(raced.hasRaced.get())
        try content.checkAvailable()
        #expect(try folder.files() == ["notes/logsync.json"])
    }

    @Test func `What killed processes have left of the marker goes, and what peers stage stays`() throws {
        let staged = "notes/.logsync-\(alice)-0.tmp"
        for name in ["notes/.logsync-marker.tmp", "notes/.logsync-marker-0123456789abcdef.tmp", staged] {
            try folder.write("{\"cont", to: name)
        }
        try content.create()
        #expect(try folder.files() == [staged, "notes/logsync.json"])
    }

    @Test func `A container that is not there is never created`() throws {
        let missing = ContentFolder(container: folder.path + "/Sync", name: try .notes)
        #expect(code { try missing.create() } == .containerUnavailable)
        #expect(code { try missing.checkAvailable() } == .containerUnavailable)
        #expect(code { try Publisher(folder: missing.peer(alice)).folder.create() } == .containerUnavailable)
        #expect(!FileManager.default.fileExists(atPath: missing.container))
    }

    @Test func `A folder without its marker is unavailable and nothing is written into it`() throws {
        try folder.makeDirectory("notes/peers")
        #expect(code { try content.checkAvailable() } == .containerUnavailable)
        let peer = content.peer(alice)
        #expect(
            code { _ = try Publisher(folder: peer).publish(logBytes("x")) { logName(1, 1, logBytes("x"))?.named($0) } }
                == .containerUnavailable)
        #expect(
            code { _ = try peer.publishReceipt(.init(), counter: 0, nonce: "", written: 0) }
                == .containerUnavailable)
        #expect(code { try peer.write(PeerDescription(name: "a", created: 0)) } == .containerUnavailable)
        #expect(try folder.files() == [])
    }

    @Test(arguments: [
        ("", LogSyncError.Code.containerUnavailable),
        ("{\"content\":\"notes\",\"for", .containerUnavailable),
        ("\0\0\0\0", .containerUnavailable),
        ("{\"content\":\"notes\",\"format\":0}", .containerUnavailable),
        ("{\"content\":\"other\",\"format\":1}", .configuration),
        ("{\"format\":2}", .newerFormat),
        (String(repeating: " ", count: 70_000) + "{\"content\":\"notes\",\"format\":1}", .containerUnavailable),
    ])
    func `A marker that is not ours makes the folder unusable, each in its way`(
        marker: String, expected: LogSyncError.Code
    ) throws {
        try folder.write(marker, to: "notes/logsync.json")
        #expect(code { try content.checkAvailable() } == expected)
        #expect(code { try content.create() } == expected)
        #expect(try String(contentsOfFile: content.markerPath, encoding: .utf8) == marker)
    }

    @Test func `Keys that a marker may get later are tolerated`() throws {
        try folder.write("{\"content\":\"notes\",\"format\":1,\"later\":[1]}", to: "notes/logsync.json")
        try content.checkAvailable()
    }

    @Test func `Only a rebuild replaces a marker that cannot be read, and no other`() throws {
        try folder.write("", to: "notes/logsync.json")
        try content.create(rewritingMarker: true)
        try content.checkAvailable()
        try folder.write("{\"content\":\"other\",\"format\":1}", to: "notes/logsync.json")
        #expect(code { try content.create(rewritingMarker: true) } == .configuration)
    }

    @Test func `A file in place of the container or the folder makes it unavailable`() throws {
        try folder.write("", to: "notes")
        #expect(code { try content.checkAvailable() } == .containerUnavailable)
        let inFile = ContentFolder(container: folder.path + "/notes", name: try .notes)
        #expect(code { try inFile.create() } == .containerUnavailable)
    }

    @Test func `The container may be a symbolic link, the content folder may not`() throws {
        try folder.makeDirectory("real")
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/link", withDestinationPath: folder.path + "/real")
        let linked = ContentFolder(container: folder.path + "/link", name: try .notes)
        try linked.create()
        try linked.checkAvailable()
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/notes", withDestinationPath: folder.path + "/real/notes")
        #expect(code { try content.checkAvailable() } == .containerUnavailable)
    }

    @Test(arguments: [
        (ENOTCONN, LogSyncError.Code.containerUnavailable), (ESTALE, .containerUnavailable),
        (EHOSTDOWN, .containerUnavailable), (ENOENT, .containerUnavailable), (EACCES, .noPermission),
        (EIO, .ioError),
    ])
    func `A root that cannot be looked at says so by its code`(number: CInt, expected: LogSyncError.Code) throws {
        try content.create()
        let failing = FailingFileSystem(plan: .fail(number), failing: 1)
        let broken = ContentFolder(container: folder.path, name: try .notes, fileSystem: failing)
        #expect(code { try broken.checkAvailable() } == expected)
    }

    @Test(arguments: [
        (ENOSPC, LogSyncError.Code.ioError), (EDQUOT, .ioError), (EIO, .ioError), (EROFS, .noPermission),
        (EACCES, .noPermission), (EPERM, .noPermission), (EINVAL, .ioError),
    ])
    func `An error names the path, what was kept and the way out`(number: CInt, expected: LogSyncError.Code) {
        let error = FileSystemError("write to", "/a/b", number: number).explained(kept: "all is kept")
        #expect(error.code == expected)
        #expect(error.message.contains("/a/b"))
        #expect(error.message.contains("all is kept"))
        #expect(error.help != nil)
        if [ENOSPC, EDQUOT, EIO].contains(number) { #expect(error.message.contains("disk full")) }
    }
}

extension LogFileName {
    /// This name, if that is its hash.
    func named(_ hash: FileHash) -> LogFileName? { hash == fileHash ? self : nil }
}
