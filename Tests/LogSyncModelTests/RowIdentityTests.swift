import LogSyncModel
import Testing

@Suite struct RowIdentityTests {
    @Test func `an identity's bytes are those that the format lays down`() {
        let identity = RowIdentity(natural: [.integer(1), .text([0x61]), .real(0.5), .blob([]), .integer(-1)])
        #expect(
            identity.description
                == "01" + "018000000000000001" + "030000000161" + "023fe0000000000000" + "0400000000"
                + "017fffffffffffffff")
        #expect(
            RowIdentity(surrogate: [UInt8](repeating: 0xAB, count: 16)).description == "00"
                + String(repeating: "ab", count: 16))
    }

    @Test func `the parts of a natural identity come back`() {
        let parts: [KeyPart] = [
            .integer(.min), .integer(.max), .real(-0.25), .text([0, 0xFF]), .blob([1]),
            .reference(RowIdentity(natural: [.reference(RowIdentity(surrogate: [UInt8](repeating: 1, count: 16)))])),
        ]
        let identity = RowIdentity(natural: parts)
        #expect(identity.naturalParts == parts)
        #expect(RowIdentity(checking: identity.bytes) == identity)
        #expect(RowIdentity(surrogate: [UInt8](repeating: 1, count: 16)).naturalParts == nil)
    }

    @Test func `integer keys are ordered as integers, and surrogates come first`() {
        let integers: [Int64] = [.min, -256, -1, 0, 1, 255, 256, .max]
        let identities = integers.map { RowIdentity(natural: [.integer($0)]) }
        #expect(identities == identities.sorted())
        #expect(RowIdentity(surrogate: [UInt8](repeating: 0xFF, count: 16)) < identities[0])
    }

    @Test(arguments: [
        "", "02", "00", "00" + String(repeating: "00", count: 15), "00" + String(repeating: "00", count: 17),
        "0101", "0109", "0103", "010300000002" + "61", "0103ffffffff61", "010500000000", "01050000000102",
        // 1.0 and -0.0 have to be integers.
        "01023ff0000000000000", "01028000000000000000",
    ])
    func `bytes that are not canonical are refused`(hex: String) throws {
        let bytes = try #require(Hex.decode(hex))
        #expect(RowIdentity(checking: bytes[...]) == nil)
    }

    @Test func `an identity within a larger buffer is read in place`() {
        let identity = RowIdentity(natural: [.text([0x61, 0x62])])
        let buffer = [9, 9, 9] + identity.bytes + [9]
        #expect(RowIdentity(checking: buffer[3..<3 + identity.bytes.count]) == identity)
        #expect(RowIdentity(checking: buffer[3...]) == nil)
    }

    @Test func `references nest sixteen deep and no deeper`() {
        var identity = RowIdentity(natural: [.integer(1)])
        for _ in 1..<16 { identity = RowIdentity(natural: [.reference(identity)]) }
        #expect(RowIdentity(checking: identity.bytes) != nil)
        #expect(RowIdentity(checking: RowIdentity(natural: [.reference(identity)]).bytes) == nil)
    }
}

@Suite struct KeyPartTests {
    @Test func `keys that SQLite calls equal have equal parts`() {
        #expect(KeyPart(.real(1), collation: .binary) == .integer(1))
        #expect(KeyPart(.real(-0.0), collation: .binary) == .integer(0))
        #expect(KeyPart(.real(-9_223_372_036_854_775_808), collation: .binary) == .integer(.min))
        #expect(KeyPart(.real(9_223_372_036_854_775_808), collation: .binary) == .real(9_223_372_036_854_775_808))
        #expect(KeyPart(.real(0.5), collation: .binary) == .real(0.5))
        #expect(KeyPart(.real(.infinity), collation: .binary) == .real(.infinity))
        #expect(KeyPart(.text("Bob"), collation: .nocase) == KeyPart(.text("bOB"), collation: .nocase))
        #expect(KeyPart(.text("bob  "), collation: .rtrim) == KeyPart(.text("bob"), collation: .rtrim))
    }

    @Test func `keys that SQLite calls different have different parts`() {
        #expect(KeyPart(.text("1"), collation: .binary) != KeyPart(.integer(1), collation: .binary))
        #expect(KeyPart(.text("a"), collation: .binary) != KeyPart(.blob([0x61]), collation: .binary))
        #expect(KeyPart(.text("Bob"), collation: .binary) != KeyPart(.text("bob"), collation: .binary))
        #expect(KeyPart(.text("Ä"), collation: .nocase) != KeyPart(.text("ä"), collation: .nocase))
        #expect(KeyPart(.text("bob "), collation: .nocase) != KeyPart(.text("bob"), collation: .nocase))
        #expect(KeyPart(.text("bob\t"), collation: .rtrim) != KeyPart(.text("bob"), collation: .rtrim))
        #expect(KeyPart(.text("[@"), collation: .nocase) == .text("[@".utf8.map { $0 }[...]))
        #expect(KeyPart(.text("BOB"), collation: .rtrim) != KeyPart(.text("bob"), collation: .rtrim))
    }

    @Test func `NOCASE sees of what follows a NUL nothing but its length`() {
        func part(_ text: Bytes) -> KeyPart? { KeyPart(.text(text), collation: .nocase) }
        #expect(part([0x41, 0, 0x42]) == part([0x61, 0, 0x43]))
        #expect(part([0x41, 0, 0x42]) != part([0x61, 0]))
        #expect(part([0x41, 0]) != part([0x61]))
    }

    @Test func `NULL has no part, and blobs are not folded`() {
        #expect(KeyPart(.null, collation: .binary) == nil)
        #expect(KeyPart(.blob([0x41, 0x20]), collation: .nocase) == .blob([0x41, 0x20]))
        #expect(KeyPart(.blob([0x41, 0x20]), collation: .rtrim) == .blob([0x41, 0x20]))
    }
}
