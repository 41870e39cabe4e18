import LogSyncFormat
import LogSyncModel
import LogSyncSQLite

/// What one step of importing did, within one SQLite transaction.
package struct ImportStep: Sendable {
    /// The local changes that were recorded first, if there were any.
    package var recorded: RecordedTransaction?
    package var imported: [ImportedTransaction] = []
    /// What was recorded because a delete took rows that this peer had edited, under `delete-loses`, because a program's
    /// note of the integers that it has given was raised, and what rows hold that were written again after a restore.
    package var revived: [RecordedTransaction] = []
    /// What was merged without its bytes, because nobody has them any more; ``revived`` says it anew.
    package var lost: [LostValue] = []
}

extension ImportStep {
    /// Records local changes, then merges transactions from `next` until it returns nil or the lock budget is spent, within
    /// the caller's write transaction. One that says that a column is another one than it was taken for here ends the step: what
    /// comes after it may be a peer's answer to that, and not to what rows hold here under the former name.
    ///
    /// - Throws: ``NotReady`` for a transaction that has to wait, ``RefusedTransaction`` for one that cannot be merged,
    ///   ``UnreadyTable``, ``RowGone``, and what `next` and streaming throw; the whole step is then undone.
    static func run(in store: OpenStore, next: () throws -> IncomingTransaction?) throws -> ImportStep {
        var step = ImportStep()
        step.recorded = try RecordStep(store).run()
        let deadline = ContinuousClock.now + .seconds(store.configuration.lockBudget)
        // Where a column that is held is in the way of taking it up, that is nothing new.
        let wereTold = try RecordStep.hasLateRenames(store)
        repeat {
            guard let incoming = try next() else { break }
            try step.merge(incoming, into: store) { try TransactionMerge(store, $0) }
        } while try ContinuousClock.now < deadline && (wereTold || !RecordStep.hasLateRenames(store))
        try step.finish(in: store)
        return step
    }

    /// Merges the next transaction of the peer that a restored store was, then records what that one does not say; see
    /// ``RepeatedCaptures``. What `next` gives may be streamed twice.
    ///
    /// - Parameter isExact: whether a captured row is taken for one of the transaction only if it was captured in the very
    ///   millisecond that this says.
    /// - Throws: as ``run(in:next:)``; ``UncertainRepetition``.
    static func runRepeating(
        in store: OpenStore, isExact: Bool, next: () throws -> IncomingTransaction?
    ) throws -> ImportStep {
        var step = ImportStep()
        guard let incoming = try next() else { return step }
        // A backup's schema counts as changed, whatever it is.
        let isOpen = try RecordStep.isSchemaOpen(store)
        let findings = isOpen ? try SchemaReconciliation(store: store).reconcile() : SchemaFindings()
        // With another schema, what was captured may mean something else.
        guard findings.hasNoChange else { throw UncertainRepetition() }
        var recorded: RecordedTransaction?
        var repeated: RepeatedCaptures?
        try step.merge(incoming, into: store) { header in
            try store.copyAppTriggers()
            let early = try TransactionMerge(store, header)
            var captures = RepeatedCaptures(store, early, isExact: isExact)
            let merged = try captures.forget(incoming)
            repeated = captures
            recorded = try RecordStep(store, findings: findings, reconciles: isOpen).run()
            return try TransactionMerge(store, header, after: merged, early.notes)
        }
        step.recorded = recorded
        try repeated?.writeAgain()
        if let again = try RecordStep(store).run() { step.revived.append(again) }
        try step.finish(in: store)
        return step
    }

    private mutating func merge(
        _ incoming: IncomingTransaction, into store: OpenStore, _ begin: (TransactionHeader) throws -> TransactionMerge
    ) throws {
        try Readiness(of: incoming.header, chainBefore: incoming.chainBefore, in: store).check(incoming.header.dot)
        let merge = try begin(incoming.header)
        do {
            imported.append(try merge.run(try Self.checked(incoming, in: store)))
        } catch let error as LogSyncError {
            if let unready = try store.withoutFailedTrigger(error) { throw unready }
            throw try RefusedTransaction(error, on: store.connection) ?? error
        }
        if let reinserted = merge.reinserted { revived.append(reinserted) }
        lost += merge.lost
    }

    /// A transaction that is refused, with `locked`, when it comes to a table of which a program has made a copy to take its
    /// place.
    private static func checked(_ incoming: IncomingTransaction, in store: OpenStore) throws -> IncomingTransaction {
        let copies = try UnfinishedRebuild(store: store).filledCopies()
        guard !copies.isEmpty else { return incoming }
        var checked = incoming
        checked.forEachGroup = { body in
            try incoming.forEachGroup { group in
                if let table = store.catalog[group.table]?.schema.name, let copy = copies[table.folded] {
                    throw LogSyncError(
                        .locked,
                        "a program seems to be making the table \(table) anew: \(copy) has its rows already; nothing was "
                            + "imported",
                        help:
                            "Run the command again when the program is done; after a minute \(copy) is a table like any other."
                    )
                }
                try body(group)
            }
        }
        return checked
    }

    private mutating func finish(in store: OpenStore) throws {
        guard !imported.isEmpty else { return }
        try store.noteMerged()
        for value in lost {
            if let again = try ConflictResolution(store).restate(value) { revived.append(again) }
        }
        // Nothing else is pending.
        let isRaised = try store.raiseAllocators()
        if try isRaised || RecordStep.isSchemaOpen(store), let again = try RecordStep(store).run() {
            revived.append(again)
        }
    }
}
