import Foundation
import LogSyncContainer
import LogSync
import Testing

/// The machine's own file system that says it is of another kind, or takes upper and lower case for the same.
private struct OtherFileSystem: ForwardingFileSystem {
    var kind: FileSystemKind?
    var foldsCase = false
    /// Where that is so.
    var container = ""
    let base = PosixFileSystem()

    init(_ kind: FileSystemKind? = nil, foldsCase: Bool = false) {
        self.kind = kind
        self.foldsCase = foldsCase
    }

    /// The path as its last part is really spelled.
    private func spelled(_ path: String) -> String {
        let url = URL(fileURLWithPath: path)
        guard foldsCase, path.hasPrefix(container),
            let entries = try? base.list(url.deletingLastPathComponent().path, statuses: false),
            let entry = entries.first(where: { $0.name.lowercased() == url.lastPathComponent.lowercased() })
        else { return path }
        return url.deletingLastPathComponent().appendingPathComponent(entry.name).path
    }

    func kind(_ path: String) throws(FileSystemError) -> FileSystemKind {
        if let kind, path.hasPrefix(container) { return kind }
        return try base.kind(path)
    }
    func status(_ path: String, followingLinks: Bool) throws(FileSystemError) -> FileStatus {
        try base.status(spelled(path), followingLinks: followingLinks)
    }
    func open(_ path: String) throws(FileSystemError) -> any ReadableFile { try base.open(spelled(path)) }
}

@Suite("The doctor says what kind of folder it is")
struct FolderKindTests {
    private func findings(_ fileSystem: OtherFileSystem) async throws -> [Finding] {
        let world = try World()
        var machine = try await world.founder("a", rows: ["one"])
        var fileSystem = fileSystem
        fileSystem.container = world.container
        machine.configuration.fileSystem = fileSystem
        let replicator = try machine.replicator()
        #expect(try await replicator.sync().outcome == .complete, "it works there as anywhere")
        await replicator.close()
        let byStore = try await Replicator.doctor(machine.path, configuration: machine.configuration).findings
        let byFolder = try await Replicator.doctor(world.contentPath, configuration: machine.configuration).findings
        #expect(byStore.map(\.code) == byFolder.map(\.code), "whichever of the two it is asked about")
        return byFolder
    }

    @Test("That nobody hears of what others write there", arguments: [(FileSystemKind.nfs, "NFS"), (.fuse, "FUSE")])
    func polled(kind: FileSystemKind, name: String) async throws {
        let found = try await findings(OtherFileSystem(kind))
        #expect(found.map(\.code) == ["polled"])
        #expect(found.first?.severity == .note && found.first?.what.contains("is on \(name)") == true)
    }

    @Test("That upper and lower case are the same there")
    func caseInsensitive() async throws {
        let found = try await findings(OtherFileSystem(foldsCase: true))
        #expect(found.map(\.code) == ["case-insensitive"])
        #expect(found.first?.severity == .note)
    }

    @Test("Nothing of a local folder that tells them apart")
    func ordinary() async throws {
        #expect(try await findings(OtherFileSystem(.local)).isEmpty)
    }
}
