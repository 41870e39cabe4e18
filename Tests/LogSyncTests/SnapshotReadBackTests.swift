import Forgery
import Foundation
import LogSync
import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Testing

@Suite("Files go only for snapshots that can be read to their ends")
struct SnapshotReadBackTests {
    @Test(
        "A stranger's snapshot of right hashes takes nobody's log files away",
        arguments: [[0xFF, 0xFF, 0xFF], []] as [[UInt8]])
    func senseless(frame: [UInt8]) async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let b = try await world.clone("b")
        try await settle(a, b)
        let (first, second) = (try await a.peer(), try await b.peer())
        let stranger = PeerID(high: .max, low: .max)
        let vector = try await a.status().vector
        var snapshot = ForgedSnapshot(
            by: stranger,
            vector: [first, second].sorted().map { ($0, vector[$0]) } + [(stranger, 1)])
        // Undecodable rows; or none, and not what the digest says.
        snapshot.frames = frame.isEmpty ? [] : [frame]
        snapshot.digest = 1
        let folder = ForgedFolder(world.contentPath)
        try folder.put(snapshot)
        try folder.put(ForgedLogFile([ForgedTransaction(Dot(stranger, 1))]), of: stranger)
        let logs = try world.logs(first)
        #expect(!logs.isEmpty)
        for machine in [b, a, b, a] {
            try await machine.sync()
            _ = try await machine.compact()
        }
        #expect(try Set(world.logs(first)).isSuperset(of: logs))
        #expect(try await world.clone("c").ids() == ["one"])
    }

    /// What a snapshot that adds up can be wrong in.
    enum Lie: CaseIterable { case empty, fewer, more, twice, otherValue, otherHistory, otherDigest }

    /// Writes a snapshot into a folder that says all that an honest one says, and lies.
    private func put(_ lie: Lie, like honest: [UInt8], by author: PeerID, in folder: ForgedFolder) throws -> String {
        let reader = try SnapshotReader(MemorySource(honest))
        var frames: [SnapshotRows] = []
        while var rows = try reader.next() {
            if case .plain(var plain) = rows, plain.table == "note" {
                switch lie {
                case .empty, .otherHistory, .otherDigest: break
                case .fewer:
                    guard plain.identities.count > 1 else { continue }
                    plain.identities.removeLast()
                    plain.stamps.removeLast()
                    for index in plain.columns.indices { plain.columns[index].values?.removeLast() }
                case .more:
                    // As if nobody had deleted it.
                    plain.identities.append(RowIdentity(natural: [.text(Array("back".utf8)[...])]))
                    plain.stamps.append(plain.stamps[0])
                    for index in plain.columns.indices {
                        plain.columns[index].values?.append(.text(Array("back".utf8)[...]))
                    }
                case .twice:
                    plain.identities.append(plain.identities[0])
                    plain.stamps.append(plain.stamps[0])
                    for index in plain.columns.indices {
                        if let value = plain.columns[index].values?[0] { plain.columns[index].values?.append(value) }
                    }
                case .otherValue:
                    for index in plain.columns.indices where plain.columns[index].name == "body" {
                        plain.columns[index].values = plain.identities.map { _ in .text("a lie") }
                    }
                }
                rows = .plain(plain)
            }
            if lie != .empty { frames.append(rows) }
        }
        var manifest = reader.manifest
        if lie == .otherHistory {
            for index in manifest.peers.indices {
                manifest.peers[index].chain = ChainHash(bytes: [UInt8](repeating: 7, count: 32)) ?? .zero
            }
            manifest.marks = []
        }
        func written() throws -> [UInt8] {
            var bytes: [UInt8] = []
            let writer = try SnapshotWriter(content: "notes", peer: author, manifest: manifest) { bytes += $0 }
            for rows in frames { try writer.append(rows) }
            _ = try writer.finish()
            return bytes
        }
        manifest.digest = try SnapshotSum.digest(of: SnapshotReader(MemorySource(written())))
        // All of it is true, and nobody who joins it finds it so.
        if lie == .otherDigest { manifest.digest ^= 1 }
        let bytes = try written()
        let name = SnapshotName(
            sequence: manifest.vector[author], fileHash: LogSyncContainer.FileHash(digest: Forge.sha256(bytes)))
        try folder.write(bytes, to: "snapshots/\(try #require(name))", of: author)
        return "\(try #require(name))"
    }

    @Test(
        "A snapshot that adds up, and holds something else than the store, takes no honest file away",
        arguments: Lie.allCases, [true, false])
    func untrue(lie: Lie, isAnothers: Bool) async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one", "two"])
        let b = try await world.clone("b")
        try b.insert("three")
        try await settle(a, b)
        let (first, second) = (try await a.peer(), try await b.peer())
        let stranger = PeerID(high: 0x5747_0000_0000_0000, low: 1)
        let folder = ForgedFolder(world.contentPath)
        let author = isAnothers ? stranger : second
        try await b.snapshot()
        let honest = try world.snapshots(second)
        let logs = try world.logs(first)
        var (chain, lies): (ChainHash, [String]) = (.zero, [])
        for number in UInt64(1)...2 {
            // Everybody has more than the honest one has.
            let group = ForgedGroup(
                .insert, "note", key: "more \(number)", columns: [.init("id", ForgedValues.keyPart(0))])
            let transaction = ForgedTransaction(Dot(stranger, number), groups: [group])
            try folder.put(ForgedLogFile([transaction], after: chain), of: stranger)
            chain = transaction.segment(after: chain).chain
            try await settle(a, b)
            let made = try await b.snapshot().file
            let path = world.snapshotPath(second, made)
            let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
            lies.append(try put(lie, like: bytes, by: author, in: folder))
            try FileManager.default.removeItem(atPath: path)
        }
        for machine in [b, a, b, a] {
            try await machine.sync()
            _ = try await machine.compact()
        }
        // One that does not add up is damaged to its own store, which takes another: then older ones may go for that.
        if lie != .otherDigest || isAnothers {
            #expect(try Set(world.snapshots(second)).isSuperset(of: honest))
        }
        if !isAnothers {
            // Its own store takes one that is true, whatever stands in its folder.
            #expect(try await b.snapshot().isNew || Set(world.snapshots(second)).subtracting(lies) != Set(honest))
        }
        // What is left without the lies is everything: a's files went, where they did, for a's own snapshot.
        for name in lies {
            let path = "\(folder.peer(author))/snapshots/\(name)"
            if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
        }
        #expect(try Set(world.logs(first)).isSuperset(of: logs) || !world.snapshots(first).isEmpty)
        let c = try await world.clone("c")
        #expect(try c.ids() == ["more 1", "more 2", "one", "three", "two"])
        #expect(try c.notes() == a.notes())
    }

    @Test("A default that is an integer means the row that had it first, also while that is being decided itself")
    func defaultsOfRowsThatAreDecidedTogether() async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE dept(
                id INTEGER PRIMARY KEY, name TEXT, up INTEGER DEFAULT 1 REFERENCES dept(id) ON DELETE SET DEFAULT);
            INSERT INTO dept VALUES(1, 'root', 1), (2, 'two', 1)
            """)
        try await a.initialize()
        let b = try await world.clone("b")
        try a.execute("DELETE FROM dept WHERE id = 2")
        try b.execute("INSERT INTO dept VALUES(3, 'three', 2)")
        try await settle(a, b)
        try await b.snapshot()
        let c = try await world.clone("c")
        for machine in [a, b, c] {
            #expect(
                try machine.strings("SELECT d.name || ' ' || u.name FROM dept d JOIN dept u ON u.id = d.up ORDER BY 1")
                    == ["root root", "three root"], "\(machine.name)")
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(report.findings)")
        }
    }
}
