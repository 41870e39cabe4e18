public import LogSyncModel

/// What `init` did, or with `dryRun` would do.
public struct InitializeReport: Sendable, Encodable {
    public let format = 1
    public var store: String
    public var content: String
    /// The container's path.
    public var container: String
    /// This store's peer; nil for a dry run of a database that is no store yet.
    public var peer: PeerName?
    public var dryRun = false
    /// The database already was a store of this content; nothing was changed.
    public var alreadyInitialized = false
    /// The content was there already, and what it holds was merged.
    public var joined = false
    /// The recipe for its application that the content goes by; nil where there is none.
    @JSONValue.NullWhereNone public var recipe: String?
    /// What the recipe says to the database's owner.
    public var note: String?
    public var tables: [TableReport] = []
    /// What may not be as it was meant, as sentences.
    public var warnings: [String] = []
    /// Columns that refer to other tables' rows, or seem to; empty for a database that is a store already.
    public var references: [ReferenceReport] = []
    /// Those of them that an option has to decide before the database can be a store.
    public var undecided: [ReferenceReport.Undecided] = []
    /// Integer keys of which an option has to say first whether they are the same everywhere.
    public var undecidedKeys: [TableReport.UndecidedKey] = []
    /// Tables of which a policy has to say first what becomes of two rows of one UNIQUE key, where the database would join a
    /// content that has such.
    public var contested: [TableReport.Contested] = []
    /// Tables that cannot be replicated as they are, all of them.
    public var refusals: [TableReport.Refusal] = []
    /// The error that ends a call which is no dry run; nil where nothing is refused or undecided.
    public var obstacle: LogSyncError?
    /// How many transactions were recorded, published and imported.
    public var recorded = 0
    public var published = 0
    public var imported = 0
    public var held: [HeldItem] = []

    public var outcome: Outcome { Outcome(held: held) }

    private enum CodingKeys: String, CodingKey {
        case format, store, content, container, peer, dryRun, alreadyInitialized, joined, tables, references, undecided
        case recipe, note, undecidedKeys, contested, refusals, warnings, recorded, published, imported, held
    }
}
