import Foundation
import LogSyncModel
import Testing

@Suite struct VersionVectorTests {
    let a = PeerID(high: 1, low: 0)
    let b = PeerID(high: 2, low: 0)

    @Test func `a vector covers the sequences up to its own and no others`() {
        let vector = VersionVector([a: 3])
        #expect(vector.covers(Dot(a, 1)) && vector.covers(Dot(a, 3)))
        #expect(!vector.covers(Dot(a, 4)) && !vector.covers(Dot(b, 1)))
    }

    @Test func `peers at zero are not listed, however they got there`() {
        var vector = VersionVector([a: 0, b: 2])
        #expect(vector == VersionVector([b: 2]))
        vector[b] = 0
        #expect(vector.sequences.isEmpty)
        #expect(vector == VersionVector())
    }

    @Test func `a union is the higher of both and includes both`() {
        let first = VersionVector([a: 3, b: 1])
        let second = VersionVector([a: 2, b: 5])
        var union = first
        union.formUnion(second)
        #expect(union == VersionVector([a: 3, b: 5]))
        #expect(union.includes(first) && union.includes(second))
        #expect(!first.includes(second) && !second.includes(first))
        #expect(first.includes(VersionVector()))
    }

    @Test func `changes since a base, set on the base, give the vector`() {
        let base = VersionVector([a: 3])
        let vector = VersionVector([a: 3, b: 7])
        #expect(vector.changes(since: base) == [Dot(b, 7)])
        var again = base
        for dot in vector.changes(since: base) { again[dot.peer] = dot.sequence }
        #expect(again == vector)
        #expect(vector.changes(since: VersionVector()) == vector.dots)
    }

    @Test func `JSON keeps a vector, and refuses peers that are none`() throws {
        let vector = VersionVector([a: 3, b: .max])
        let data = try JSONEncoder().encode(vector)
        #expect(try JSONDecoder().decode(VersionVector.self, from: data) == vector)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(VersionVector.self, from: Data(#"{"peer": 3}"#.utf8))
        }
    }
}

@Suite struct HybridTimeTests {
    @Test func `milliseconds and counter make a time and come back`() {
        let time = HybridTime(milliseconds: 1_700_000_000_123, counter: 7)
        #expect(time.milliseconds == 1_700_000_000_123)
        #expect(time.counter == 7)
        #expect(HybridTime(rawValue: time.rawValue) == time)
    }

    @Test func `times are ordered by milliseconds first, then by counter`() {
        let times = [
            HybridTime.zero, HybridTime(milliseconds: 0, counter: 1), HybridTime(milliseconds: 1),
            HybridTime(milliseconds: 1, counter: .max), HybridTime(milliseconds: 2),
        ]
        #expect(times == times.sorted())
        #expect(Set(times).count == times.count)
    }

    @Test func `clocks out of range are clamped`() {
        #expect(HybridTime(milliseconds: -5) == .zero)
        #expect(HybridTime(milliseconds: .max).milliseconds == 281_474_976_710_655)
        #expect(HybridTime.maximumMilliseconds == 281_474_976_710_655)
    }

    @Test func `a successor is the least time above, and runs over into the next millisecond`() {
        #expect(HybridTime(milliseconds: 5).successor == HybridTime(milliseconds: 5, counter: 1))
        #expect(HybridTime(milliseconds: 5, counter: .max).successor == HybridTime(milliseconds: 6))
        #expect(HybridTime(rawValue: .max).successor == HybridTime(rawValue: .max))
    }
}

@Suite struct HexTests {
    @Test func `every byte is two lower-case digits and comes back`() {
        let bytes = (0...255).map { UInt8($0) }
        let text = Hex.encode(bytes)
        #expect(text.hasPrefix("000102") && text.hasSuffix("fdfeff"))
        #expect(Hex.decode(text) == bytes)
        #expect(Hex.decode("") == [])
    }

    @Test(arguments: ["a", "abc", "AB", "0g", "0x", " 00", "00 ", "é"])
    func `anything else is refused`(text: String) {
        #expect(Hex.decode(text) == nil)
    }
}

@Suite struct PeerIDTests {
    @Test func `an id is its 16 bytes, most significant first, as 32 digits`() {
        let peer = PeerID(high: 0x0011_2233_4455_6677, low: 0x8899_AABB_CCDD_EEFF)
        #expect(peer.description == "00112233445566778899aabbccddeeff")
        #expect(PeerID(peer.description) == peer)
        #expect(PeerID(bytes: peer.bytes) == peer)
        #expect(PeerID(bytes: peer.bytes.dropLast()) == nil)
        #expect(PeerID(peer.description.uppercased()) == nil)
        #expect(PeerID(peer.description + "00") == nil)
    }

    @Test func `ids are ordered as their bytes are`() {
        let peers = [
            PeerID(high: 0, low: 1), PeerID(high: 0, low: .max), PeerID(high: 1, low: 0), PeerID(high: .max, low: 0),
        ]
        #expect(peers == peers.sorted())
        #expect(peers.map(\.description) == peers.map(\.description).sorted())
        #expect(Dot(peers[0], 9) < Dot(peers[1], 1))
        #expect(Dot(peers[0], 1) < Dot(peers[0], 2))
    }
}

@Suite struct ValueTests {
    @Test func `values are equal only bit for bit`() {
        let values: [Value] = [
            .null, .integer(1), .real(1), .text("1"), .blob([0x31]), .real(0.0), .real(-0.0), .integer(0), .text(""),
            .blob([]), .real(Double(bitPattern: 0x7FF8_0000_0000_0001)),
            .real(Double(bitPattern: 0x7FF8_0000_0000_0002)),
        ]
        for (i, first) in values.enumerated() {
            for (j, second) in values.enumerated() { #expect((first == second) == (i == j)) }
        }
        #expect(Set(values).count == values.count)
    }
}
