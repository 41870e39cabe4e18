import Foundation

/// Picks what a cell shows where several peers gave it values without having seen each other's.
///
/// A policy is a pure function of the set of versions, so the order in which they arrived cannot matter. It is asked
/// only where there is a conflict: two or more versions.
public struct MergePolicy: Sendable {
    /// One value that one transaction gave to the cell.
    public struct Version: Sendable {
        public var value: Value
        public var dot: Dot
        public var time: HybridTime
        /// The name of the peer that made it; nil where it has none here.
        public var peerName: String?

        public init(value: Value, dot: Dot, time: HybridTime, peerName: String? = nil) {
            self.value = value
            self.dot = dot
            self.time = time
            self.peerName = peerName
        }

        /// Whether this one comes before `other` in the order of writers: by time, peer, sequence.
        public func precedes(_ other: Version) -> Bool {
            (time, dot.peer, dot.sequence) < (other.time, other.dot.peer, other.dot.sequence)
        }
    }

    /// As settings and the command line have it, such as `prefer desk,phone`.
    public let name: String
    /// The value shown, of one or more versions in the order of writers.
    public let resolve: @Sendable (_ versions: [Version]) -> Value

    public init(name: String, resolve: @escaping @Sendable (_ versions: [Version]) -> Value) {
        self.name = name
        self.resolve = resolve
    }

    /// The highest time; the default. Core Data: merge by property, object trumps.
    public static let lastWriter = MergePolicy(name: "last-writer") { $0.last?.value ?? .null }
    /// The lowest time. Core Data: merge by property, store trumps; rollback.
    public static let firstWriter = MergePolicy(name: "first-writer") { $0.first?.value ?? .null }
    /// All cells of a row from its latest transaction, because every change records every column. Core Data: overwrite.
    public static let lastWriterRow = MergePolicy(name: "last-writer-row", resolve: lastWriter.resolve)
    /// The last writer's, until the cell is written again. Core Data: error.
    public static let manual = MergePolicy(name: "manual", resolve: lastWriter.resolve)
    /// The greatest value in SQLite's order: NULL, numbers, text, blobs; of equal ones the last writer's.
    public static let max = MergePolicy(name: "max") { versions in
        versions.dropFirst().reduce(versions.first?.value ?? .null) { $1.value.sorts(before: $0) ? $0 : $1.value }
    }
    /// The least value in SQLite's order that is not NULL; NULL where all are.
    public static let min = MergePolicy(name: "min") { versions in
        let values = versions.map(\.value).filter { !$0.isNull }
        return values.dropFirst().reduce(values.first ?? .null) { $0.sorts(before: $1) ? $0 : $1 }
    }
    /// A counter: every peer's increments since the base, added up, whichever had seen which. Of concurrent bases the last
    /// writer's counts.
    public static let sum = MergePolicy(name: "sum", resolve: lastWriter.resolve)
    /// JSON arrays as sets: every element of every version, in the order of writers; texts that are no arrays give
    /// the last writer's.
    public static let union = MergePolicy(name: "union") { JSONSet.union($0.map(\.value)) ?? $0.last?.value ?? .null }

    /// The version of the peer highest in the list; the last writer's where none of them has one.
    public static func prefer(_ peers: [String]) -> MergePolicy {
        MergePolicy(name: "prefer " + peers.joined(separator: ",")) { versions in
            for peer in peers {
                if let version = versions.last(where: { $0.peerName == peer }) { return version.value }
            }
            return versions.last?.value ?? .null
        }
    }

    /// Whether it takes one of the versions by who has written them, and when, whatever they say.
    package var goesByAuthor: Bool {
        let policies: [MergePolicy] = [.lastWriter, .firstWriter, .lastWriterRow, .manual]
        return policies.contains { $0.name == name } || Self.preferred(name) != nil
    }

    /// The same policy where a peer that it prefers has another name; nil where it prefers no such peer.
    package func renaming(_ former: String, to name: String) -> MergePolicy? {
        guard let peers = Self.preferred(self.name), peers.contains(former) else { return nil }
        return .prefer(peers.map { $0 == former ? name : $0 })
    }

    /// The peers that `prefer NAME,NAME…` lists; nil where that is no such policy's name.
    package static func preferred(_ policy: String) -> [String]? {
        let words = policy.split(separator: " ", maxSplits: 1).map(String.init)
        guard words.first == "prefer", words.count == 2 else { return nil }
        let peers = words[1].split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        return peers.isEmpty || peers.contains("") ? nil : peers
    }

    /// Reads a built-in policy's name. Returns nil for a name that is not built in.
    public init?(named name: String) {
        if let peers = Self.preferred(name) {
            self = .prefer(peers)
            return
        }
        let builtIn: [MergePolicy] = [
            .lastWriter, .firstWriter, .lastWriterRow, .manual, .max, .min, .sum, .union,
        ]
        guard let policy = builtIn.first(where: { $0.name == name }) else { return nil }
        self = policy
    }
}

extension Value {
    /// SQLite's order: NULL, numbers, texts, blobs, the last two by bytes.
    /// Source: <https://www.sqlite.org/datatype3.html#sort_order>. References come last.
    func sorts(before other: Value) -> Bool {
        switch (self, other) {
        case (.integer(let a), .integer(let b)): a < b
        case (.real(let a), .real(let b)): a < b
        case (.integer(let a), .real(let b)): Self.isLess(a, b)
        case (.real(let a), .integer(let b)): Int64(exactly: a) != b && !Self.isLess(b, a)
        case (.text(let a), .text(let b)), (.blob(let a), .blob(let b)): a.lexicographicallyPrecedes(b)
        case (.reference(let a), .reference(let b)): a < b
        default: rank < other.rank
        }
    }

    /// Compares without rounding the integer.
    private static func isLess(_ integer: Int64, _ real: Double) -> Bool {
        if real >= 0x1p63 { return true }
        if real < -0x1p63 { return false }
        let whole = Int64(real.rounded(.down))
        return integer < whole || integer == whole && real > Double(whole)
    }

    private var rank: Int {
        switch self {
        case .null: 0
        case .integer, .real: 1
        case .text: 2
        case .blob: 3
        case .reference: 4
        case .external: 5
        }
    }
}

/// Sets kept as JSON arrays.
private enum JSONSet {
    /// Nil where one of the values is not a JSON array. NULL counts as the empty set.
    static func union(_ values: [Value]) -> Value? {
        var texts: [String] = []
        // By bytes: texts of the same letters may be several.
        var seen: Set<Data> = []
        for value in values where !value.isNull {
            guard case .text(let bytes) = value,
                let parsed = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [Any]
            else { return nil }
            for element in parsed {
                guard
                    let data = try? JSONSerialization.data(
                        withJSONObject: element, options: [.fragmentsAllowed, .sortedKeys, .withoutEscapingSlashes])
                else { return nil }
                if seen.insert(data).inserted { texts.append(String(decoding: data, as: UTF8.self)) }
            }
        }
        return .text("[" + texts.joined(separator: ",") + "]")
    }
}
