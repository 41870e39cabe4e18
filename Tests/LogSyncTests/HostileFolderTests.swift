import Foundation
import LogSync
import LogSyncModel
import Testing

@Suite("Whatever is put into the shared folder")
struct HostileFolderTests {
    @Test("A sound log file under another hash is held as damaged")
    func otherHash() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let b = try await world.clone("b")
        try a.insert("two")
        try await a.sync()
        let peer = try await a.peer()
        let name = try #require(try world.logs(peer).last)
        let other = name.replacing(/[0-9a-f]{32}/, with: String(repeating: "0", count: 32))
        let logs = world.logsPath(peer)
        try FileManager.default.moveItem(atPath: "\(logs)/\(name)", toPath: "\(logs)/\(other)")
        let result = try await b.sync()
        #expect(result.held.map(\.reason) == [.damaged])
        #expect(result.held.map(\.file) == [other])
        #expect(try b.ids() == ["one"])
        // Its owner writes it again, and all is well.
        try await settle(a, b)
        #expect(try b.ids() == ["one", "two"])
    }
}
