import Forgery
import Foundation
import LogSync
import LogSyncFormat
import LogSyncModel

/// Writes into the folder of a world what is well-formed, with right hashes and names, and not true.
struct Liar {
    private let world: World
    private let folder: ForgedFolder
    static let stranger = PeerID(high: 0x5747_0000_0000_0000, low: 1)
    private static let other = PeerID(high: 0x5747_0000_0000_0000, low: 99)
    private static let ends: [UInt64] = [0, 1, Limits.sequence, Limits.sequence + 1, 1 << 53, 1 << 63, .max]

    init(_ world: World) {
        self.world = world
        folder = ForgedFolder(world.contentPath)
    }

    enum Lie: CaseIterable { case nonsense, futures, snapshots, schemas, documents, names }

    /// - Parameter own: an honest peer, of which it speaks.
    func tell(_ lie: Lie, of own: PeerID) throws {
        let stranger = Self.stranger
        switch lie {
        case .nonsense:
            for seed in 0..<24 {
                let peer = PeerID(high: stranger.high, low: UInt64(seed) + 1)
                var nonsense = Nonsense((0..<600).map { UInt8(truncatingIfNeeded: ($0 * 37 + seed * 101) ^ ($0 >> 3)) })
                var (chain, transactions): (ChainHash, [ForgedTransaction]) = (.zero, [])
                for sequence in UInt64(1)...3 {
                    let vector = VersionVector([own: 1])
                    transactions.append(nonsense.transaction(Dot(peer, sequence), knowing: vector))
                }
                for transaction in transactions {
                    try folder.put(ForgedLogFile([transaction], after: chain), of: peer)
                    chain = transaction.segment(after: chain).chain
                }
            }
        case .futures:
            for (index, sequence) in Self.ends.enumerated() {
                let peer = PeerID(high: stranger.high, low: UInt64(index) + 1)
                let group = ForgedGroup(.insert, "note", key: "k")
                let transactions = [
                    ForgedTransaction(Dot(peer, sequence), groups: [group]),
                    ForgedTransaction(Dot(peer, 1), dependencies: [Dependency(Dot(own, sequence))], groups: [group]),
                    ForgedTransaction(Dot(peer, 2), dependencies: [Dependency(Dot(peer, sequence))], groups: [group]),
                ]
                for transaction in transactions { try folder.put(ForgedLogFile([transaction]), of: peer) }
                try folder.put(ForgedLogFile([transactions[0]], sequences: (1, sequence)), of: peer)
            }
        case .snapshots:
            for (index, sequence) in Self.ends.enumerated() {
                let peer = PeerID(high: stranger.high, low: UInt64(index) + 1)
                var snapshot = ForgedSnapshot(
                    by: peer, vector: [(own, 1), (peer, sequence)].sorted { $0.0 < $1.0 })
                snapshot.schema = "CREATE TABLE note(id TEXT PRIMARY KEY, \(index) TEXT)"
                snapshot.taken = sequence
                snapshot.sequences = [("note", Int64(bitPattern: sequence))]
                try folder.put(snapshot)
                snapshot.frames = [[0xFF], [0, 0, 0]]
                try folder.put(snapshot)
                snapshot.frames = [[UInt8](repeating: 0, count: 4000)]
                snapshot.compresses = true
                try folder.put(snapshot)
            }
        case .schemas:
            let schemas = [
                "CREATE TABLE note(id TEXT PRIMARY KEY); DELETE FROM note;", "ATTACH '/dev/null' AS x;",
                "CREATE TABLE t AS SELECT randomblob(1000000000);", "PRAGMA writable_schema = 1;",
                "CREATE TABLE logsync_store(key, value);",
                "CREATE TABLE x(" + String(repeating: "(", count: 5000) + ");",
                String(repeating: "CREATE TABLE t(x);", count: 2000), "\0",
                "CREATE TRIGGER t AFTER INSERT ON note BEGIN SELECT 1; END;",
            ]
            for (index, schema) in schemas.enumerated() {
                let peer = PeerID(high: stranger.high, low: UInt64(index) + 1)
                let text = Array("PRAGMA user_version = \(index + 9);\n\(schema)".utf8)
                let name = Forge.sha256(text).prefix(16).map { String(format: "%02x", $0) }.joined()
                try folder.write(text, to: "schemas/\(name).sql", of: peer)
                let column = ForgedGroup.Column("body", ForgedValues.texts(["x"]))
                let group = ForgedGroup(.insert, "unheardof", key: "k\(index)", columns: [column])
                try folder.put(ForgedLogFile([ForgedTransaction(Dot(peer, 1), groups: [group])]), of: peer)
            }
        case .documents:
            for (index, number) in Self.ends.enumerated() {
                let peer = PeerID(high: stranger.high, low: UInt64(index) + 1)
                let receipt = ForgedFolder.sealed(
                    """
                    {"chain":"","collectionEpoch":\(number),"counter":\(number),"digest":"0","epochsSeen":{"\(own)":\(number)},\
                    "format":1,"held":[{"peer":"\(own)","reason":"gap","sequence":\(number)}],"imported":{"\(peer)":\(number)},\
                    "nonce":"","peer":"\(peer)","published":\(number),"readsFormats":[\(number)],"written":"9999"}

                    """)
                try folder.write(receipt, to: "receipt.json", of: peer)
                let nested = String(repeating: "[", count: 100_000)
                for text in ["{\"format\":\(number),\"name\":\"\\u0000\\u202e\",\"created\":\(number)}", nested] {
                    try folder.write(Array(text.utf8), to: "peer.json", of: peer)
                }
            }
        case .names:
            let peer = folder.peer(stranger)
            for name in ["logs", "schemas", "snapshots", "blobs"] {
                try FileManager.default.createDirectory(atPath: peer, withIntermediateDirectories: true)
                // Where another lie has made it a folder, that stays.
                try? FileManager.default.createSymbolicLink(atPath: "\(peer)/\(name)", withDestinationPath: world.root)
            }
            for name in ["../x", "-rf", "$(touch owned)", "\u{1B}[2J", String(repeating: "ä", count: 100)] {
                try? FileManager.default.createDirectory(
                    atPath: "\(world.contentPath)/peers/\(name)", withIntermediateDirectories: true)
            }
            let digits = String(repeating: "0", count: 12)
            try folder.write(
                [], to: "logs/\(digits)-\(digits)-\(String(repeating: "0", count: 32)).tlog", of: Self.other)
        }
    }
}
