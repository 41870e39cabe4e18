import Foundation
import LogSync
import Testing

@Suite("Folders in the temporary directory")
struct ScratchFolderTests {
    @Test("What a killed process has left in the temporary directory goes, and what is in use stays")
    func abandonedScratch() async throws {
        let files = FileManager.default
        func leave() throws -> String {
            let path = NSTemporaryDirectory() + "logsync-scratch-verify-\(UUID().uuidString)"
            try files.createDirectory(atPath: path, withIntermediateDirectories: true)
            try "rows".write(toFile: path + "/store.db", atomically: false, encoding: .utf8)
            return path
        }
        let (left, used, young) = (try leave(), try leave(), try leave())
        defer { for path in [left, used, young] { try? files.removeItem(atPath: path) } }
        let lock = open(used, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(lock) }
        try #require(flock(lock, LOCK_EX | LOCK_NB) == 0)
        for path in [left, used] {
            try files.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -90)], ofItemAtPath: path)
        }
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        _ = try await Replicator.verify(world.container, configuration: a.configuration)
        #expect([left, used, young].map { files.fileExists(atPath: $0) } == [false, true, true])
    }
}
