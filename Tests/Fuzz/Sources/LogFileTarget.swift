import LogSyncFormat
import LogSyncModel

/// The log file decoder: no input may do more than make it throw a `LogFileError`.
enum LogFileTarget {
    static func run(_ bytes: [UInt8]) {
        read(bytes)
        if let repaired = Hashes.repaired(bytes, trailerLength: 72, totalLength: 16) { read(repaired) }
    }

    private static func read(_ bytes: [UInt8]) {
        // Each alone, because a reader that threw is of no more use.
        attempt { _ = try LogFileReader(MemorySource(bytes)).verify() }
        attempt { try LogFileReader(MemorySource(bytes)).forEachSummary { _ in } }
        attempt { try LogFileReader(MemorySource(bytes)).forEachBlock { _ in } }
        attempt {
            let reader = try LogFileReader(MemorySource(bytes))
            while let transaction = try reader.nextTransaction() {
                while let groups = try transaction.nextFrame() { try check(groups, transaction.header) }
                _ = try transaction.finish()
            }
        }
    }

    /// What is taken is consistent, can be written again, and then means the same.
    static func check(_ groups: [RowGroup], _ header: TransactionHeader) throws {
        for group in groups { require(group.isConsistent, "an inconsistent group was decoded: \(group)") }
        check(header)
        var blocks: [[UInt8]] = []
        var encoder = try TransactionEncoder(header: header, previous: .zero, compresses: false) {
            blocks.append($0.bytes)
        }
        for group in groups { try encoder.append(group) }
        let end = try encoder.finish()
        var rest = blocks[...]
        let segment = try SegmentReader(peer: header.dot.peer, previous: .zero) { rest.popFirst() }
        require(segment.header == header, "\(header) was written and \(segment.header) read back")
        var again: [RowGroup] = []
        while let frame = try segment.nextFrame() { again += frame }
        require(again == groups, "\(groups) were written and \(again) read back")
        require(try segment.finish().chain == end.chain, "the chain hash is another when read back")
    }
}

extension LogFileTarget {
    /// What a header says is within bounds.
    static func check(_ header: TransactionHeader) {
        let sequences = [header.dot.sequence] + header.dependencyChanges.map(\.dot.sequence)
        require(
            sequences.allSatisfy { (1...Limits.sequence).contains($0) }
                && header.author?.utf8.count ?? 0 <= Limits.author
                && header.context?.utf8.count ?? 0 <= Limits.context, "\(header) is beyond all bounds")
    }
}

/// Runs a decoder. What it throws for bad input is as it should be; anything else is a defect.
func attempt(_ body: () throws -> Void) {
    do {
        try body()
    } catch is LogFileError {
    } catch {
        fatalError("bad input made the decoder throw \(error)")
    }
}

extension RowGroup {
    /// Whether this keeps what its documentation promises.
    fileprivate var isConsistent: Bool {
        rowCount > 0 && times.count == rowCount && [0, rowCount].contains(integers.count) && !table.isEmpty
            && identities.allSatisfy { RowIdentity(checking: $0.bytes) != nil }
            && integers.allSatisfy { $0.map(Limits.rowNumbers.contains) ?? true }
            && Set(columns.map { $0.name.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 } }).count
                == columns.count
            && columns.allSatisfy { column in
                column.values.count == rowCount && [0, rowCount].contains(column.times.count) && !column.name.isEmpty
                    && column.bases.count == (column.operation == .add ? rowCount : 0)
                    && column.bases.allSatisfy { $0.sequence <= Limits.sequence }
                    && column.values.allSatisfy {
                        guard case .reference(let identity) = $0 else { return true }
                        return RowIdentity(checking: identity.bytes) != nil
                    }
            }
    }
}
