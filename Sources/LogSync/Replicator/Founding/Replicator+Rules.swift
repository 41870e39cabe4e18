public import LogSyncModel

extension Replicator {
    /// How a program's tables are identified and merged: what the command line's `init` has as flags, typed.
    public struct Rules: Sendable {
        /// What becomes of the younger of two rows that have one unique key.
        public enum UniqueRule: String, Sendable {
            /// It is parked, and listed as a conflict; the default.
            case parked = "unique-park"
            /// It is folded into the older one.
            case merged = "unique-merge"
        }

        /// What becomes of an edit that a delete had not seen.
        public enum DeleteRule: String, Sendable {
            /// It is lost to the delete, and listed; the default.
            case wins = "delete-wins"
            /// Its author brings the row back.
            case loses = "delete-loses"
        }

        var options: InitializeOptions = {
            var options = InitializeOptions()
            options.joinsAgain = false
            return options
        }()
        /// Policies, by name; those in code among them.
        var policies: [String: MergePolicy] = [:]
        var tombstones: [(table: String, columns: [String])] = []

        /// - Parameter identity: what says that two rows of the table are the same row.
        public mutating func identify(_ table: String, by identity: InitializeOptions.Identity) {
            options.identities[table] = identity
        }

        /// Says that a column's integers are rows of another table, where the schema does not.
        public mutating func reference(_ table: String, _ column: String, to parent: String) {
            options.references.append(InitializeOptions.Reference(table: table, column: column, parent: parent))
        }

        /// Says that a column refers to no rows, though it may seem to.
        public mutating func noReference(_ table: String, _ column: String) {
            options.notReferences.append((table, column))
        }

        /// Sets the policy of a column, built in or in code. Every peer has to have the same code under the policy's name.
        public mutating func merge(_ table: String, _ column: String, by policy: MergePolicy) {
            options.policies.append(("\(table).\(column)", policy.name))
            policies[policy.name] = policy
        }

        /// Sets the policy of all columns of a table that have none of their own.
        public mutating func merge(_ table: String, by policy: MergePolicy) {
            options.policies.append((table, policy.name))
            policies[policy.name] = policy
        }

        public mutating func merge(_ table: String, uniques rule: UniqueRule) {
            options.policies.append((table, rule.rawValue))
        }

        public mutating func merge(_ table: String, deletes rule: DeleteRule) {
            options.policies.append((table, rule.rawValue))
        }

        /// Copies tables when a store is cloned, and never replicates them.
        public mutating func keepLocal(_ tables: String...) { options.local += tables }

        /// Has a database that has left the content, by ``Replicator/leave(dryRun:)``, join it again with all its rows. Rows that
        /// have no key but an integer, or none, are there twice then, at every peer; without this they are refused.
        public mutating func joinsAgain() { options.joinsAgain = true }

        /// Leaves tables alone.
        public mutating func skip(_ tables: String...) { options.skip += tables }

        /// What rows held in these columns stays in the history when others delete them; see
        /// ``Replicator/keepTombstones(of:columns:)``.
        public mutating func keepTombstones(of table: String, columns: String...) {
            tombstones.append((table, columns))
        }
    }
}
