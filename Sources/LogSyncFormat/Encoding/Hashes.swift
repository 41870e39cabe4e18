import Crypto
package import LogSyncModel

/// 32 bytes of SHA-256.
package protocol LogHash: Hashable, Comparable, Sendable, CustomStringConvertible {
    var bytes: [UInt8] { get }
    /// Returns nil unless there are 32 bytes.
    init?(bytes: some Collection<UInt8>)
}

extension LogHash {
    package static func < (a: Self, b: Self) -> Bool { a.bytes.lexicographicallyPrecedes(b.bytes) }

    /// 64 lower-case hex digits.
    package var description: String { Hex.encode(bytes) }
}

/// Says what a peer's log is up to and including one transaction, each transaction hashed onto the one before.
///
/// It runs over canonical transactions: it depends neither on compression nor on how transactions are grouped in files.
/// Two peers that have the same chain hash for a dot have the same history of that peer
/// (Documentation/log-format.md, chain hash).
package struct ChainHash: LogHash {
    package let bytes: [UInt8]

    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 32 else { return nil }
        self.bytes = Array(bytes)
    }

    init(_ digest: SHA256.Digest) { bytes = Array(digest) }

    private init(zeros: Void) { bytes = [UInt8](repeating: 0, count: 32) }

    /// Its first eight bytes.
    package var mark: ChainMark { ChainMark(rawValue: bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }) }

    /// Stands for a chain hash of which only the mark is known: the rest is zeros.
    package init(_ mark: ChainMark) {
        bytes = withUnsafeBytes(of: mark.rawValue.bigEndian, Array.init) + [UInt8](repeating: 0, count: 24)
    }

    /// Whether this is `other`, or stands for it.
    package func means(_ other: ChainHash) -> Bool {
        self == other || (mark == other.mark && bytes.dropFirst(8).allSatisfy { $0 == 0 })
    }

    /// The chain hash before a peer's first transaction: 32 zero bytes.
    package static let zero = ChainHash(zeros: ())
}

/// SHA-256 over all the bytes of a file; its first 32 hex digits stand in the file's name.
package struct FileHash: LogHash {
    package let bytes: [UInt8]

    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 32 else { return nil }
        self.bytes = Array(bytes)
    }

    init(_ digest: SHA256.Digest) { bytes = Array(digest) }

    /// The 32 hex digits that stand in a file's name.
    package var nameDigits: String { Hex.encode(bytes.prefix(16)) }
}

extension SHA256 {
    mutating func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { update(bufferPointer: $0) }
    }

    mutating func update(_ bytes: ArraySlice<UInt8>) {
        bytes.withUnsafeBytes { update(bufferPointer: $0) }
    }
}

/// Adds one transaction to a chain.
struct ChainHasher {
    private var sha = SHA256()

    init(previous: ChainHash, peer: PeerID, sequence: UInt64) {
        sha.update(Array("logsync chain 1\0".utf8))
        sha.update(previous.bytes)
        sha.update(peer.bytes)
        withUnsafeBytes(of: sequence.littleEndian) { sha.update(bufferPointer: $0) }
    }

    mutating func add(_ type: BlockType, continued: Bool, raw: UnsafeRawBufferPointer) {
        let length = UInt32(raw.count)
        let prefix: [UInt8] = [
            type.rawValue, continued ? 1 : 0, UInt8(truncatingIfNeeded: length), UInt8(truncatingIfNeeded: length >> 8),
            UInt8(truncatingIfNeeded: length >> 16), UInt8(truncatingIfNeeded: length >> 24),
        ]
        sha.update(prefix)
        sha.update(bufferPointer: raw)
    }

    func finalize() -> ChainHash { ChainHash(sha.finalize()) }
}
