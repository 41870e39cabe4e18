import LogSyncFormat
import LogSyncModel

/// A random number generator that a seed repeats (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }
    mutating func chance(_ oneIn: Int) -> Bool { below(oneIn) == 0 }
    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) } }
    mutating func pick<T>(_ values: [T]) -> T { values[below(values.count)] }
}

/// Random transactions that reach every encoding.
struct Generator {
    var random: SeededGenerator

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func header(_ dot: Dot) -> TransactionHeader {
        let others = (0..<random.below(4)).map { _ in
            Dot(PeerID.random(using: &random), 1 + random.next() % 1_000_000)
        }
        let areMarked = random.chance(2)
        return TransactionHeader(
            dot: dot, time: time(),
            dependencyChanges: others.sorted().map {
                Dependency($0, mark: areMarked ? ChainMark(rawValue: random.next()) : nil)
            },
            schema: random.chance(2) ? SchemaFingerprint(bytes: random.bytes(16)) : nil,
            author: random.chance(2) ? random.pick(["", "ann", "bob@laptop", "名前"]) : nil,
            context: random.chance(3) ? String(repeating: "why ", count: random.below(50)) : nil)
    }

    mutating func time() -> HybridTime {
        switch random.below(5) {
        case 0: .zero
        case 1: HybridTime(rawValue: .max)
        case 2: HybridTime(rawValue: random.next())
        default: HybridTime(milliseconds: 1_700_000_000_000 + Int64(random.below(10_000)))
        }
    }

    mutating func times(_ count: Int) -> [HybridTime] {
        let constant = time()
        switch random.below(4) {
        case 0: return Array(repeating: constant, count: count)
        case 1: return (0..<count).map { HybridTime(milliseconds: 1_700_000_000_000 + Int64($0)) }
        default: return (0..<count).map { _ in time() }
        }
    }

    mutating func group(rows: Int) -> RowGroup {
        var group = RowGroup(
            table: random.pick(["note", "a \"quoted\" table", "表"]), kind: random.pick([.insert, .update, .delete]))
        group.identities = identities(rows)
        group.times = times(rows)
        if random.chance(2) { group.integers = (0..<rows).map { _ in rowNumber() } }
        for index in 0..<random.below(8) { group.columns.append(column("column \(index)", group.identities)) }
        return group
    }

    private mutating func column(_ name: String, _ identities: [RowIdentity]) -> RowGroup.Column {
        let rows = identities.count
        var column = RowGroup.Column(name: name, operation: random.pick([.set, .set, .set, .fill, .add]))
        switch column.operation {
        case .add:
            let peers = (0..<3).map { _ in PeerID.random(using: &random) }
            column.bases = (0..<rows).map { _ in Dot(random.pick(peers), sequence()) }
            column.values = (0..<rows).map { _ in random.chance(2) ? .integer(integer()) : .real(real()) }
        default:
            column.values = values(identities)
            if random.chance(3) { column.referencedTable = "parent" }
        }
        if random.chance(4) { column.times = times(rows) }
        return column
    }

    private mutating func values(_ identities: [RowIdentity]) -> [Value] {
        let rows = identities.count
        switch random.below(11) {
        case 0: return Array(repeating: .null, count: rows)
        case 1: return (0..<rows).map { _ in .integer(integer()) }
        case 2: return (0..<rows).map { .integer(1_000_000_000 + Int64($0)) }
        case 3: return (0..<rows).map { _ in .real(real()) }
        case 4: return (0..<rows).map { _ in .text(text()) }
        case 5: return (0..<rows).map { _ in .blob(text()) }
        case 6: return self.identities(rows).map { .reference($0) }
        case 7: return Array(repeating: value(), count: rows)
        case 8:
            return identities.map { $0.naturalParts?.first?.value ?? .null }
        default: return (0..<rows).map { _ in value() }
        }
    }

    mutating func value() -> Value {
        switch random.below(7) {
        case 0: .null
        case 1: .integer(integer())
        case 2: .real(real())
        case 3: .text(text())
        case 4: .blob(text())
        case 5: external()
        default: .reference(identity(depth: 0))
        }
    }

    private mutating func external() -> Value {
        let hash = [UInt8](repeating: UInt8(random.below(4)), count: 31) + [UInt8(random.below(4))]
        // The same bytes have the same length.
        guard let id = BlobID(hash: hash, length: Int(hash[0]) * 100_000 + Int(hash[31])) else { return .null }
        return .external(BlobReference(id, random.pick([.text, .blob])))
    }

    /// Of a transaction, or 0.
    mutating func sequence() -> UInt64 { (random.next() >> UInt64(random.below(64))) % (Limits.sequence + 1) }

    /// What is read of a row's integer.
    mutating func rowNumber() -> Int64? {
        let integer = integer()
        return Limits.rowNumbers.contains(integer) ? integer : nil
    }

    mutating func integer() -> Int64 {
        switch random.below(4) {
        case 0: random.pick([0, 1, -1, .min, .max])
        case 1: Int64(bitPattern: random.next())
        default: Int64(random.below(1000)) - 500
        }
    }

    mutating func real() -> Double {
        switch random.below(3) {
        case 0: random.pick([0.0, -0.0, 1.0, .infinity, -.infinity, .leastNonzeroMagnitude, .greatestFiniteMagnitude])
        case 1: Double(bitPattern: random.next())
        default: Double(random.below(10_000)) / 100
        }
    }

    mutating func text() -> Bytes {
        switch random.below(4) {
        case 0: []
        case 1: random.bytes(random.below(40))[...]
        default: Array("text \(random.below(1000))".utf8)[...]
        }
    }

    mutating func identities(_ count: Int) -> [RowIdentity] {
        switch random.below(6) {
        case 0: return (0..<count).map { _ in RowIdentity(surrogate: random.bytes(16)) }
        case 1:
            let prefix = random.bytes(12)
            return (0..<count).map { _ in RowIdentity(surrogate: prefix + random.bytes(4)) }
        case 2: return (0..<count).map { RowIdentity(natural: [.integer(Int64($0))]) }
        case 3: return (0..<count).map { RowIdentity(natural: [.text(Array("key \($0)".utf8)[...])]) }
        case 4:
            return (0..<count).map {
                RowIdentity(natural: [
                    .text(text()), .integer(Int64($0)), .blob(text()), .real(0.5 + Double($0)),
                    .reference(RowIdentity(surrogate: random.bytes(16))),
                    .reference(RowIdentity(natural: [.text(text())])),
                ])
            }
        default:
            let parts = 1 + random.below(3)
            return (0..<count).map { _ in identity(depth: 0, parts: parts) }
        }
    }

    private mutating func identity(depth: Int, parts: Int? = nil) -> RowIdentity {
        if depth > 3 || random.chance(2) { return RowIdentity(surrogate: random.bytes(16)) }
        return RowIdentity(
            natural: (0..<(parts ?? 1 + random.below(3))).map { _ in
                switch random.below(5) {
                case 0: .integer(integer())
                case 1: .real(Double(random.below(1000)) + 0.25)
                case 2: .text(text())
                case 3: .blob(text())
                default: .reference(identity(depth: depth + 1))
                }
            })
    }
}
