import LogSyncFormat
import LogSyncModel

/// What one step of importing did, within one SQLite transaction.
package struct ImportStep: Sendable {
    /// The local changes that were recorded first, if there were any.
    package var recorded: RecordedTransaction?
    package var imported: [ImportedTransaction] = []
    /// What was recorded because a delete took rows that this peer had edited, under `delete-loses`, and because a program's
    /// note of the integers that it has given was raised.
    package var revived: [RecordedTransaction] = []
}

extension ImportStep {
    /// Records local changes, then merges transactions from `next` until it returns nil or the lock budget is spent, within
    /// the caller's write transaction.
    ///
    /// - Throws: ``NotReady`` for a transaction that has to wait, ``RefusedTransaction`` for one that cannot be merged,
    ///   ``UnreadyTable``, ``RowGone``, and what `next` and streaming throw; the whole step is then undone.
    static func run(in store: OpenStore, next: () throws -> IncomingTransaction?) throws -> ImportStep {
        var step = ImportStep()
        step.recorded = try RecordStep(store).run()
        let deadline = ContinuousClock.now + .seconds(store.configuration.lockBudget)
        repeat {
            guard let incoming = try next() else { break }
            try Readiness(of: incoming.header, chainBefore: incoming.chainBefore, in: store).check(incoming.header.dot)
            let merge = try TransactionMerge(store, incoming.header)
            do {
                step.imported.append(try merge.run(incoming))
            } catch let error as LogSyncError {
                if let unready = store.withoutFailedTrigger(error) { throw unready }
                throw RefusedTransaction(error, on: store.connection) ?? error
            }
            if let reinserted = merge.reinserted { step.revived.append(reinserted) }
        } while ContinuousClock.now < deadline
        guard !step.imported.isEmpty else { return step }
        try store.noteMerged()
        // Nothing else is pending.
        if try store.raiseAllocators(), let raised = try RecordStep(store).run() { step.revived.append(raised) }
        return step
    }
}
