import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore

/// Notifications of what a store's steps changed.
extension DidImport {
    /// What a step of importing changed.
    ///
    /// - Parameter peer: the store's own.
    init(_ step: ImportStep, into store: String, as peer: PeerID, names: PeerNames) {
        self.init(
            store: store,
            transactions: step.imported.map { transaction in
                Transaction(
                    peer: names[transaction.dot.peer], sequence: transaction.dot.sequence,
                    time: Timestamp(milliseconds: transaction.time.milliseconds), author: transaction.author,
                    context: transaction.context,
                    token: HistoryToken(transaction.token, of: peer), tables: transaction.tables)
            })
    }

    /// What joining a snapshot changed, under the name of its author.
    ///
    /// - Parameter token: of what it changed in the store's history.
    init(
        _ snapshot: FoundSnapshot, _ joined: JoinedSnapshot, token: HistoryToken, into store: String, names: PeerNames
    ) {
        let transaction = Transaction(
            peer: names[snapshot.peer], sequence: snapshot.name.sequence,
            time: Timestamp(milliseconds: snapshot.manifest.taken), author: nil, context: nil,
            token: token, tables: joined.tables)
        self.init(store: store, transactions: [transaction])
    }
}
