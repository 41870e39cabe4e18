import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore

/// Notifications of what a store's steps changed.
extension DidImport {
    /// What a step of importing changed.
    ///
    init(_ step: ImportStep, into store: ReplicatedStore) throws {
        let (names, tableNames) = (try store.names(), try store.store.tableNames())
        self.init(
            store: store.place.path,
            transactions: step.imported.map { transaction in
                Transaction(
                    peer: names[transaction.dot.peer], sequence: transaction.dot.sequence,
                    time: Timestamp(milliseconds: transaction.time.milliseconds), author: transaction.author,
                    context: transaction.context, token: store.token(transaction.token),
                    tables: transaction.tables.named(tableNames))
            })
    }

    /// What joining a snapshot changed, under the name of its author.
    init(_ snapshot: FoundSnapshot, _ joined: JoinedSnapshot, into store: ReplicatedStore) throws {
        let transaction = Transaction(
            peer: try store.names()[snapshot.peer], sequence: snapshot.name.sequence,
            time: Timestamp(milliseconds: snapshot.manifest.taken), author: nil, context: nil,
            token: store.token(try store.store.lastToken()), tables: joined.tables.named(try store.store.tableNames()))
        self.init(store: store.place.path, transactions: [transaction])
    }
}

extension [String: TableChanges] {
    /// By what the tables are called in the database, which may be otherwise than in logs.
    func named(_ names: [String: String]) -> Self {
        Dictionary(map { (names[$0.key] ?? $0.key, $0.value) }) { $0.adding($1) }
    }
}
