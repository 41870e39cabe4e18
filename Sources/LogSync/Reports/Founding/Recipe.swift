import LogSyncModel

/// How the database of a known application is replicated: the options of `init`, and what its owner has to know.
public struct Recipe: Sendable {
    /// What a database has to have for the recipe to be for it.
    public struct Mark: Sendable {
        /// Tables with columns of theirs.
        public var tables: [String: [String]] = [:]
        /// Tables that it must not have.
        public var absentTables: [String] = []
        /// `PRAGMA application_id`; nil where the application sets none.
        public var applicationID: Int64?

        public init() {}
    }

    public var name: String
    /// The application, and which of its databases.
    public var title: String
    /// What its owner has to know.
    public var note: String
    public var mark: Mark
    /// What ``InitializeOptions`` say of tables and columns; a name of a `local` or `skip` table may end in `*`.
    public var options: InitializeOptions
    /// Functions that the application defines: what the content's schema has a trigger, view or index call is made with them.
    public var functions: [String] = []
    /// Whether columns refer to the rows that Core Data's names and `Z_PRIMARYKEY` say.
    public var readsEntities = false
    /// Whether it is for what applications are made with, and not for one: then it does not say of all columns to which rows
    /// they refer.
    public var isOfFramework = false

    public init(name: String, title: String, note: String, mark: Mark, options: InitializeOptions) {
        self.name = name
        self.title = title
        self.note = note
        self.mark = mark
        self.options = options
    }
}

/// Which recipe `init` goes by.
public indirect enum RecipeChoice: Sendable {
    case none
    /// The one of these that matches the database, where a content is founded.
    case matching([Recipe])
    case given(Recipe)
}
