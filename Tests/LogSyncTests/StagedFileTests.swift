import Foundation
import LogSync
import LogSyncModel
import Testing

@Suite("What a killed process had staged")
struct StagedFileTests {
    private func staged(in directory: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: directory).filter { $0.hasSuffix(".tmp") }.sorted()
    }

    @Test("Goes at the next sync, wherever it was killed, also where there is nothing to publish")
    func killed() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let staging = a.configuration.stateDirectory + "/staging"
        var leftBehind = 0
        for point in 1... {
            try a.insert("row\(point)")
            var dying = a
            let fileSystem = DyingFileSystem(changes: point, completesLast: true)
            dying.configuration.fileSystem = fileSystem
            _ = try? await dying.sync()
            leftBehind += try staged(in: staging).count
            try await a.sync()
            #expect(try staged(in: staging) == [], "killed at change \(point)")
            if fileSystem.isAlive { break }
        }
        #expect(leftBehind > 0)
        // Of a snapshot that was on its way: nothing else is left to do.
        let name = ".logsync-\(try await a.peer())-0123456789abcdef.tmp"
        _ = FileManager.default.createFile(atPath: "\(staging)/\(name)", contents: Data(count: 1000))
        try await a.sync()
        #expect(try staged(in: staging) == [])
    }

    @Test("Stays in the shared folder for an hour: another process may share the id")
    func sharedFolder() async throws {
        let world = try World()
        let a = try await world.founder("a")
        let peer = try await a.peer()
        let path = "\(world.contentPath)/peers/\(peer)/snapshots/.logsync-\(peer)-0123456789abcdef.tmp"
        _ = FileManager.default.createFile(atPath: path, contents: Data(count: 1000))
        try await a.sync()
        #expect(FileManager.default.fileExists(atPath: path))
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -3700)], ofItemAtPath: path)
        try await a.sync()
        #expect(!FileManager.default.fileExists(atPath: path))
    }
}
