import Forgery
import Foundation
import LogSyncContainer
import LogSyncModel
import LogSyncStore
import Logging
import Testing

@testable import LogSync

/// Schemas of which there are ever so many.
@Suite("Schemas that a liar publishes by the thousand")
struct HostileSchemaCountTests {
    private let world: World
    private let a: Machine
    private let folder: ForgedFolder
    private static let stranger = PeerID(high: 0x5747_0000_0000_0000, low: 1)

    init() async throws {
        world = try World()
        a = try await world.founder("a", rows: ["one"])
        folder = ForgedFolder(world.contentPath)
    }

    /// Publishes a schema of one table of so many columns beside its key.
    private func publish(_ table: String, columns: Int) throws -> SchemaFingerprint {
        let names = (0..<columns).map { ", c\($0)" }.joined()
        let text = "CREATE TABLE \(table)(k TEXT PRIMARY KEY\(names));"
        let bytes = Array(Forge.sha256(Array(text.utf8)).prefix(16))
        let name = bytes.map { String(format: "%02x", $0) }.joined()
        try folder.write(Array(text.utf8), to: "schemas/\(name).sql", of: Self.stranger)
        return try #require(SchemaFingerprint(bytes: bytes))
    }

    @Test("keep an import only for so long: the shortest are read first, the others another time")
    func together() async throws {
        let long = try publish("long", columns: 700)
        let longer = try publish("longer", columns: 800)
        let short = try publish("short", columns: 0)
        let content = ContentFolder(container: world.container, name: try #require(ContentName("notes")))
        let scan = try ContainerScanner(content: content).scan(full: true)
        let store = try Store.open(a.path, configuration: a.configuration.storeConfiguration)
        var own = Set(scan.peers.values.filter { $0.id != Self.stranger }.flatMap(\.schemas).map(\.name.fingerprint))
        let before = own
        var read: [Set<SchemaFingerprint>] = []
        for _ in 0..<4 {
            try store.learnKeys(scan, in: content, known: &own, Logger(label: "a"), time: 0)
            read.append(own.subtracting(before))
        }
        #expect(read == [[short], [short, long], [short, long, longer], [short, long, longer]])
        // Where there is time, all are read in one go.
        own = before
        try store.learnKeys(scan, in: content, known: &own, Logger(label: "a"))
        #expect(own.subtracting(before) == [short, long, longer])
    }
}
