import Forgery
import Foundation
import LogSync
import LogSyncFormat
import LogSyncModel
import Testing

/// What log files and snapshots can say of blobs.
@Suite("A blob that a liar names")
struct HostileBlobTests {
    private let world: World
    private let a: Machine
    private let folder: ForgedFolder
    private static let stranger = PeerID(high: 0x5747_0000_0000_0000, low: 1)
    private static let bytes = [UInt8](repeating: 0x78, count: 1 << 20)
    private static let hash = Forge.sha256(bytes)
    /// The blob as it is named.
    private static let name = hash + Forge.varint(UInt64(bytes.count))
    /// More than a thousand times the blob, and the allowance.
    private static let rows = 1200

    init() async throws {
        world = try World()
        a = try await world.founder("a", rows: ["one"])
        folder = ForgedFolder(world.contentPath)
        let file = Self.hash.prefix(16).map { String(format: "%02x", $0) }.joined()
        try folder.write(Self.bytes, to: "blobs/\(file)", of: Self.stranger)
    }

    /// The blob's values under encoding 9, or each for itself.
    private static func values(_ rows: Int, isConstant: Bool) -> [UInt8] {
        isConstant
            ? [9, 6] + name
            : [7] + [UInt8](repeating: 6, count: rows) + Forge.joined([[UInt8]](repeating: name, count: rows))
    }

    @Test("for more rows than it has room for is held, and all goes on", arguments: [true, false])
    func repeated(isConstant: Bool) async throws {
        let group = ForgedGroup(
            .insert, "note", identities: (0..<Self.rows).map { ForgedIdentity.natural("row \($0)") },
            columns: [
                .init("id", ForgedValues.keyPart(0)),
                .init("body", Self.values(Self.rows, isConstant: isConstant)),
            ])
        var transaction = ForgedTransaction(Dot(Self.stranger, 1), groups: [group])
        transaction.blobs = Forge.varint(1) + Self.name
        let name = try folder.put(ForgedLogFile([transaction]), of: Self.stranger)
        let held = try await a.sync().held
        #expect(held.map(\.reason) == [.tooLarge])
        #expect(held.map(\.file) == [name])
        try a.insert("after")
        try await a.sync()
        #expect(try await world.clone("c").ids() == ["after", "one"])
    }

    @Test("for more rows of a snapshot than it has room for is not read", arguments: [true, false])
    func snapshot(isConstant: Bool) throws {
        struct Source: ByteSource {
            let bytes: [UInt8]
            var count: Int { bytes.count }
            func read(at offset: Int, count: Int) -> [UInt8] { Array(bytes[offset...].prefix(count)) }
        }
        func read(_ frames: Int, of rows: Int) throws {
            var snapshot = ForgedSnapshot(by: Self.stranger, vector: [(Self.stranger, 1)])
            for number in 0..<frames {
                let identities = (0..<rows).map { ForgedIdentity.natural("row \(number) \($0)") }
                var frame = [1, 0] + Forge.text("note") + Forge.varint(UInt64(rows)) + ForgedIdentity.plain(identities)
                frame += [0, 0, 1, 0, 1] + Forge.text("body") + [0] + Self.values(rows, isConstant: isConstant)
                snapshot.frames.append(frame)
            }
            let reader = try SnapshotReader(Source(bytes: snapshot.bytes))
            for _ in 0..<frames { _ = try reader.next() }
        }
        // What a blob itself comes to counts once for a file.
        for frames in [1, 4] {
            let error = #expect(throws: LogFileError.self) { try read(frames, of: Self.rows / frames) }
            guard case .tooLarge = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            try read(frames, of: Self.rows / 2 / frames)
        }
    }
}
