import Dispatch
package import LogSyncModel

/// A ``TransactionEncoder`` that encodes large groups on another thread, while the next one is put together.
///
/// It gives the same blocks in the same order, on the thread that uses it; those of a large group when the next call is
/// made. One group at a time is encoded: the memory that it takes is that of one group more, so groups should be portions of
/// a few megabytes.
package final class BackgroundEncoder {
    /// What the threads hand to each other.
    ///
    /// Unchecked because the other thread uses it from when it is given a group until `end` is signalled, and this one
    /// does not meanwhile.
    private final class Work: @unchecked Sendable {
        var encoder: TransactionEncoder?
        var blocks: [EncodedBlock] = []
        private var failure: (any Error)?
        private let end = DispatchSemaphore(value: 0)

        func begin(_ group: RowGroup) {
            DispatchQueue.global(qos: .userInitiated).async { [self] in
                do { try encoder?.append(group) } catch { failure = error }
                end.signal()
            }
        }

        func wait() throws {
            end.wait()
            if let failure { throw failure }
        }
    }

    /// How many rows a group has at least that another thread is worth while for.
    private static let leastRows = 1024

    private let work = Work()
    private let emit: (EncodedBlock) throws -> Void
    private var isUnderWay = false

    /// Emits the header block.
    ///
    /// - Parameter emit: takes the blocks, in order, on the thread that calls.
    /// - Throws: as the initializer of ``TransactionEncoder``.
    package init(
        header: TransactionHeader, previous: ChainHash, emit: @escaping (EncodedBlock) throws -> Void
    ) throws {
        self.emit = emit
        work.encoder = try TransactionEncoder(header: header, previous: previous) { [unowned work] in
            work.blocks.append($0)
        }
        try emitBlocks()
    }

    /// Adds a group, as ``TransactionEncoder/append(_:)`` does.
    ///
    /// - Throws: what that throws, of this group or the one before; what `emit` throws.
    package func append(_ group: RowGroup) throws {
        try settle()
        if group.rowCount >= Self.leastRows {
            isUnderWay = true
            work.begin(group)
        } else {
            try work.encoder?.append(group)
            try emitBlocks()
        }
    }

    /// Emits what is left, as ``TransactionEncoder/finish()`` does.
    ///
    /// - Throws: what that throws, or the last group did.
    package func finish() throws -> (chain: ChainHash, counts: [String: ChangeCounts]) {
        try settle()
        guard let end = try work.encoder?.finish() else { preconditionFailure("it has had an encoder from the start") }
        try emitBlocks()
        return end
    }

    private func settle() throws {
        guard isUnderWay else { return }
        isUnderWay = false
        try work.wait()
        try emitBlocks()
    }

    private func emitBlocks() throws {
        let blocks = work.blocks
        work.blocks = []
        for block in blocks { try emit(block) }
    }
}
