package import LogSyncModel

/// A subscription as the store keeps it.
package struct StoredSubscription: Sendable, Equatable {
    package var name: String
    /// As logs have it.
    package var table: String
    package var condition: String
    /// The sum of ``SubscriptionKind/bit`` of what is told.
    package var events: Int
    package var includesLocal: Bool
    /// What `watch` runs; nil for nothing.
    package var command: String?
    /// Whether a program listens to it, and not `watch`.
    package var isOfProgram: Bool
    /// The token up to which the history has been looked at.
    package var served: Int64
    /// Why it cannot be looked at now; nil where it can.
    package var trouble: String?

    package init(
        name: String, table: String, condition: String, events: Int, includesLocal: Bool, command: String?,
        isOfProgram: Bool, served: Int64 = 0
    ) {
        self.name = name
        self.table = table
        self.condition = condition
        self.events = events
        self.includesLocal = includesLocal
        self.command = command
        self.isOfProgram = isOfProgram
        self.served = served
    }
}

/// What rows do to a condition.
package enum SubscriptionKind: String, Sendable, CaseIterable {
    case enters, leaves, changes

    package var bit: Int {
        switch self {
        case .enters: 1
        case .leaves: 2
        case .changes: 4
        }
    }
}

/// What a subscription has to tell, until it is told.
package struct SubscriptionNotice: Sendable {
    /// Grows; the same where it is told again.
    package var id: Int64
    package var subscription: String
    package var kind: SubscriptionKind
    package var token: Int64
    package var table: String
    package var keys: [[Value]]
    /// Whether more rows did so than are listed.
    package var isTruncated: Bool
    package var command: String?
}
