import Crypto
import Foundation
import LogSyncFormat
import LogSyncModel
import Testing

/// Prints figures; run with
/// `LOGSYNC_MEASURE=1 swift test -c release --filter ThroughputTests`.
@Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["LOGSYNC_MEASURE"] != nil))
struct ThroughputTests {
    private let rows = 100_000

    /// Rows of a text key, a title, a text of a hundred bytes of words, an integer, a real and an integer.
    private func group() -> RowGroup {
        var random = SeededGenerator(seed: 1)
        let words = """
            the of and a to in is you that it he was for on are as with his they at be this have from or one had by word \
            but not what all were we when your can said there use an each which she do how their if will up other about
            """.split(separator: " ").map { Array($0.utf8) }
        func text(_ count: Int) -> Value {
            var bytes: [UInt8] = []
            while bytes.count < count { bytes += random.pick(words) + [0x20] }
            return .text(bytes[..<count])
        }
        let keys = (0..<rows).map { _ in Array(Hex.encode(random.bytes(8)).utf8)[...] }.sorted {
            $0.lexicographicallyPrecedes($1)
        }
        let time = HybridTime(milliseconds: 1_700_000_000_000)
        return RowGroup(
            table: "note", kind: .insert,
            columns: [
                .init(name: "id", values: keys.map { .text($0) }),
                .init(name: "title", values: keys.map { _ in text(20) }),
                .init(name: "body", values: keys.map { _ in text(100) }),
                .init(
                    name: "created", values: keys.map { _ in .integer(1_700_000_000 + Int64(random.below(10_000_000))) }
                ),
                .init(name: "price", values: keys.map { _ in .real(Double(random.below(100_000)) / 100) }),
                .init(name: "stars", values: keys.map { _ in .integer(Int64(random.below(6))) }),
            ],
            identities: keys.map { RowIdentity(natural: [.text($0)]) },
            times: keys.indices.map { HybridTime(rawValue: time.rawValue + UInt64($0 / 50) << 16) },
            integers: keys.indices.map { Int64($0) + 1 })
    }

    private func measure(_ what: String, _ body: () throws -> Void) rethrows -> Double {
        var best = Double.infinity
        for _ in 0..<5 {
            let seconds = try ContinuousClock().measure(body) / .seconds(1)
            best = min(best, seconds / Double(rows) * 1e9)
        }
        print("\(what): \(Int(best)) ns a row")
        return best
    }

    @Test func `figures for encoding and decoding`() throws {
        let group = group()
        let transaction = Transaction(
            header: TransactionHeader(dot: Dot(.a, 1), time: group.times[0]), groups: [group])
        let compressed = try encode(transaction)
        let plain = try encode(transaction, compresses: false)
        print("raw \(plain.bytes.count / rows), stored \(compressed.bytes.count / rows) bytes a row")
        let raw = plain.bytes
        let hashing = measure("SHA-256 of the raw bytes, twice (blocks and chain)") {
            _ = sha256(raw)
            _ = sha256(raw)
        }
        let encoding = try measure("encode, uncompressed") { _ = try encode(transaction, compresses: false) }
        _ = try measure("encode, zstd") { _ = try encode(transaction) }
        let decoding = try measure("decode, uncompressed") { try drain(plain) }
        _ = try measure("decode, zstd") { try drain(compressed) }
        print("without zstd and SHA-256: encode \(Int(encoding - hashing)), decode \(Int(decoding - hashing)) ns a row")
        #expect(try decode(compressed.blocks, peer: .a).0.joined == [group])
    }

    private func drain(_ segment: Segment) throws {
        var rest = segment.blocks[...]
        let reader = try SegmentReader(peer: .a, previous: .zero) { rest.popFirst() }
        var count = 0
        while let frame = try reader.nextFrame() { count += frame.reduce(0) { $0 + $1.rowCount } }
        #expect(count == rows)
    }
}
