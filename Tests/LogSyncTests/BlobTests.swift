import Foundation
import LogSyncContainer
import LogSyncModel
import Logging
import Testing

@testable import LogSync

extension World {
    func blobsPath(_ peer: PeerID) -> String { "\(contentPath)/peers/\(peer)/blobs" }

    /// The names of a peer's blob files.
    func blobs(_ peer: PeerID) throws -> [String] {
        guard FileManager.default.fileExists(atPath: blobsPath(peer)) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: blobsPath(peer)).filter { BlobName($0) != nil }
            .sorted()
    }

    /// Every log file and snapshot has every blob that it names in its author's own folder.
    func expectBlobsOfEverything(
        _ machine: Machine, former: Set<PeerID> = [], sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let content = ContentFolder(container: container, name: try #require(ContentName("notes")))
        let scan = try ContainerScanner(content: content).scan(full: true)
        let library = ContentLibrary(content)
        library.blobs.update(scan, forgetsDoubts: true)
        for peer in scan.peers.values {
            // What a snapshot stands for need not be read any more.
            let collected = library.snapshots.found(scan).map { $0.vector[peer.id] }.max() ?? 0
            let names = library.blobIndex.names(peer, logs: { $0.last > collected })
            #expect(names.isComplete, sourceLocation: sourceLocation)
            for id in names.blobs {
                guard case .sound = try library.blobs.examine(id, of: former.contains(peer.id) ? nil : peer.id) else {
                    Issue.record("\(id), which \(peer.id) names, is not sound", sourceLocation: sourceLocation)
                    continue
                }
            }
        }
    }
}

extension Machine {
    /// What of blobs the store keeps besides their places.
    func waitingParts() throws -> Int { try count("SELECT count(*) FROM logsync_blob_part") }
}

/// A value above the threshold of these worlds, and one below it.
private func large(_ letter: Character) -> String { String(repeating: letter, count: 300) }

@Suite("Large values are files of their own")
struct BlobTests {
    let world: World
    let a: Machine
    let b: Machine

    init() async throws {
        world = try World(blobThreshold: 100)
        a = try await world.founder("a", rows: ["one"])
        b = try await world.clone("b")
        try await settle(a, b)
    }

    private func onlyBlob() async throws -> String {
        let names = try world.blobs(try await a.peer())
        try #require(names.count == 1)
        return "\(world.blobsPath(try await a.peer()))/\(names[0])"
    }

    private func hide(_ path: String) throws -> String {
        let aside = world.root + "/aside-" + (path as NSString).lastPathComponent
        try FileManager.default.moveItem(atPath: path, toPath: aside)
        return aside
    }

    @Test("A transaction waits for its blob, what does not depend on it goes on, and it comes by itself")
    func late() async throws {
        try a.insert("big", large("x"))
        try await a.sync()
        let path = try await onlyBlob()
        let name = (path as NSString).lastPathComponent
        let aside = try hide(path)
        let c = try await world.clone("c")
        try c.insert("of c")
        try await c.sync()
        let result = try await b.sync()
        let held = try #require(result.held.first { $0.reason == .missingBlob })
        let author = try await a.peer()
        #expect(held.file == name && held.peer.id == author && result.outcome == .held)
        #expect(held.detail?.contains(name) == true)
        #expect(try b.ids() == ["of c", "one"])
        #expect(try await b.status().held.contains { $0.reason == .missingBlob && $0.file == name })
        // Half of it is no damage.
        let bytes = try #require(FileManager.default.contents(atPath: aside))
        try bytes.prefix(150).write(to: URL(fileURLWithPath: path))
        #expect(try await b.sync().held.map(\.reason) == [.missingBlob])
        try bytes.write(to: URL(fileURLWithPath: path))
        #expect(try await b.sync().held.isEmpty)
        #expect(try b.notes().contains("big=" + large("x")))
    }

    @Test("A snapshot that waits for a blob is shown as held for it by other processes, until the blob has come")
    func snapshotWaits() async throws {
        try a.insert("big", large("x"))
        try await a.sync()
        _ = try await a.snapshot()
        try world.removeLogs(try await a.peer())
        let path = try await onlyBlob()
        let aside = try hide(path)
        let held = try await b.sync().held
        #expect(held.map(\.reason) == [.missingBlob] && held.first?.file == (path as NSString).lastPathComponent)
        #expect(held.first?.detail?.hasPrefix("the snapshot ") == true, "\(held)")
        #expect(try await b.status().held == held)
        // A daemon says so once, however often it looks.
        let lines = CapturedLog.Lines()
        var daemon = b
        daemon.configuration.logger = Logger(label: "b") { _ in CapturedLog(lines) }
        try await daemon.with { replicator in
            for _ in 0..<3 { _ = try await replicator.sync() }
        }
        let said = lines.all.filter { $0.contains("was passed over") }
        #expect(said.count == 1 && said[0].hasPrefix("A snapshot of a was passed over at \(b.path): "), "\(lines.all)")
        try FileManager.default.moveItem(atPath: aside, toPath: path)
        #expect(try await b.status().held.isEmpty)
        #expect(try await b.sync().held.isEmpty)
        #expect(try b.notes().contains("big=" + large("x")))
    }

    @Test("The same bytes are read from whoever's folder has them")
    func elsewhere() async throws {
        try a.insert("big", large("x"))
        try await a.sync()
        let c = try await world.clone("c")
        try c.insert("mine", large("x"))
        try await c.sync()
        try FileManager.default.removeItem(atPath: try await onlyBlob())
        let result = try await b.sync()
        #expect(result.held.isEmpty && result.imported > 0)
        #expect(try b.notes().contains("big=" + large("x")))
    }

    @Test(
        "A damaged blob is reported as damage, never imported, and written again by its owner",
        arguments: [false, true])
    func damaged(overwritten: Bool) async throws {
        try a.insert("big", large("x"))
        try await a.sync()
        let path = try await onlyBlob()
        try world.damage(path)
        let result = try await b.sync()
        #expect(result.outcome == .integrity && result.held.first?.reason == .damaged)
        #expect(result.held.first?.file == (path as NSString).lastPathComponent)
        #expect(try b.ids() == ["one"])
        // Where the bytes are nowhere any more, a snapshot stands for what names them.
        if overwritten { try a.execute("UPDATE note SET body = 'small' WHERE id = 'big'") }
        try await settle(a, b)
        let after = try await b.sync()
        #expect(after.held.isEmpty, "\(after.held)")
        #expect(try b.notes() == a.notes())
        let (x, y) = (try await a.status(), try await b.status())
        #expect(x.digest == y.digest)
        #expect(try world.snapshots(try await a.peer()).count == (overwritten ? 1 : 0))
        if !overwritten { try world.expectBlobsOfEverything(a) }
    }

    @Test("A blob file that went is put back from the row that holds its bytes")
    func missing() async throws {
        try a.insert("big", large("x"))
        try await settle(a, b)
        let path = try await onlyBlob()
        try FileManager.default.removeItem(atPath: path)
        try await a.sync()
        #expect(FileManager.default.fileExists(atPath: path))
        #expect(try world.snapshots(try await a.peer()).isEmpty)
        try world.expectBlobsOfEverything(a)
    }

    @Test("The same bytes in a thousand rows are stored once, as a text here and a BLOB there")
    func once() async throws {
        try a.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
            INSERT INTO note(id, body) SELECT printf('row%04d', i),
                CASE i % 2 WHEN 0 THEN '\(large("x"))' ELSE CAST('\(large("x"))' AS BLOB) END FROM n
            """)
        try await settle(a, b)
        #expect(try world.blobs(try await a.peer()).count == 1)
        #expect(try a.waitingParts() == 0)
        for type in ["text", "blob"] {
            #expect(
                try b.count("SELECT count(*) FROM note WHERE typeof(body) = '\(type)' AND length(body) = 300") == 500)
        }
    }

    @Test("What is overwritten before it could be published is published as it was")
    func overwritten() async throws {
        try a.insert("big", large("x"))
        _ = try await a.with { try await $0.import() }
        try a.execute("UPDATE note SET body = '\(large("y"))' WHERE id = 'big'")
        _ = try await a.with { try await $0.import() }
        try a.execute("UPDATE note SET body = 'small' WHERE id = 'big'")
        #expect(try a.waitingParts() == 2)
        try await a.sync()
        #expect(try a.waitingParts() == 0)
        #expect(try world.blobs(try await a.peer()).count == 2)
        try world.expectBlobsOfEverything(a)
        try await settle(a, b)
        #expect(try b.notes() == ["big=small", "one="])
        let peer = try await a.peer()
        #expect(try await b.with { try await $0.status() }.vector[peer] == a.status().vector[peer])
    }

    @Test("Concurrent versions that are blobs are listed, shown alike, and settled")
    func conflict() async throws {
        try a.insert("big", large("x"))
        try await settle(a, b)
        try a.execute("UPDATE note SET body = '\(large("a"))' WHERE id = 'big'")
        try b.execute("UPDATE note SET body = '\(large("b"))' WHERE id = 'big'")
        try await settle(a, b)
        #expect(try a.notes() == b.notes())
        for machine in [a, b] {
            let listed = try await machine.with { try await $0.conflicts() }
            let values = try #require(listed.conflicts.first).versions.map(\.value.value)
            #expect(Set(values) == [.text(large("a")), .text(large("b"))])
        }
        // The loser travels in snapshots too.
        try await a.snapshot()
        try world.removeLogs(try await a.peer())
        let c = try await world.clone("c")
        #expect(try await c.with { try await $0.conflicts() }.conflicts.first?.versions.count == 2)
        let loser = try a.notes().contains("big=" + large("a")) ? b : a
        let dot = Dot(try await loser.peer(), try await loser.status().vector[try await loser.peer()])
        try await a.with { try await $0.takeVersion(dot, table: "note", key: [.text("big")], column: "body") }
        try await settle(a, b, c)
        for machine in [a, b, c] {
            #expect(try machine.notes().contains("big=" + large(loser.name == "a" ? "a" : "b")))
            #expect(try await machine.with { try await $0.conflicts() }.conflicts.isEmpty)
        }
    }

    @Test("A clone takes blob after blob, from a snapshot or from logs", arguments: [false, true])
    func cloned(snapshot: Bool) async throws {
        for letter in "abcdefgh" { try a.insert("row \(letter)", large(letter)) }
        try await settle(a, b)
        if snapshot {
            try await a.snapshot()
            try world.removeLogs(try await a.peer())
        }
        let c = try await world.clone("c")
        try await settle(a, b, c)
        #expect(try c.notes() == a.notes())
        #expect(try await c.status().digest == a.status().digest)
        try world.expectBlobsOfEverything(a)
        // Who takes a snapshot has every blob of it in its own folder.
        try c.insert("of c")
        try await c.snapshot()
        #expect(try world.blobs(try await c.peer()) == world.blobs(try await a.peer()))
        try world.expectBlobsOfEverything(a)
    }

    @Test("A snapshot whose blobs are not here is passed over until they are")
    func cloneWaits() async throws {
        try a.insert("big", large("x"))
        try await settle(a, b)
        try await a.snapshot()
        try world.removeLogs(try await a.peer())
        let path = try await onlyBlob()
        let aside = try hide(path)
        let c = try world.machine("c")
        let report = try? await Replicator.clone(
            to: c.path, container: world.container, content: "notes", peerName: "c", configuration: c.configuration)
        #expect(report?.held.isEmpty != true, "nothing that is not there is taken for complete")
        try FileManager.default.moveItem(atPath: aside, toPath: path)
        if report == nil {
            _ = try await Replicator.clone(
                to: c.path, container: world.container, content: "notes", peerName: "c",
                configuration: c.configuration)
        }
        try await settle(a, b, c)
        #expect(try c.notes() == a.notes())
    }

    @Test("Doctor and verify tell of blobs that are missing, damaged or named by nothing")
    func examined() async throws {
        try a.insert("big", large("x"))
        try await settle(a, b)
        func findings() async throws -> [String] {
            let doctor = try await Replicator.doctor(world.contentPath, configuration: b.configuration)
            let verify = try await Replicator.verify(world.contentPath, configuration: b.configuration)
            let codes = doctor.findings.map(\.code).filter { !$0.hasPrefix("held") }
            #expect(Set(codes).isSubset(of: verify.findings.map(\.code)), "\(codes) \(verify.findings)")
            return codes
        }
        #expect(try await findings() == [])
        let path = try await onlyBlob()
        let right = try #require(FileManager.default.contents(atPath: path))
        try world.damage(path)
        #expect(try await findings() == ["damaged-file"])
        try FileManager.default.removeItem(atPath: path)
        #expect(try await findings() == ["missing-blob"])
        try right.prefix(7).write(to: URL(fileURLWithPath: path))
        #expect(try await findings().sorted() == ["incomplete-file", "missing-blob"])
        try right.write(to: URL(fileURLWithPath: path))
        let nobodys = "\(world.blobsPath(try await b.peer()))/\((path as NSString).lastPathComponent)"
        try right.write(to: URL(fileURLWithPath: nobodys))
        #expect(try await findings() == ["orphan-blob"])
        let verified = try await Replicator.verify(a.path, configuration: a.configuration)
        #expect(verified.store == true && verified.outcome == .complete, "\(verified.findings)")
    }

    @Test("What a transaction holds is shown by the blob's name")
    func shown() async throws {
        try a.insert("big", large("x"))
        try await a.sync()
        let dot = Dot(try await a.peer(), try await a.status().vector[try await a.peer()])
        let name = (try await onlyBlob() as NSString).lastPathComponent
        try await a.with { replicator in
            try await replicator.show(dot) { element in
                guard case .row(let row) = element, let cell = row.cells.first(where: { $0.column == "body" }) else {
                    return
                }
                let text = String(decoding: try JSONEncoder().encode(cell.value), as: UTF8.self)
                #expect(text.contains("\"blob\":\"\(name)\"") && text.contains("\"length\":300"))
            }
        }
        #expect(try await a.with { try await $0.log(limit: 1) }.first?.changes["note"]?.inserted == 1)
    }
}
