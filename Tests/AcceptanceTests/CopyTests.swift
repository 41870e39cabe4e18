import Foundation
import Testing

/// Stores that were copied, moved or put back from a backup, behind logsync's back.
@Suite(.turn) struct CopyTests {
    private func copyFile(_ from: String, to: String) throws {
        for ending in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: to + ending)
            if FileManager.default.fileExists(atPath: from + ending) {
                try FileManager.default.copyItem(atPath: from + ending, toPath: to + ending)
            }
        }
    }

    @Test(arguments: ["same machine", "another machine"])
    func `a store copied with cp becomes a peer of its own, and no row of either is lost`(where place: String)
        async throws
    {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: "music", rows: 5)
            let copied = sandbox.peer("copied", machine: place == "same machine" ? "one" : "elsewhere")
            // What was captured and not recorded is in the copy too.
            try await one.add(rows: 2, tag: "before")
            try copyFile(one.path, to: copied.path)
            try await one.add(rows: 2, tag: "original")
            try await copied.add(rows: 3, tag: "copy")
            try await one.sync()
            try await copied.sync()
            try await exchange(one, copied, two)
            try await exchange(one, copied, two)
            try await sandbox.expect(.meaning, [one, copied, two])
            #expect(try await one.identifier() != copied.identifier())
            #expect(try await one.count("InvoiceLine") == 5 + 2 + 2 + 3)
        }
    }

    @Test func `the copy that syncs first does not take the original's name`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: "music", rows: 3)
            let before = try await one.identifier()
            let copied = sandbox.peer("copied", machine: "one")
            try copyFile(one.path, to: copied.path)
            try await copied.add(rows: 2, tag: "copy")
            try await copied.sync()
            try await one.add(rows: 2, tag: "original")
            try await one.sync()
            try await exchange(one, copied, two)
            #expect(try await one.identifier() == before)
            #expect(try await copied.identifier() != before)
            try await sandbox.expect(.meaning, [one, copied, two])
            #expect(try await two.count("Artist") == 7)
        }
    }

    @Test(arguments: ["published", "not published"])
    func `a store put back from a backup loses no row, neither of before nor of after`(state: String) async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: "music", rows: 4)
            let backup = sandbox.folder("stores").appendingPathComponent("backup.sqlite").path
            try copyFile(one.path, to: backup)
            try await one.add(rows: 2, tag: "after the backup")
            if state == "published" { try await one.sync() }
            try await two.sync()
            try copyFile(backup, to: one.path)
            try await one.add(rows: 3, tag: "after the restore")
            try await one.sync()
            try await exchange(two, one)
            try await exchange(two, one)
            try await sandbox.expect(.meaning, [one, two])
            let expected = 4 + 3 + (state == "published" ? 2 : 0)
            #expect(try await one.count("InvoiceLine") == expected)
            let digests = [try await one.status()["digest"], try await two.status()["digest"]]
            #expect(digests[0] == digests[1])
        }
    }

    @Test func `a backup that is restored twice, each time with other rows written, loses none of them`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: "music", rows: 2)
            let backup = sandbox.folder("stores").appendingPathComponent("backup.sqlite").path
            try copyFile(one.path, to: backup)
            for round in 1...3 {
                try copyFile(backup, to: one.path)
                try await one.add(rows: 2, tag: "round \(round)")
                try await one.sync()
                try await two.sync()
            }
            try await exchange(one, two)
            try await exchange(one, two)
            try await sandbox.expect(.meaning, [one, two])
            #expect(try await two.count("Artist") == 2 + 3 * 2)
        }
    }

    @Test func `a store that was moved is the same peer`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: "music", rows: 2)
            let identifier = try await one.identifier()
            let moved = sandbox.peer("moved", machine: "one")
            try FileManager.default.moveItem(atPath: one.path, toPath: moved.path)
            try await moved.add(rows: 1, tag: "moved")
            try await exchange(moved, two)
            #expect(try await moved.identifier() == identifier)
            try await sandbox.expect(.meaning, [moved, two])
        }
    }
}
