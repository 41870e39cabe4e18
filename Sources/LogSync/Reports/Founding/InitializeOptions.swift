public import LogSyncModel

/// How ``Replicator/initialize(_:container:content:options:configuration:)`` is told to treat a database.
public struct InitializeOptions: Sendable {
    /// What says that two rows of a table are the same row.
    public enum Identity: Hashable, Sendable {
        case natural
        case surrogate
        case columns([String])
    }

    /// A foreign key that the schema does not declare.
    public struct Reference: Hashable, Sendable {
        public var table: String
        public var column: String
        public var parent: String

        public init(table: String, column: String, parent: String) {
            self.table = table
            self.column = column
            self.parent = parent
        }
    }

    /// The peer's name for people; the machine's host name where nil.
    public var peerName: String?
    public var identities: [String: Identity] = [:]
    public var references: [Reference] = []
    /// (table, column) of columns that refer to no table's rows, though they may seem to.
    public var notReferences: [(table: String, column: String)] = []
    /// (`TABLE` or `TABLE.COLUMN`, policy), in the order given.
    public var policies: [(target: String, policy: String)] = []
    /// Tables that are copied by `clone` and never replicated.
    public var local: [String] = []
    /// Tables that are left alone.
    public var skip: [String] = []
    /// What a recipe says of tables that come later.
    package var later = LaterTables()
    /// Where the program notes the integers that it gives to rows by itself.
    public var allocators: [ProgramAllocator] = []
    /// Options for a known application, which the others come before.
    public var recipe = RecipeChoice.none
    /// Whether to leave the journal mode as it is; otherwise it becomes WAL.
    public var keepJournal = false
    /// Whether only to say what would be done.
    public var dryRun = false
    /// Whether a database that has left the content joins it again though rows without a key of their own come to be there twice.
    package var joinsAgain = true

    public init() {}

    /// Takes `TABLE=natural`, `TABLE=surrogate` or `TABLE=COLUMN,…`. Throws `usage` for anything else.
    public mutating func addIdentity(_ argument: String) throws {
        let (table, choice) = try Self.split(argument, expecting: "TABLE=natural, TABLE=surrogate or TABLE=COLUMN,…")
        let identity: Identity
        switch choice {
        case "natural": identity = .natural
        case "surrogate": identity = .surrogate
        default:
            let columns = choice.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            guard !columns.contains("") else {
                throw LogSyncError(
                    .usage, "\(argument.debugDescription) names an empty column; nothing was done",
                    help: "Write --identity TABLE=COLUMN,…")
            }
            identity = .columns(columns)
        }
        if identities.contains(where: { $0.key.folded == table.folded && $0.value != identity }) {
            throw Self.contradiction("two identities for \(table)")
        }
        identities[table] = identity
    }

    /// Takes `CHILD.COLUMN=PARENT`. Throws `usage` for anything else.
    public mutating func addReference(_ argument: String) throws {
        let (child, parent) = try Self.split(argument, expecting: "CHILD.COLUMN=PARENT")
        guard let (table, column) = Self.column(child) else {
            throw LogSyncError(
                .usage, "\(argument.debugDescription) is not CHILD.COLUMN=PARENT; nothing was done",
                help: "Write --reference with the child's table and column, and the parent's table")
        }
        if let other = references.first(where: { Self.isSame(($0.table, $0.column), (table, column)) }),
            other.parent.folded != parent.folded
        {
            throw Self.contradiction("that \(child) refers to rows of \(other.parent), and to rows of \(parent)")
        }
        if notReferences.contains(where: { Self.isSame($0, (table, column)) }) { throw Self.undecided(child) }
        references.append(Reference(table: table, column: column, parent: parent))
    }

    /// Takes `TABLE.COLUMN`. Throws `usage` for anything else.
    public mutating func addNoReference(_ argument: String) throws {
        guard let (table, column) = Self.column(argument) else {
            throw LogSyncError(
                .usage, "\(argument.debugDescription) is not TABLE.COLUMN; nothing was done",
                help: "Write --no-reference with a table and its column")
        }
        if references.contains(where: { Self.isSame(($0.table, $0.column), (table, column)) }) {
            throw Self.undecided(argument)
        }
        notReferences.append((table, column))
    }

    /// - Throws: `usage` where a table is said to be treated in two ways.
    func checkAgreement() throws {
        let local = Set(local.map(\.folded))
        for table in skip where local.contains(table.folded) {
            throw Self.contradiction("that \(table) is copied by clone, and that it is left alone")
        }
        for table in identities.keys.sorted() where (self.local + skip).contains(where: { $0.folded == table.folded }) {
            throw Self.contradiction("how rows of \(table) are identified, and that it is not replicated")
        }
    }

    private static func isSame(_ a: (table: String, column: String), _ b: (table: String, column: String)) -> Bool {
        a.table.folded == b.table.folded && a.column.folded == b.column.folded
    }

    private static func undecided(_ column: String) -> LogSyncError {
        contradiction("that \(column) refers to rows, and that it does not")
    }

    /// Of options that cannot both be meant, as where each that was offered was taken over.
    private static func contradiction(_ what: String) -> LogSyncError {
        LogSyncError(
            .usage, "the options say \(what); nothing was done",
            help: "Give the one that is right: what logsync offers for a column is a choice")
    }

    private static func column(_ argument: String) -> (table: String, column: String)? {
        guard let dot = argument.lastIndex(of: "."), dot > argument.startIndex,
            argument.index(after: dot) < argument.endIndex
        else { return nil }
        return (String(argument[..<dot]), String(argument[argument.index(after: dot)...]))
    }

    /// Takes `TABLE[.COLUMN]=POLICY`. Throws `usage` for anything else.
    public mutating func addPolicy(_ argument: String) throws {
        let (target, policy) = try Self.split(argument, expecting: "TABLE[.COLUMN]=POLICY")
        policies.append((target, policy))
    }

    private static func split(_ argument: String, expecting form: String) throws -> (String, String) {
        guard let equals = argument.lastIndex(of: "="), equals > argument.startIndex,
            argument.index(after: equals) < argument.endIndex
        else {
            throw LogSyncError(
                .usage, "\(argument.debugDescription) is not \(form); nothing was done",
                help: "logsync init --help has an example")
        }
        return (String(argument[..<equals]), String(argument[argument.index(after: equals)...]))
    }
}
