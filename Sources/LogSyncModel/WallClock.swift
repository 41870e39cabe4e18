import Foundation

/// Where the time of day comes from; injected, so that a simulator can own it.
public protocol WallClock: Sendable {
    /// Unix time in milliseconds.
    func now() -> Int64
}

/// The machine's clock.
public struct SystemClock: WallClock {
    public init() {}

    public func now() -> Int64 { Int64(Date().timeIntervalSince1970 * 1000) }
}
