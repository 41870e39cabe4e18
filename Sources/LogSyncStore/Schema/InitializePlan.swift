package import LogSyncModel

/// How `init` is told to identify rows and what to leave out.
package struct InitializePlan: Sendable {
    package var content: String
    package var container: String
    package var peerName: String
    /// By table name as the user gave it: `natural`, `surrogate` or a list of columns.
    package var identities: [String: IdentityChoice] = [:]
    /// The same as the content has settled it: passed over where this schema cannot follow it, for anybody may write
    /// settings.
    var settledIdentities: [String: IdentityChoice] = [:]
    /// The columns of tables' first keys, where they have others by now (``KeyHistory``); by tables' names in lower case.
    var firstKeys: [String: [String]] = [:]
    /// (child table, column, parent table) of undeclared references.
    package var references: [(table: String, column: String, parent: String)] = []
    /// (table, column) of columns that refer to nothing, though they may seem to.
    package var notReferences: [(table: String, column: String)] = []
    /// (`TABLE` or `TABLE.COLUMN`, policy), in the order given.
    package var policies: [(target: String, policy: String)] = []
    package var local: [String] = []
    package var skip: [String] = []
    package var later = LaterTables()
    /// Where the program notes the integers that it has given to rows.
    package var allocators: [ProgramAllocator] = []
    /// The recipe that some of this is from; nil where none is.
    package var recipe: String?
    /// `TABLE.COLUMN` of the references that are from it, in lower case.
    package var recipeReferences: Set<String> = []
    /// Whether the recipe is of one who has looked at the application's columns: it says of what they refer to, and is of
    /// more than what the application is made with.
    package var knowsColumns = false
    /// (`TABLE.COLUMN`, parent) with `#` for a number in the tables' names: of tables that may come, too.
    package var referencePatterns: [(target: String, parent: String)] = []
    package var keepJournal = false
    package var machineID: String?
    /// The settings that the content already has, where this store joins it: (kind, target, value) as in the rows of
    /// `logsync_setting`. They go before flags; flags that contradict them are refused by the caller.
    package var settings: [(kind: String, target: String, value: String)] = []

    /// The content's settings of names that nothing bears out; they are not among ``settings``.
    package var unfollowed: [UnfollowedRename] = []

    package init(content: String, container: String, peerName: String) {
        self.content = content
        self.container = container
        self.peerName = peerName
    }
}

package enum IdentityChoice: Sendable, Hashable {
    case natural
    case surrogate
    case columns([String])
}

extension InitializePlan {
    /// The plan with what the content has settled already.
    func withContentSettings() -> InitializePlan {
        var plan = self
        // What rows are identified by is settled for tables that are replicated, and for no others: whatever else is said of
        // them, by anybody who can write the folder.
        let identified = Set(settings.filter { $0.kind == "identity" }.map { $0.target.folded })
        // By what they are called now, too: one may have the name of a table that was left out.
        let replicated = identified.union(
            settings.filter { $0.kind == "rename" && identified.contains($0.value.folded) }.map { $0.target.folded })
        for setting in settings {
            switch setting.kind {
            case "identity":
                let parts = setting.value.split(separator: "=", maxSplits: 1).map(String.init)
                switch parts.first {
                case "natural": plan.settledIdentities[setting.target] = .natural
                case "surrogate": plan.settledIdentities[setting.target] = .surrogate
                case "columns":
                    // A setting that another version wrote in another way leaves the default.
                    if let columns = try? KeyList.decode(parts.last ?? "") {
                        plan.settledIdentities[setting.target] = .columns(columns)
                    }
                default: break
                }
            case "reference":
                let readings = ColumnName.readings(of: setting.target)
                let known = readings.filter { replicated.contains($0.table.folded) }
                for name in known.isEmpty ? readings.suffix(1) : known {
                    plan.references.append((name.table, name.column, setting.value))
                }
            case KeyHistory.setting: plan.firstKeys[setting.target.folded] = try? KeyList.decode(setting.value)
            case "skip" where !replicated.contains(setting.target.folded): plan.skip.append(setting.target)
            case "local" where !replicated.contains(setting.target.folded): plan.local.append(setting.target)
            case AppSchema.Left.skip.all: plan.later.allSkip.insert(setting.target)
            case AppSchema.Left.local.all: plan.later.allLocal.insert(setting.target)
            default: break
            }
        }
        // Settings have names in logs; here a table may be called something else.
        for setting in settings where setting.kind == "rename" {
            guard !replicated.contains(setting.target.folded) else { continue }
            if plan.skip.contains(setting.value) { plan.skip.append(setting.target) }
            if plan.local.contains(setting.value) { plan.local.append(setting.target) }
        }
        return plan
    }
}
