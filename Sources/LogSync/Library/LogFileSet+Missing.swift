import LogSyncContainer

extension LogFileSet {
    /// The sequences up to `last` that no file holds.
    func missing(upTo last: UInt64) -> [ClosedRange<UInt64>] {
        var missing: [ClosedRange<UInt64>] = []
        var sequence: UInt64 = 1
        while sequence <= last {
            switch choice(for: sequence) {
            case .file(let name):
                sequence = name.last + 1
            case .gap(let next):
                missing.append(sequence...min(max(next, sequence + 1) - 1, last))
                sequence = max(next, sequence + 1)
            case .end:
                missing.append(sequence...last)
                return missing
            }
        }
        return missing
    }
}

extension [ClosedRange<UInt64>] {
    /// The parts of these ranges of sequences that lie beyond `last`.
    func beyond(_ last: UInt64) -> [ClosedRange<UInt64>] {
        filter { $0.upperBound > last }.map { Swift.max($0.lowerBound, last + 1)...$0.upperBound }
    }
}

extension LogFileName {
    /// Whether this file holds all that `other` does, and more.
    func contains(_ other: LogFileName) -> Bool {
        first <= other.first && other.last <= last && (first, last) != (other.first, other.last)
    }
}
