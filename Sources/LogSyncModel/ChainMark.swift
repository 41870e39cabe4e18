/// The first eight bytes of a peer's chain hash at one of its transactions, as a big-endian number.
///
/// Where two stores have written under one id, there are two transactions of one dot; their marks tell them apart
/// (Documentation/forks.md).
public struct ChainMark: RawRepresentable, Hashable, Comparable, Sendable {
    public var rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }

    public static func < (a: ChainMark, b: ChainMark) -> Bool { a.rawValue < b.rawValue }
}

extension ChainMark: CustomStringConvertible {
    /// 16 lower-case hex digits.
    public var description: String {
        withUnsafeBytes(of: rawValue.bigEndian) { Hex.encode($0) }
    }
}

/// An entry of a transaction's dependencies: its author had imported everything of a peer up to here.
public struct Dependency: Hashable, Sendable {
    public var dot: Dot
    /// Which transaction of that dot it was; nil in logs that do not say.
    public var mark: ChainMark?

    public init(_ dot: Dot, mark: ChainMark? = nil) {
        self.dot = dot
        self.mark = mark
    }
}
