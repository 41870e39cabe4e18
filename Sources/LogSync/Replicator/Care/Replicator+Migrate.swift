import LogSyncContainer
import LogSyncModel
import LogSyncStore
import Logging

extension Replicator {
    /// Runs a migration of the app's schema with capture kept right through it, and records what it did to rows.
    ///
    /// All of the script is one SQLite transaction: it takes hold whole or not at all. A rebuilt or renamed table goes on
    /// being captured; names that a rebuild gives, which nothing in the database says, are told by `renames`. What is
    /// recorded is published with the next ``sync()``. Other processes are asked to let go of the store.
    ///
    /// - Parameters:
    ///   - sql: the script.
    ///   - renames: `TABLE.OLD=NEW` for a column, `OLD=NEW` for a table.
    ///   - references: `CHILD.COLUMN=PARENT` for a column that has come since the store was made and refers to rows.
    ///   - notReferences: `TABLE.COLUMN` for one that seems to, and does not.
    ///   - identities: `TABLE=surrogate` for a table that has come since the store was made, and whose integers seem to mean
    ///     something, and do not.
    ///   - dryRun: whether to undo everything, and only say what would be.
    /// - Throws: `invalidScript` where a statement fails or rows would lose their parents; `usage` where a rename names
    ///   what is not there; `locked`. Nothing is then changed.
    public func migrate(
        _ sql: String, renames: [String] = [], references: [String] = [], notReferences: [String] = [],
        identities: [String] = [], dryRun: Bool = false
    ) async throws -> MigrationReport {
        let renamings = try renames.map(Renaming.init(argument:))
        var options = InitializeOptions()
        for argument in references { try options.addReference(argument) }
        for argument in notReferences { try options.addNoReference(argument) }
        for argument in identities { try options.addIdentity(argument) }
        if let (table, _) = options.identities.first(where: { $0.value != .surrogate }) {
            throw LogSyncError(
                .usage, "the identities of the rows of \(table) cannot be chosen any more; nothing was changed",
                help:
                    "Where its integers mean the same everywhere, make it anew WITHOUT ROWID, with --sql or by its program"
            )
        }
        var decided = ReferenceDecisions()
        decided.surrogates = options.identities.keys.sorted()
        decided.references = options.references.map { ($0.table, $0.column, $0.parent) }
        decided.notReferences = options.notReferences
        let decisions = decided
        try await takeAlone()
        defer {
            giveBack()
            closeStore()
        }
        return try await settledStep { store in
            let result = try store.store.migrate(
                sql, renamings: renamings, references: decisions, isDry: dryRun)
            return MigrationReport(result, store: store.place.path, dryRun: dryRun)
        }
    }
}

extension Renaming {
    /// - Throws: `usage`.
    fileprivate init(argument: String) throws {
        let sides = argument.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
        let place = (sides.first ?? "").split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
            .map(String.init)
        guard sides.count == 2, !sides[1].isEmpty, place.allSatisfy({ !$0.isEmpty }) else {
            throw LogSyncError(
                .usage, "\(argument.debugDescription) is no renaming; nothing was changed",
                help: "Write --rename TABLE.OLD=NEW for a column, --rename OLD=NEW for a table")
        }
        self.init(table: place[0], column: place.count == 2 ? place[1] : nil, to: sides[1])
    }
}

extension MigrationReport {
    init(_ result: MigrationResult, store: String, dryRun: Bool) {
        func counts(_ recorded: RecordedTransaction?) -> [String: ChangeCounts] {
            (recorded?.counts ?? [:]).filter { $0.key != SettingTable.name }
        }
        self.store = store
        self.dryRun = dryRun
        statements = result.statements
        pending = counts(result.pending)
        recorded = counts(result.recorded)
        renamed = result.renamed.map { Renamed(table: $0.table, from: $0.from, to: $0.to) }
        notReplicated = result.notReplicated
    }
}
