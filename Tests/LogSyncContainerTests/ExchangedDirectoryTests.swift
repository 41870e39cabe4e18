import Foundation
import LogSyncModel
import Testing

@testable import LogSyncContainer

/// A directory of a content that is looked at, and is a symbolic link by the time that something is done in it.
@Suite struct ExchangedDirectoryTests {
    let folder: TemporaryFolder
    let elsewhere: TemporaryFolder
    let content: ContentFolder

    init() throws {
        folder = try TemporaryFolder()
        elsewhere = try TemporaryFolder()
        content = try makeContent(folder)
        try content.peer(alice).create()
        try elsewhere.write("mine", to: "kept")
        try elsewhere.makeDirectory("empty")
    }

    private enum Call: String, CaseIterable {
        case list, open, create, renameFrom, renameTo, remove, makeDirectory, removeDirectory,
            synchronizeDirectory
        case kind, checkWritable
    }

    private var logs: String { content.peer(alice).path + "/logs" }

    private func perform(_ call: Call, _ system: any FileSystem) throws(FileSystemError) {
        switch call {
        case .list: _ = try system.list(logs + "/empty", statuses: true)
        case .open: _ = try system.open(logs + "/kept")
        case .create: _ = try system.create(logs + "/new", permissions: .all)
        case .renameFrom: try system.rename(logs + "/kept", to: content.path + "/taken")
        case .renameTo: try system.rename(content.path + "/own", to: logs + "/kept")
        case .remove: try system.remove(logs + "/kept")
        case .makeDirectory: try system.makeDirectory(logs + "/new", permissions: .all)
        case .removeDirectory: try system.removeDirectory(logs + "/empty")
        case .synchronizeDirectory: try system.synchronizeDirectory(logs + "/empty")
        case .kind: _ = try system.kind(logs + "/empty")
        case .checkWritable: try system.checkWritable(logs + "/empty", room: 0)
        }
    }

    private func link(_ path: String) throws {
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: elsewhere.path)
    }

    @Test(arguments: Call.allCases)
    private func `nothing is done where a symbolic link leads that took a directory's place`(call: Call) throws {
        try folder.write("own", to: "notes/own")
        try link(logs)
        let error = #expect(throws: FileSystemError.self) { try perform(call, content.fileSystem) }
        #expect(error?.number == ENOTDIR)
        #expect(try elsewhere.files() == ["kept"] && folder.files() == ["notes/logsync.json", "notes/own"])
        #expect(FileManager.default.fileExists(atPath: elsewhere.path + "/empty"))
    }

    @Test(arguments: Call.allCases)
    private func `it is done where the directory is one, and a symbolic link leads to the container`(call: Call) throws
    {
        let container = elsewhere.path + "/container"
        try FileManager.default.createSymbolicLink(atPath: container, withDestinationPath: folder.path)
        let linked = ContentFolder(container: container, name: try .notes)
        try folder.write("own", to: "notes/own")
        let directory = "notes/peers/\(alice)/logs"
        try folder.write("log", to: directory + "/kept")
        try folder.makeDirectory(directory + "/empty")
        #expect(throws: Never.self) { try perform(call, linked.fileSystem) }
    }

    @Test func `a link further up is not followed either, and what lies beside the container is not beneath it`() throws
    {
        let system = content.fileSystem
        let beside = folder.path + "-beside"
        try FileManager.default.createSymbolicLink(atPath: beside, withDestinationPath: elsewhere.path)
        defer { try? FileManager.default.removeItem(atPath: beside) }
        #expect(try system.status(beside + "/kept", followingLinks: false).isFile)
        try elsewhere.write("log", to: "\(alice)/logs/kept")
        try FileManager.default.removeItem(atPath: content.peersPath)
        try FileManager.default.createSymbolicLink(atPath: content.peersPath, withDestinationPath: elsewhere.path)
        let error = #expect(throws: FileSystemError.self) { try system.open(logs + "/kept") }
        #expect(error?.number == ENOTDIR)
    }

    @Test func `no directory stays open`() throws {
        try link(logs)
        for call in Call.allCases { try? perform(call, content.fileSystem) }
        try FileManager.default.removeItem(atPath: logs)
        for call in Call.allCases { try? perform(call, content.fileSystem) }
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
        }
        #expect(open.filter { $0.hasPrefix(folder.path) || $0.hasPrefix(elsewhere.path) } == [])
    }
}
