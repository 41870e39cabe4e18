import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore

/// Notifications of what a store's steps changed.
extension DidImport {
    /// What a step of importing changed.
    init(_ step: ImportStep, into store: String, names: PeerNames) {
        self.init(
            store: store,
            transactions: step.imported.map { transaction in
                Transaction(
                    peer: names[transaction.dot.peer], sequence: transaction.dot.sequence,
                    time: Timestamp(milliseconds: transaction.time.milliseconds), author: transaction.author,
                    context: transaction.context,
                    token: HistoryToken(transaction.token), tables: transaction.tables)
            })
    }

    /// What joining a snapshot changed, under the name of its author.
    ///
    /// - Parameter token: of what it changed in the store's history.
    init(
        _ snapshot: FoundSnapshot, _ joined: JoinedSnapshot, token: Int64, into store: String, names: PeerNames
    ) {
        let transaction = Transaction(
            peer: names[snapshot.peer], sequence: snapshot.name.sequence,
            time: Timestamp(milliseconds: snapshot.manifest.taken), author: nil, context: nil,
            token: HistoryToken(token), tables: joined.tables)
        self.init(store: store, transactions: [transaction])
    }
}
