import LogSyncModel
import Testing

@testable import LogSyncContainer

/// A share of what `make fuzz` does, always the same: what others put into the folder, changed at random.
@Suite struct MutationTests {
    /// SplitMix64.
    private struct Random: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }

    /// Changes a few bytes, mostly to ones that mean something there.
    private func mutated(_ bytes: [UInt8], _ random: inout Random) -> [UInt8] {
        var bytes = bytes
        let telling = Array("0123456789abcdefABCDEF-.:,\"{}[]\\ ZTe+/~".utf8) + [0, 0x7F, 0x80, 0xC3, 0xFF]
        for _ in 0..<Int.random(in: 1...3, using: &random) where !bytes.isEmpty {
            let position = Int.random(in: bytes.indices, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0: bytes[position] = telling.randomElement(using: &random) ?? 0
            case 1: bytes[position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 2: bytes.insert(telling.randomElement(using: &random) ?? 0, at: position)
            case 3: bytes.removeSubrange(position..<min(bytes.count, position + Int.random(in: 1...6, using: &random)))
            default: bytes.insert(contentsOf: Array(bytes[position...].prefix(8)), at: position)
            }
        }
        return bytes
    }

    @Test func `a changed name is taken only where it is exactly what would be written`() {
        let hash = NamesTests.hash
        let seeds = [
            "000000000001-000000000012-\(hash).tlog", "000000000012-\(hash).snap", "\(hash).sql", hash,
            "notes.2026-a_b",
        ]
        var random = Random(state: 1)
        var taken = 0
        for round in 0..<6000 {
            let text = String(decoding: mutated(Array(seeds[round % seeds.count].utf8), &random), as: UTF8.self)
            let names: [(any CustomStringConvertible)?] = [
                ContentName(text), LogFileName(text), SnapshotName(text), SchemaFileName(text), BlobName(text),
                PeerID(text),
            ]
            for name in names.compactMap({ $0 }) {
                taken += 1
                #expect(Array(name.description.utf8) == Array(text.utf8))
            }
        }
        #expect(taken > 500, "changes that all fail would test little")
    }

    @Test func `a changed receipt, its checksum put right, is refused or can be written again`() throws {
        let content = Receipt.Content(
            published: 12, chain: String(repeating: "a1", count: 32),
            imported: VersionVector([PeerID(high: 1, low: 2): 3, PeerID(high: 4, low: 5): 6]),
            held: [.init(peer: PeerID(high: 4, low: 5), sequence: 7, file: nil, reason: "gap")], digest: "00ff",
            collectionEpoch: 2, epochsSeen: [PeerID(high: 4, low: 5): 1])
        let receipt = Receipt(
            peer: PeerID(high: 1, low: 2), counter: 3, nonce: "f0", written: 1_700_000_000_123, content: content)
        let bytes = receipt.encoded()
        // `{"checksum":"`, 32 digits, `",`.
        let start = 13 + 34
        var random = Random(state: 2)
        var taken = 0
        for _ in 0..<3000 {
            let body = [UInt8(ascii: "{")] + mutated(Array(bytes[start...]), &random)
            let changed = Array(bytes[..<13]) + Array("\(StreamingHash.of(body))\",".utf8) + body.dropFirst()
            do throws(LogSyncError) {
                let read = try Receipt(decoding: changed)
                taken += 1
                let again = try Receipt(decoding: read.encoded())
                #expect(again.content.saysTheSame(as: read.content) && again.written == read.written)
                #expect(again.peer == read.peer && again.counter == read.counter && again.nonce == read.nonce)
            } catch {
                #expect([.malformedLog, .newerFormat].contains(error.code))
            }
        }
        #expect(taken > 100, "changes that all fail would test little")
    }

    @Test func `a changed description is refused or can be written again`() throws {
        let description = PeerDescription(
            name: "desk", created: 1_700_000_000_123, publicKey: [1, 2, 3], succeeds: PeerID(high: 1, low: 2),
            schema: SchemaFingerprint(bytes: [UInt8](repeating: 5, count: 16)), without: [["note", "a"], ["tag"]])
        var random = Random(state: 3)
        var taken = 0
        for _ in 0..<3000 {
            do throws(LogSyncError) {
                let read = try PeerDescription(decoding: mutated(description.encoded(), &random))
                taken += 1
                #expect(try PeerDescription(decoding: read.encoded()) == read)
            } catch {
                #expect([.malformedLog, .newerFormat].contains(error.code))
            }
        }
        #expect(taken > 100, "changes that all fail would test little")
    }
}
