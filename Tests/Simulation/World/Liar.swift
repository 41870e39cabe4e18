import Forgery
import Foundation
import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore

/// Somebody who writes copies of the folder and takes no part: what is written is well-formed, its hashes are right, and
/// nothing of it is true.
final class Liar {
    enum Lie: CaseIterable { case stranger, inAnothersName, receipt, snapshot, emptySnapshot, settings }

    /// The time that its files have.
    var now: Int64 = 0
    /// How far made-up peers have come.
    private var strangers: [PeerID: (sequence: UInt64, chain: ChainHash)] = [:]
    /// How many snapshots were made up.
    private(set) var snapshots = 0

    /// Tells a lie in one copy of the folder.
    ///
    /// - Parameters:
    ///   - store: of the peer whose copy it is: what it knows is read in its folder.
    ///   - peers: who takes part.
    /// - Returns: which.
    func lie(
        in folder: ForgedFolder, besides store: Store, of peers: [PeerID], _ schema: SchemaModel, choice: UInt64
    ) throws -> Lie {
        var random = Random(seed: choice)
        let lie = random.pick(Lie.allCases)
        let vector = try store.vector()
        let stranger = PeerID(high: 7, low: UInt64(random.number(3)))
        switch lie {
        case .stranger:
            let last = strangers[stranger] ?? (0, .zero)
            try publish(
                nonsense(schema, &random, Dot(stranger, last.sequence + 1), vector), after: last.chain, in: folder)
        case .inAnothersName:
            let victim = random.pick(peers)
            let dot = Dot(victim, vector[victim] + 1)
            try put(nonsense(schema, &random, dot, vector), after: store.chain(of: victim), in: folder)
        case .receipt: try changeReceipt(of: random.pick(peers), in: folder, &random)
        case .snapshot, .emptySnapshot:
            try putSnapshot(by: stranger, rows: lie == .snapshot, like: store, schema, &random, in: folder)
        case .settings:
            let last = strangers[stranger] ?? (0, .zero)
            var transaction = ForgedTransaction(
                Dot(stranger, last.sequence + 1), groups: [setting(schema, peers, &random)])
            transaction.dependencies = []
            try publish(transaction, after: last.chain, in: folder)
        }
        return lie
    }

    // MARK: Transactions

    private func choices(_ random: inout Random) -> [UInt8] {
        (0..<300).map { _ in UInt8(truncatingIfNeeded: random.next() >> 32) }
    }

    /// Nonsense about the scenario's tables.
    private func nonsense(_ schema: SchemaModel, _ random: inout Random) -> Nonsense {
        var nonsense = Nonsense(choices(&random))
        for name in ["note", "item", "link", "loose"] {
            let table = random.pick(schema.tables)
            nonsense.tables[name] = (table.logName, table.replicated.map(\.name))
        }
        return nonsense
    }

    private func nonsense(
        _ schema: SchemaModel, _ random: inout Random, _ dot: Dot, _ vector: VersionVector
    ) -> ForgedTransaction {
        var nonsense = nonsense(schema, &random)
        return nonsense.transaction(dot, knowing: vector)
    }

    private func setting(_ schema: SchemaModel, _ peers: [PeerID], _ random: inout Random) -> ForgedGroup {
        let table = random.pick(schema.tables)
        let column = "\(table.logName).\(random.pick(table.replicated).name)"
        let (kind, target, value) = random.pick([
            ("skip", table.logName, "1"), ("local", table.logName, "1"), ("identity", table.logName, "surrogate"),
            ("identity", table.logName, "columns=[]"), ("policy", column, "sum"), ("policy", table.logName, "nonsense"),
            ("reference", column, random.pick(schema.tables).logName), ("rename", table.logName, "sqlite_master"),
            ("key", table.logName, "[\"none\"]"), ("unenforced", column, "1"), ("sequence", table.logName, "-1"),
            ("peer", "\(random.pick(peers))", "somebody else"), ("name", "x", "y"),
        ])
        func text(_ text: String) -> KeyPart { .text(Array(text.utf8)[...]) }
        return ForgedGroup(
            .insert, "logsync_setting",
            identities: [Array(RowIdentity(natural: [text(kind), text(target)]).bytes)],
            columns: [.init("value", ForgedValues.texts([value]))])
    }

    private func publish(_ transaction: ForgedTransaction, after chain: ChainHash, in folder: ForgedFolder) throws {
        try put(transaction, after: chain, in: folder)
        let next = transaction.segment(after: chain).chain
        strangers[transaction.dot.peer] = (transaction.dot.sequence, next)
    }

    private func put(_ transaction: ForgedTransaction, after chain: ChainHash, in folder: ForgedFolder) throws {
        let file = ForgedLogFile([transaction], content: FolderPeer.content, after: chain)
        let name = try folder.put(file, of: transaction.dot.peer)
        date("logs/\(name)", of: transaction.dot.peer, in: folder)
    }

    // MARK: Receipts

    /// Puts another number in the place of one.
    private func changeReceipt(of peer: PeerID, in folder: ForgedFolder, _ random: inout Random) throws {
        let number = random.pick(["0", "1", "2", "7", "1000", "4503599627370496", "18446744073709551615"])
        let choice = random.next() >> 16
        guard FileManager.default.fileExists(atPath: "\(folder.peer(peer))/receipt.json") else { return }
        try folder.changeReceipt(of: peer) { text in
            // A newer format is believed: it ends what the store does, and is said.
            let numbers = text.ranges(of: #/[:,\[ ][0-9]+/#).filter { !text[..<$0.lowerBound].hasSuffix("\"format\"") }
            guard !numbers.isEmpty else { return text }
            let place = numbers[Int(choice % UInt64(numbers.count))]
            return text.replacingCharacters(in: text.index(after: place.lowerBound)..<place.upperBound, with: number)
        }
        date("receipt.json", of: peer, in: folder)
    }

    // MARK: Snapshots

    private func putSnapshot(
        by stranger: PeerID, rows hasRows: Bool, like store: Store, _ schema: SchemaModel, _ random: inout Random,
        in folder: ForgedFolder
    ) throws {
        let vector = try store.vector()
        var peers = try vector.dots.filter { $0.peer != stranger }.map { dot in
            // All that is known, or more.
            SnapshotManifest.Peer(
                id: dot.peer, sequence: dot.sequence + (random.chance(25) ? 3 : 0),
                chain: try store.chain(of: dot.peer),
                dependencies: VersionVector())
        }
        peers.append(
            SnapshotManifest.Peer(
                id: stranger, sequence: max(vector[stranger], 1), chain: try store.chain(of: stranger),
                dependencies: VersionVector()))
        peers.sort { $0.id < $1.id }
        var nonsense = nonsense(schema, &random)
        let rows = hasRows ? nonsense.rows(peers.map { ($0.id, $0.sequence) }) : []
        let schemaText = try store.schemaText()
        func written(_ digest: UInt64) throws -> [UInt8] {
            var bytes: [UInt8] = []
            let manifest = SnapshotManifest(
                taken: 0, digest: digest, schema: schemaText.fingerprint, schemaText: schemaText.text, peers: peers)
            let writer = try SnapshotWriter(content: FolderPeer.content, peer: stranger, manifest: manifest) {
                bytes += $0
            }
            for rows in rows { try writer.append(rows) }
            _ = try writer.finish()
            return bytes
        }
        // What no writer would write is none.
        guard let sum = try? SnapshotSum.digest(of: SnapshotReader(MemorySource(written(0)))) else { return }
        let bytes = try written(sum)
        let name = SnapshotName(
            sequence: max(vector[stranger], 1), fileHash: LogSyncContainer.FileHash(digest: Forge.sha256(bytes)))
        guard let name else { return }
        snapshots += 1
        try folder.write(bytes, to: "snapshots/\(name)", of: stranger)
        date("snapshots/\(name)", of: stranger, in: folder)
    }

    private func date(_ name: String, of peer: PeerID, in folder: ForgedFolder) {
        FileTimes.set("\(folder.peer(peer))/\(name)", milliseconds: now)
    }
}
