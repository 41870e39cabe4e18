/// For each peer, the highest sequence up to which everything is included. Peers at 0 are not listed.
public struct VersionVector: Hashable, Sendable {
    public private(set) var sequences: [PeerID: UInt64]

    public init(_ sequences: [PeerID: UInt64] = [:]) {
        self.sequences = sequences.filter { $0.value > 0 }
    }

    public subscript(peer: PeerID) -> UInt64 {
        get { sequences[peer] ?? 0 }
        set { sequences[peer] = newValue == 0 ? nil : newValue }
    }

    /// Whether `dot` lies within this vector.
    public func covers(_ dot: Dot) -> Bool {
        dot.sequence <= self[dot.peer]
    }

    /// Whether every sequence of `other` lies within this vector.
    public func includes(_ other: VersionVector) -> Bool {
        other.sequences.allSatisfy { $0.value <= self[$0.key] }
    }

    /// Raises each peer to the higher of both.
    public mutating func formUnion(_ other: VersionVector) {
        for (peer, sequence) in other.sequences where sequence > self[peer] {
            self[peer] = sequence
        }
    }

    /// The peers where this vector differs from `base`, with this vector's sequences, by peer.
    public func changes(since base: VersionVector) -> [Dot] {
        var changed: [Dot] = []
        for (peer, sequence) in sequences where base[peer] != sequence {
            changed.append(Dot(peer, sequence))
        }
        return changed.sorted()
    }

    /// Every entry as a dot, by peer.
    public var dots: [Dot] {
        sequences.map { Dot($0.key, $0.value) }.sorted()
    }
}

extension VersionVector: Codable {
    public init(from decoder: any Decoder) throws {
        let raw = try decoder.singleValueContainer().decode([String: UInt64].self)
        var sequences: [PeerID: UInt64] = [:]
        for (text, sequence) in raw {
            guard let peer = PeerID(text) else {
                throw DecodingError.dataCorrupted(
                    .init(
                        codingPath: decoder.codingPath,
                        debugDescription: "a peer id is 32 lower-case hex digits, not \(text.debugDescription)"))
            }
            sequences[peer] = sequence
        }
        self.init(sequences)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        let pairs = sequences.map { ($0.key.description, $0.value) }
        try container.encode(Dictionary(uniqueKeysWithValues: pairs))
    }
}
