/// One peer's log files as they stand in its folder, to choose from when importing.
///
/// Ranges may overlap, because a peer merges its small files into larger ones and the small ones go later.
package struct LogFileSet: Sendable {
    /// By first sequence, then last, then hash.
    package let names: [LogFileName]
    /// The highest last sequence among the names up to each index.
    private let reaches: [UInt64]

    package init(_ names: some Sequence<LogFileName>) {
        self.names = names.sorted()
        var reach: UInt64 = 0
        reaches = self.names.map {
            reach = max(reach, $0.last)
            return reach
        }
    }

    /// The highest sequence in any file; 0 where there is none.
    package var reach: UInt64 { reaches.last ?? 0 }

    package enum Choice: Hashable, Sendable {
        /// The file that holds the sequence and reaches furthest.
        case file(LogFileName)
        /// No file holds the sequence, yet a later one is here, the first of them from `next`.
        case gap(next: UInt64)
        /// Nothing from the sequence on is here.
        case end
    }

    /// Chooses the file to import `sequence` from.
    ///
    /// - Parameter isUsable: whether a file can be read (complete, of a known format); another may hold the same.
    package func choice(for sequence: UInt64, where isUsable: (LogFileName) -> Bool = { _ in true }) -> Choice {
        if let best = candidates(for: sequence).first(where: isUsable) { return .file(best) }
        let next = names.partitionIndex { $0.first > sequence }
        if let later = names[next...].first(where: isUsable) ?? names[next...].first { return .gap(next: later.first) }
        return candidates(for: sequence).isEmpty ? .end : .gap(next: reach + 1)
    }

    /// The files that hold `sequence`, the one that reaches furthest first.
    package func candidates(for sequence: UInt64) -> [LogFileName] {
        var found: [LogFileName] = []
        var index = names.partitionIndex { $0.first > sequence }
        while index > 0, reaches[index - 1] >= sequence {
            index -= 1
            if names[index].covers(sequence) { found.append(names[index]) }
        }
        return found.sorted { ($1.last, $0) < ($0.last, $1) }
    }
}

extension Array {
    /// The index of the first element for which `isAfter` holds, given that it holds for all that follow it.
    fileprivate func partitionIndex(where isAfter: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isAfter(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
