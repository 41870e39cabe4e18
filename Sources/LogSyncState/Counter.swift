package import LogSyncModel

/// Counters: cells under the policy `sum` (Documentation/model.md, shown state, 2, and particular rules).
package enum Counter {
    /// A base and what was added to it, in the order of base and peer; additions to bases that are gone do not count.
    ///
    /// - Parameter id: a peer's id by its local number.
    package static func sum(
        _ base: Value, _ additions: [Addition], of versions: [Version], peer id: (Int64) -> PeerID
    ) -> Value {
        let bases = Set(versions.map { Base(peer: $0.stamp.peer, sequence: $0.stamp.sequence) })
        let counted = additions.filter { bases.contains(Base(peer: $0.basePeer, sequence: $0.baseSequence)) }
        let sorted = counted.sorted { a, b in
            (id(a.basePeer), a.baseSequence, id(a.peer))
                < (id(b.basePeer), b.baseSequence, id(b.peer))
        }
        return sorted.reduce(base) { add($0, $1.cumulative) ?? $0 }
    }

    private struct Base: Hashable {
        var peer: Int64
        var sequence: UInt64
    }

    /// Integers while they fit, else reals, as SQLite adds. Nil where one is no number.
    package static func add(_ a: Value, _ b: Value) -> Value? {
        if case .integer(let a) = a, case .integer(let b) = b {
            let (sum, overflows) = a.addingReportingOverflow(b)
            if !overflows { return .integer(sum) }
        }
        guard let a = number(a), let b = number(b) else { return nil }
        return .real(a + b)
    }

    /// By how much a counter was changed. Nil where it cannot be told as an amount: no number, or too large a step.
    package static func difference(from old: Value, to new: Value) -> Value? {
        if case .integer(let old) = old, case .integer(let new) = new {
            let (difference, overflows) = new.subtractingReportingOverflow(old)
            return overflows ? nil : .integer(difference)
        }
        guard let old = number(old), let new = number(new) else { return nil }
        let difference = new - old
        return difference.isFinite ? .real(difference) : nil
    }

    /// Whether a step says what was written: what it makes of the value before, and of the counter as a whole, is that, but
    /// for rounding. It is not where the amounts differ so much in size that floating point loses the smaller one.
    ///
    /// - Parameters:
    ///   - amount: the step, from `old` to `new`.
    ///   - sum: the counter with the step in it.
    package static func tells(_ amount: Value, from old: Value, to new: Value, sum: Value) -> Bool {
        guard let step = number(amount), let new = number(new), let sum = number(sum),
            let stepped = add(old, amount).flatMap(number)
        else { return false }
        return abs(stepped - new) <= rounding * abs(new) && abs(sum - new) <= rounding * max(abs(step), abs(new))
    }

    /// What many small additions may come to, and nobody's amounts differ by.
    private static let rounding = 0x1p-30

    private static func number(_ value: Value) -> Double? {
        switch value {
        case .integer(let integer): Double(integer)
        case .real(let real) where real.isFinite: real
        default: nil
        }
    }

    package static func isZero(_ value: Value) -> Bool { number(value) == 0 }
}
