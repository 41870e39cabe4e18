import Forgery
import LogSyncFormat
import LogSyncModel

/// One payload alone, its blocks and hashes made around it, so that every change gets as far as its decoder. The first
/// byte says which.
enum PayloadTarget {
    static func run(_ bytes: [UInt8]) {
        guard let kind = bytes.first, bytes.count > 1 else { return }
        let payload = Array(bytes.dropFirst())
        switch kind % 5 {
        case 0: attempt { try frame(payload) }
        case 1: attempt { try header(payload) }
        case 2: attempt { try end(payload) }
        case 3: attempt { try manifest(payload) }
        default: attempt { try rows(payload) }
        }
    }

    private static let peer = PeerID(high: 0xA, low: 1)
    private static let transaction = ForgedTransaction(Dot(peer, 7))

    /// A segment of these payloads.
    private static func segment(_ payloads: [(type: UInt8, payload: [UInt8])]) throws -> SegmentReader {
        var blocks = payloads.map { Forge.blocks(type: $0.type, $0.payload) }[...]
        return try SegmentReader(peer: peer, previous: .zero) { blocks.popFirst() }
    }

    private static func frame(_ payload: [UInt8]) throws {
        let segment = try segment([(Forge.header, transaction.header), (Forge.frame, payload)])
        guard let groups = try segment.nextFrame() else { return }
        try LogFileTarget.check(groups, segment.header)
    }

    private static func header(_ payload: [UInt8]) throws {
        let segment = try segment([(Forge.header, payload), (Forge.end, transaction.end)])
        try LogFileTarget.check([], segment.header)
    }

    private static func end(_ payload: [UInt8]) throws {
        let segment = try segment([(Forge.header, transaction.header), (Forge.end, payload)])
        var sum = ChangeCounts()
        for count in try segment.finish().counts.values { for _ in 0..<2 { sum += count } }
    }

    private static func manifest(_ payload: [UInt8]) throws {
        // Its author has made no transaction, so that no vector contradicts the header.
        var snapshot = ForgedSnapshot(by: PeerID(high: .max, low: .max), vector: [])
        snapshot.manifestPayload = payload
        try SnapshotTarget.check([], try SnapshotReader(MemorySource(snapshot.bytes)))
    }

    private static func rows(_ payload: [UInt8]) throws {
        var snapshot = ForgedSnapshot(
            by: peer,
            vector: [(peer, 7), (PeerID(high: 0xB, low: 2), 41), (PeerID(high: 0xC, low: 3), Limits.sequence)])
        snapshot.frames = [payload]
        let reader = try SnapshotReader(MemorySource(snapshot.bytes))
        guard let rows = try reader.next() else { return }
        try SnapshotTarget.check([rows], reader)
    }
}
