import Forgery
import Foundation
import LogSync
import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Testing

/// Snapshots whose rows have times that are still to come: those would win over everything that is written until then.
@Suite("A snapshot with rows of a time to come")
struct SnapshotTimeTests {
    private let world: World
    private let a: Machine
    private let b: Machine
    private let folder: ForgedFolder
    private let stranger = PeerID(high: 0x5747_0000_0000_0000, low: 1)
    private static let future = HybridTime(milliseconds: HybridTime.maximumMilliseconds - 1)

    init() async throws {
        world = try World()
        a = try await world.founder("a", rows: ["one"])
        b = try await world.clone("b")
        try await settle(a, b)
        folder = ForgedFolder(world.contentPath)
    }

    /// How the stranger's snapshot says a late time.
    enum Told: CaseIterable {
        /// Rows and all their cells; a cell that was set later; the entries one by one.
        case rows, cell, entries
    }

    /// Puts down a snapshot of the stranger's: what is here, a transaction of the stranger's of which there is no log file, by
    /// which all notes are written in the future, and no other.
    @discardableResult
    private func lie(_ told: Told) async throws -> String {
        let path = world.snapshotPath(try await b.peer(), try await b.snapshot().file)
        let reader = try SnapshotReader(MemorySource(Array(try Data(contentsOf: URL(fileURLWithPath: path)))))
        try FileManager.default.removeItem(atPath: path)
        var manifest = reader.manifest
        let own = SnapshotManifest.Peer(id: stranger, sequence: 1, chain: .zero, dependencies: manifest.vector)
        manifest.peers = (manifest.peers + [own]).sorted { $0.id < $1.id }
        let places = manifest.peers.map(\.id)
        func place(_ stamp: EntryStamp) -> EntryStamp {
            let id = reader.manifest.peers[stamp.peer].id
            return EntryStamp(peer: places.firstIndex(of: id) ?? 0, sequence: stamp.sequence, time: stamp.time)
        }
        let late = EntryStamp(peer: places.firstIndex(of: stranger) ?? 0, sequence: 1, time: Self.future)
        var rows: [SnapshotRows] = []
        while let frame = try reader.next() {
            guard case .plain(var plain) = frame else { continue }
            plain.stamps = plain.stamps.map(place)
            for index in plain.columns.indices {
                plain.columns[index].exceptions = plain.columns[index].exceptions.map {
                    .init(row: $0.row, stamp: place($0.stamp))
                }
            }
            rows.append(plain.table == "note" ? rewritten(plain, by: late, told) : .plain(plain))
        }
        func written() throws -> [UInt8] {
            var bytes: [UInt8] = []
            let writer = try SnapshotWriter(content: "notes", peer: stranger, manifest: manifest) { bytes += $0 }
            for frame in rows { try writer.append(frame) }
            _ = try writer.finish()
            return bytes
        }
        manifest.digest = try SnapshotSum.digest(of: SnapshotReader(MemorySource(written())))
        let bytes = try written()
        let name = try #require(
            SnapshotName(sequence: 1, fileHash: LogSyncContainer.FileHash(digest: Forge.sha256(bytes))))
        try folder.write(bytes, to: "snapshots/\(name)", of: stranger)
        return name.description
    }

    private func rewritten(_ given: PlainRows, by late: EntryStamp, _ told: Told) -> SnapshotRows {
        var plain = given
        let forged = plain.identities.map { _ in Value.text("forged") }
        let body = plain.columns.firstIndex { $0.name == "body" } ?? 0
        plain.columns[body].values = forged
        switch told {
        case .rows: plain.stamps = plain.stamps.map { _ in late }
        case .cell: plain.columns[body].exceptions = plain.identities.indices.map { .init(row: $0, stamp: late) }
        case .entries:
            let rows = plain.identities.indices.map { index in
                SpelledRows.Row(
                    identity: plain.identities[index], inserts: [plain.stamps[index]],
                    cells: plain.columns.map { column in
                        let stamp = column.name == "body" ? late : plain.stamps[index]
                        return .init(
                            column: column.name, versions: [.init(stamp: stamp, value: column.values?[index])])
                    })
            }
            return .spelled(SpelledRows(table: "note", rows: rows))
        }
        return .plain(plain)
    }

    @Test(
        "is held by its name until its author's clock is accepted, and what is written since wins",
        arguments: Told.allCases)
    func held(told: Told) async throws {
        let name = try await lie(told)
        let held = try await a.sync().held
        #expect(held.map(\.reason) == [.clock], "\(held)")
        #expect(held.map(\.file) == [name])
        #expect(held.map(\.peer.id) == [stranger])
        #expect(try a.notes() == ["one="])
        // Nobody else waits for it.
        try a.execute("UPDATE note SET body = 'of a'")
        for machine in [a, b] { try await machine.sync() }
        #expect(try b.notes() == ["one=of a"])
        try await b.with { try await $0.acceptClock(of: stranger) }
        #expect(try await b.sync().held.isEmpty)
        #expect(try b.notes() == ["one=forged"])
        #expect(try await b.status().vector[stranger] == 1)
    }

    @Test("is shown by status, list and doctor of other processes until it is let in by the command that they name")
    func shown() async throws {
        let name = try await lie(.cell)
        let held = try await a.sync().held
        #expect(held.count == 1)
        #expect(try await a.status().held == held)
        #expect(try await Replicator.list(configuration: a.configuration).stores.map(\.state) == [.held])
        let report = try await Replicator.doctor(a.path, configuration: a.configuration)
        let finding = try #require(report.findings.first { $0.code == "held-clock" })
        #expect(finding.place == world.snapshotPath(stranger, name))
        #expect(finding.why == held[0].detail)
        let command = try #require(finding.help?.split(separator: "logsync peers accept-clock ").last)
        let words = command.split(separator: " ").map(String.init)
        #expect(words.first == a.path)
        try await a.with { try await $0.acceptClock(of: $0.peer(named: try #require(words.last)).id) }
        #expect(try await a.status().held.isEmpty)
        #expect(try await a.sync().held.isEmpty)
        #expect(try a.notes() == ["one=forged"])
        #expect(try a.count("SELECT count(*) FROM logsync_store WHERE key LIKE 'held%'") == 0)
    }

    @Test("is not shown any more when its file has gone, or when what it stands for has come")
    func forgotten() async throws {
        let name = try await lie(.rows)
        let path = world.snapshotPath(stranger, name)
        // As a process leaves it that ended before the end of its import.
        let note = "'held_snapshot \(stranger) \(name)', '[\"\(name)\",\"refused\",\"why\"]'"
        func remember() throws { try a.execute("INSERT OR REPLACE INTO logsync_store(key, value) VALUES(\(note))") }
        try remember()
        #expect(try await a.status().held.map(\.reason) == [.refused])
        try FileManager.default.moveItem(atPath: path, toPath: world.root + "/aside")
        #expect(try await a.status().held.isEmpty)
        try FileManager.default.moveItem(atPath: world.root + "/aside", toPath: path)
        #expect(try await a.status().held.count == 1)
        try await a.with { try await $0.acceptClock(of: stranger) }
        #expect(try await a.sync().held.isEmpty)
        try remember()
        #expect(try await a.status().held.isEmpty)
    }

    @Test("is passed over by a clone, which takes the log files", arguments: Told.allCases)
    func clone(told: Told) async throws {
        try await lie(told)
        let c = try await world.clone("c")
        #expect(try c.notes() == ["one="])
        try c.execute("UPDATE note SET body = 'of c'")
        for machine in [c, a, c] { try await machine.sync() }
        #expect(try a.notes() == ["one=of c"])
        #expect(try c.notes() == ["one=of c"])
    }

    @Test(
        "that was let in is known by those who took it over: what is written over its rows is no sign of a wrong clock")
    func inherited() async throws {
        try await lie(.cell)
        for machine in [a, b] {
            try await machine.with { try await $0.acceptClock(of: stranger) }
            try await machine.sync()
        }
        #expect(try a.notes() == ["one=forged"])
        // Its edit is later than what it has seen.
        try a.execute("UPDATE note SET body = 'of a'")
        try await a.sync()
        #expect(try await b.sync().held.isEmpty)
        #expect(try b.notes() == ["one=of a"])
    }

    @Test("that was let in and is in others' snapshots by now, comes to a clone once its authors' clocks are accepted")
    func cloneOfInherited() async throws {
        try await lie(.cell)
        for machine in [a, b] {
            try await machine.with { try await $0.acceptClock(of: stranger) }
            try await machine.sync()
        }
        try a.execute("UPDATE note SET body = 'of a'")
        try await a.sync()
        _ = try await a.snapshot()
        let c = try await world.clone("c")
        #expect(try await !c.sync().held.isEmpty)
        for peer in [try await a.peer(), stranger] {
            try await c.with { try await $0.acceptClock(of: peer) }
        }
        #expect(try await c.sync().held.isEmpty)
        #expect(try c.notes() == ["one=of a"])
    }
}
