/// A hybrid logical time: 48 bits of Unix milliseconds and a 16-bit counter that orders what happens within one.
///
/// Time 0 is the time of seeded and found rows; it loses to every edit.
public struct HybridTime: Hashable, Comparable, Sendable {
    public let rawValue: UInt64

    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// - Parameters:
    ///   - milliseconds: Unix time; clamped to 0 ..< 2⁴⁸.
    ///   - counter: the order within the millisecond.
    public init(milliseconds: Int64, counter: UInt16 = 0) {
        let clamped = UInt64(min(max(milliseconds, 0), Self.maximumMilliseconds))
        rawValue = clamped << 16 | UInt64(counter)
    }

    public static let zero = HybridTime(rawValue: 0)
    public static let maximumMilliseconds: Int64 = 1 << 48 - 1

    /// Unix time in milliseconds.
    public var milliseconds: Int64 { Int64(rawValue >> 16) }
    public var counter: UInt16 { UInt16(truncatingIfNeeded: rawValue) }

    /// The least time above this one; the greatest time stays itself.
    public var successor: HybridTime {
        rawValue == .max ? self : HybridTime(rawValue: rawValue + 1)
    }

    public static func < (a: HybridTime, b: HybridTime) -> Bool {
        a.rawValue < b.rawValue
    }
}
