import Foundation
import LogSync
import LogSyncContainer
import Testing

/// A directory in the place of a file that a peer publishes.
@Suite("A directory that has the name of a peer's own file")
struct OccupiedNameTests {
    @Test(
        "goes or is renamed, and the file is written again", arguments: ["blobs", "schemas", "logs", "snapshots"],
        [false, true])
    func replaced(kind: String, isFull: Bool) async throws {
        let world = try World(blobThreshold: 100)
        let a = try await world.founder("a", rows: ["one"])
        let b = try await world.clone("b")
        try a.insert("large", String(repeating: "x", count: 5000))
        try await settle(a, b)
        try await a.snapshot()
        let directory = try "\(world.contentPath)/peers/\(await a.peer())/\(kind)"
        let names = try FileManager.default.contentsOfDirectory(atPath: directory)
        #expect(!names.isEmpty)
        for name in names {
            let path = "\(directory)/\(name)"
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            if isFull { try "theirs".write(toFile: path + "/file", atomically: true, encoding: .utf8) }
        }
        try a.insert("two")
        for _ in 1...2 { try await a.sync() }
        _ = try await a.with { try await $0.rebuild() }
        try await b.sync()
        #expect(try Set(b.ids()) == ["one", "large", "two"])
        let c = try await world.clone("c")
        #expect(try Set(c.ids()) == ["one", "large", "two"])
        #expect(try c.count("SELECT length(body) FROM note WHERE id = 'large'") == 5000)
        let left = try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasSuffix("(directory)") }
        if isFull {
            for name in left {
                #expect(try String(contentsOfFile: "\(directory)/\(name)/file", encoding: .utf8) == "theirs")
            }
        } else {
            #expect(left.isEmpty)
        }
    }
}
