import LogSyncModel
import Testing

@testable import LogSyncContainer

/// Receipts of stores that know very many peers.
@Suite("A receipt of very many peers")
struct ReceiptRoomTests {
    private func ids(_ count: Int, _ high: UInt64) -> [PeerID] {
        (1...count).map { PeerID(high: high << 60, low: UInt64($0)) }
    }

    private func receipt(_ peer: PeerID, _ content: Receipt.Content) -> Receipt {
        Receipt(peer: peer, counter: Limits.documentNumber, nonce: "00", written: 0, content: content)
    }

    @Test(
        "It is no longer than others read, has its own peer, and first those of the last one", arguments: [0, 50_000])
    func fits(epochs: Int) throws {
        let (known, new) = (ids(30_000, 15), ids(120_000, 7))
        // The greatest id of all.
        let own = PeerID(high: .max, low: .max)
        var content = Receipt.Content(
            published: 1, chain: String(repeating: "0", count: 64), imported: VersionVector([own: 1]), held: [],
            digest: "d", collectionEpoch: 0, epochsSeen: [:])
        content.held = (0..<2000).map {
            Receipt.Held(
                peer: own, sequence: Limits.sequence - UInt64($0), file: String(repeating: "f", count: 70),
                reason: "newer-format")
        }
        for id in known { content.imported[id] = Limits.sequence }
        for id in known.prefix(min(epochs, 20_000)) { content.epochsSeen[id] = Limits.documentNumber }
        content.fit(after: nil, of: own)
        #expect(content.imported.sequences.count == known.count + 1)
        #expect(content.digest == "d")
        let standing = content
        for id in new { content.imported[id] = Limits.sequence }
        for id in new.prefix(epochs) { content.epochsSeen[id] = Limits.documentNumber }
        content.fit(after: standing, of: own)
        #expect(content.digest.isEmpty)
        #expect(content.imported.includes(standing.imported))
        #expect(content.imported.sequences.count > 37_000)
        #expect(standing.epochsSeen.allSatisfy { content.epochsSeen[$0.key] == $0.value })
        let bytes = receipt(own, content).encoded()
        #expect(bytes.count <= Receipt.maximumLength)
        #expect(try Receipt(decoding: bytes).content == content.normalized)
        // What it says stays said.
        var again = content
        for id in new { again.imported[id] = Limits.sequence }
        for id in new.prefix(epochs) { again.epochsSeen[id] = Limits.documentNumber }
        again.fit(after: content, of: own)
        #expect(again.saysTheSame(as: content))
    }
}
