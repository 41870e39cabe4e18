// Conditions that programs want to hear of (Documentation/swift.md, subscriptions).
//
// The problem. A program wants to be told when imports make rows of a table enter a condition, leave it, or change within
// it; once, whichever process imported them, and also where a process died at any moment.
//
// The steps. Each subscription has the rows that are within its condition as members, and the token up to which the
// history has been served. At the end of every write transaction of logsync's, each is served what the history has beyond
// that token: the rows that changed are looked up, compared with the members, and what is told of them is put into an
// outbox of firings. All of it is in the transaction that changed the rows, so that both are there or neither.
//
// The exception. A program's write within its own connection (`write(in:)`) is recorded there, where its authorizer is in
// the way; it is served with the next write transaction of logsync's. Where the history does not list the keys, because
// they were too many or an older logsync has recorded them, all rows are compared with the members.
//
// An example. `done = 0` on `item`, members {4}. An import sets 4 to done and inserts 5: leaves [4], enters [5]. An import
// of both at once that sets 5 to done and not done again fires `changes` [5].

import LogSyncModel
import LogSyncSQLite

/// Tells what enters and leaves the conditions of subscriptions, within the caller's write transaction.
struct Subscriptions {
    let store: OpenStore

    private var connection: Connection { store.connection }

    /// How many firings of a subscription wait; beyond it the last one takes up what is new.
    private static let maximumFirings: Int64 = 1000

    /// Whether there are any.
    static func areThere(_ store: OpenStore) throws -> Bool {
        guard try store.has("logsync_subscription") else { return false }
        return try store.connection.integer("SELECT EXISTS(SELECT 1 FROM logsync_subscription)") == 1
    }

    // MARK: Registering

    func all() throws -> [StoredSubscription] {
        guard try store.has("logsync_subscription") else { return [] }
        return try connection.rows(
            """
            SELECT name, table_name, condition, events, is_local, command, is_program, served, trouble
            FROM logsync_subscription ORDER BY name
            """
        ).map { row in
            var subscription = StoredSubscription(
                name: String(text: row[0]), table: String(text: row[1]), condition: String(text: row[2]),
                events: Int(clamping: row[3].asInteger), includesLocal: row[4] == .integer(1),
                command: row[5].isNull ? nil : String(text: row[5]), isOfProgram: row[6] == .integer(1),
                served: row[7].asInteger)
            subscription.trouble = row[8].isNull ? nil : String(text: row[8])
            return subscription
        }
    }

    /// Keeps a subscription, in the place of one of the same name. All that is recorded counts as served.
    ///
    /// - Returns: how many rows are within it.
    /// - Throws: `usage` where the condition cannot be used.
    func add(_ subscription: StoredSubscription, on table: TrackedTable) throws -> Int {
        _ = try store.make("logsync_subscription", StoreSchema.subscriptions)
        try ConditionAuthorizer.check(subscription.condition)
        let rows = try ConditionAuthorizer.prepare(
            table.selectMembers(subscription.condition), condition: subscription.condition, on: connection)
        try remove(subscription.name)
        try connection.run(
            """
            INSERT INTO logsync_subscription(name, table_name, condition, events, is_local, command, is_program, served)
            VALUES(?, ?, ?, ?, ?, ?, ?, ?)
            """, .text(subscription.name), .text(table.name), .text(subscription.condition),
            .integer(Int64(subscription.events)), .integer(subscription.includesLocal ? 1 : 0),
            subscription.command.map { .text($0) } ?? .null, .integer(subscription.isOfProgram ? 1 : 0),
            .integer(try store.lastHistoryToken()))
        var count = 0
        while try rows.step() {
            try insert((0..<rows.columnCount).map { rows.value($0) }, subscription.name, table)
            count += 1
        }
        store.hasSubscriptions = true
        return count
    }

    /// - Returns: whether there was one.
    @discardableResult
    func remove(_ name: String) throws -> Bool {
        guard try store.has("logsync_subscription") else { return false }
        for table in ["logsync_member", "logsync_firing"] {
            try connection.run("DELETE FROM \(table) WHERE subscription = ?", .text(name))
        }
        try connection.run("DELETE FROM logsync_subscription WHERE name = ?", .text(name))
        return connection.changes > 0
    }

    func count(of name: String) throws -> Int {
        Int(try connection.integer("SELECT count(*) FROM logsync_member WHERE subscription = ?", .text(name)) ?? 0)
    }

    // MARK: Members

    private func identity(_ key: [Value], _ table: TrackedTable) -> Value {
        let collations = table.primaryKeyCollations
        let parts = key.enumerated().map { index, value in
            KeyPart(value, collation: collations.indices.contains(index) ? collations[index] : .binary)
        }
        // A key with a NULL in it tells nothing apart, and such rows have none that is listed.
        return .blob(RowIdentity(natural: parts.compactMap(\.self)).bytes)
    }

    private func insert(_ key: [Value], _ subscription: String, _ table: TrackedTable) throws {
        try connection.run(
            "INSERT OR REPLACE INTO logsync_member(subscription, identity, row_key) VALUES(?, ?, ?)",
            .text(subscription), identity(key, table), .blob(HistoryRows.encode(key: key)[...]))
    }

    // MARK: Serving

    /// What is told of rows.
    private struct Told {
        var keys: [[Value]] = []
        var isTruncated = false

        mutating func add(_ key: [Value]) {
            if keys.count < TableChanges.maximumKeys { keys.append(key) } else { isTruncated = true }
        }
    }

    /// What changed of a table since a subscription was served.
    private struct Changes {
        var imported = TableChanges()
        var local = TableChanges()
    }

    /// Tells of what the history has beyond what each subscription was served.
    func serve() throws {
        let last = try store.lastHistoryToken()
        let waiting = try renewed(all()).filter { $0.served < last }
        guard let first = waiting.map(\.served).min() else { return }
        var changes: [String: Changes] = [:]
        let keysSince = try store.keysSince()
        try store.forEachHistoryEntry(after: first) { entry in
            for subscription in waiting
            where max(subscription.served, keysSince[subscription.table] ?? 0) < entry.token {
                guard let rows = entry.rows.map({ $0[subscription.table] }) ?? entry.unlisted(subscription.table) else {
                    continue
                }
                if entry.cause.isOwn || entry.cause == .transaction && entry.dot.peer == store.ownID {
                    let known = changes[subscription.name, default: Changes()].local
                    changes[subscription.name, default: Changes()].local = known.adding(rows)
                } else {
                    let known = changes[subscription.name, default: Changes()].imported
                    changes[subscription.name, default: Changes()].imported = known.adding(rows)
                }
            }
            return true
        }
        for subscription in waiting {
            try servingWhole(subscription) {
                guard let table = store.catalog[subscription.table] else { throw isNotHere(subscription.table) }
                if let changes = changes[subscription.name] { try serve(subscription, changes, table, upTo: last) }
                try connection.run(
                    "UPDATE logsync_subscription SET served = ?, trouble = NULL WHERE name = ?", .integer(last),
                    .text(subscription.name))
            }
        }
    }

    private func isNotHere(_ table: String) -> LogSyncError {
        LogSyncError(.usage, "the table \(table) is not in this store", subject: .table(table))
    }

    // MARK: Other keys

    private static let formerKey = "members_by_former_key "

    /// Notes that the rows of a table go by another key from here on. Which of them are members is looked up when
    /// subscriptions are served next: within a program's own connection no condition is looked at.
    static func noteOtherKey(of table: TrackedTable, _ store: OpenStore) throws {
        guard try store.has("logsync_subscription") else { return }
        for row in try store.connection.rows(
            "SELECT name FROM logsync_subscription WHERE table_name = ?", .text(table.name))
        {
            try store.facts.set(formerKey + String(text: row[0]), .integer(1))
        }
    }

    /// Has the members of subscriptions go by the keys that rows have. What is within a condition by now is no news.
    private func renewed(_ subscriptions: [StoredSubscription]) throws -> [StoredSubscription] {
        for subscription in subscriptions {
            guard try store.facts.value(Self.formerKey + subscription.name) == .integer(1) else { continue }
            try servingWhole(subscription) {
                guard let table = store.catalog[subscription.table] else { throw isNotHere(subscription.table) }
                let rows = try prepare(table.selectMembers(subscription.condition), subscription)
                try connection.run("DELETE FROM logsync_member WHERE subscription = ?", .text(subscription.name))
                while try rows.step() {
                    try insert((0..<rows.columnCount).map { rows.value($0) }, subscription.name, table)
                }
                try store.facts.set(Self.formerKey + subscription.name, .null)
            }
        }
        return subscriptions
    }

    /// Serves a subscription, or leaves it as it was: a condition that fails, as one that names a column which is gone, is
    /// no reason for an import to fail. It is served when it can be again.
    private func servingWhole(_ subscription: StoredSubscription, _ body: () throws -> Void) throws {
        try connection.execute("SAVEPOINT logsync_serve")
        do {
            try body()
        } catch let error as LogSyncError where [.usage, .invalidStore].contains(error.code) {
            try connection.execute("ROLLBACK TO logsync_serve")
            if subscription.trouble != error.message {
                try connection.run(
                    "UPDATE logsync_subscription SET trouble = ? WHERE name = ?", .text(error.message),
                    .text(subscription.name))
            }
        }
        try connection.execute("RELEASE logsync_serve")
    }

    private func serve(
        _ subscription: StoredSubscription, _ changes: Changes, _ table: TrackedTable, upTo token: Int64
    ) throws {
        var told: [SubscriptionKind: Told] = [:]
        if changes.imported.isTruncated || changes.local.isTruncated {
            try compareAll(subscription, table, &told)
            let fires = changes.imported.counts != ChangeCounts() || subscription.includesLocal
            if !fires { told = [:] }
        } else {
            try compare(subscription, changes, table, &told)
        }
        for kind in SubscriptionKind.allCases where subscription.events & kind.bit != 0 {
            guard let told = told[kind] else { continue }
            try fire(subscription, kind, told, token)
        }
    }

    /// Looks up the rows that changed.
    private func compare(
        _ subscription: StoredSubscription, _ changes: Changes, _ table: TrackedTable,
        _ told: inout [SubscriptionKind: Told]
    ) throws {
        let now = try prepare(table.selectMember(subscription.condition), subscription)
        let former = try connection.prepare("SELECT 1 FROM logsync_member WHERE subscription = ? AND identity = ?")
        var seen: Set<Value> = []
        for (rows, fires) in [(changes.imported, true), (changes.local, subscription.includesLocal)] {
            for key in rows.inserted + rows.updated + rows.deleted {
                let identity = identity(key, table)
                guard seen.insert(identity).inserted else { continue }
                now.reset()
                for (index, value) in key.enumerated() { now.bind(value, at: index + 1) }
                let isInside = try now.step()
                now.reset()
                former.reset()
                former.bind(subscription.name, at: 1)
                former.bind(identity, at: 2)
                let wasInside = try former.step()
                former.reset()
                try keep(isInside, wasInside, key, identity, subscription, table)
                let kind: SubscriptionKind? =
                    isInside ? (wasInside ? .changes : .enters) : wasInside ? .leaves : nil
                if fires, let kind { told[kind, default: Told()].add(key) }
            }
        }
    }

    /// Compares all rows with the members, where it is not known which have changed. Which changed within the condition is
    /// not known then.
    private func compareAll(
        _ subscription: StoredSubscription, _ table: TrackedTable, _ told: inout [SubscriptionKind: Told]
    ) throws {
        var inside: [Value: [Value]] = [:]
        let rows = try prepare(table.selectMembers(subscription.condition), subscription)
        while try rows.step() {
            let key = (0..<rows.columnCount).map { rows.value($0) }
            inside[identity(key, table)] = key
        }
        var staying: Set<Value> = []
        for row in try connection.rows(
            "SELECT identity, row_key FROM logsync_member WHERE subscription = ? ORDER BY identity",
            .text(subscription.name))
        {
            if inside[row[0]] != nil {
                staying.insert(row[0])
                continue
            }
            guard case .blob(let bytes) = row[1], let key = HistoryRows.decode(key: bytes) else { continue }
            try keep(false, true, key, row[0], subscription, table)
            told[.leaves, default: Told()].add(key)
        }
        for (identity, key) in inside where !staying.contains(identity) {
            try keep(true, false, key, identity, subscription, table)
            told[.enters, default: Told()].add(key)
        }
        if !staying.isEmpty { told[.changes] = Told(isTruncated: true) }
    }

    private func keep(
        _ isInside: Bool, _ wasInside: Bool, _ key: [Value], _ identity: Value, _ subscription: StoredSubscription,
        _ table: TrackedTable
    ) throws {
        if isInside, !wasInside { try insert(key, subscription.name, table) }
        if !isInside, wasInside {
            try connection.run(
                "DELETE FROM logsync_member WHERE subscription = ? AND identity = ?", .text(subscription.name), identity
            )
        }
    }

    private func prepare(_ sql: String, _ subscription: StoredSubscription) throws -> Statement {
        try ConditionAuthorizer.prepare(sql, condition: subscription.condition, on: connection)
    }

    // MARK: Firings

    private func fire(
        _ subscription: StoredSubscription, _ kind: SubscriptionKind, _ told: Told, _ token: Int64
    ) throws {
        let waiting = try connection.rows(
            "SELECT count(*), max(id) FROM logsync_firing WHERE subscription = ? AND event = ?",
            .text(subscription.name), .text(kind.rawValue))
        if let row = waiting.first, row[0].asInteger >= Self.maximumFirings {
            // Nobody has asked for long: what it was in detail is for the table to say.
            try connection.run(
                "UPDATE logsync_firing SET truncated = 1, token = ? WHERE id = ?", .integer(token), row[1])
            return
        }
        let id = (try store.facts.value(Self.lastFiring)?.asInteger ?? 0) + 1
        try store.facts.set(Self.lastFiring, .integer(id))
        try connection.run(
            """
            INSERT INTO logsync_firing(id, subscription, event, token, keys, truncated) VALUES(?, ?, ?, ?, ?, ?)
            """, .integer(id), .text(subscription.name), .text(kind.rawValue), .integer(token),
            .blob(HistoryRows.encode(keys: told.keys)[...]), .integer(told.isTruncated ? 1 : 0))
    }

    private static let lastFiring = "last_firing"

    /// The firing that has waited longest, of subscriptions that a program listens to or that `watch` serves.
    ///
    /// - Parameter name: of one alone.
    func nextFiring(isOfProgram: Bool, of name: String?) throws -> SubscriptionNotice? {
        guard try store.has("logsync_subscription") else { return nil }
        let rows = try connection.rows(
            """
            SELECT f.id, f.subscription, f.event, f.token, f.keys, f.truncated, s.table_name, s.command
            FROM logsync_firing AS f JOIN logsync_subscription AS s ON s.name = f.subscription
            WHERE s.is_program = ?1 AND (?2 IS NULL OR s.name = ?2) ORDER BY f.id LIMIT 1
            """, .integer(isOfProgram ? 1 : 0), name.map { .text($0) } ?? .null)
        guard let row = rows.first, case .blob(let keys) = row[4] else { return nil }
        return SubscriptionNotice(
            id: row[0].asInteger, subscription: String(text: row[1]),
            kind: SubscriptionKind(rawValue: String(text: row[2])) ?? .changes, token: row[3].asInteger,
            table: String(text: row[6]), keys: HistoryRows.decode(keys: keys) ?? [], isTruncated: row[5] == .integer(1),
            command: row[7].isNull ? nil : String(text: row[7]))
    }
}

extension HistoryEntry {
    /// Changes of a table of which only the number is known.
    fileprivate func unlisted(_ table: String) -> TableChanges? { counts[table].map(TableChanges.init(unlisted:)) }
}

extension TrackedTable {
    /// The columns of the primary key, or the rowid.
    private var memberColumns: [String] {
        schema.integerKey != nil ? [rowid] : primaryKeyPositions.map { SQL.name(columns[$0].local) }
    }

    fileprivate var primaryKeyCollations: [Collation] {
        schema.integerKey != nil ? [.binary] : primaryKeyPositions.map { columns[$0].collation }
    }

    /// The keys of the rows within a condition. A comment in it ends with the line.
    fileprivate func selectMembers(_ condition: String) -> String {
        "SELECT \(memberColumns.joined(separator: ", ")) FROM \(quoted) WHERE (\(condition)\n)"
    }

    /// Whether the row of a key is within a condition.
    fileprivate func selectMember(_ condition: String) -> String {
        let key = memberColumns.map { "\($0) IS ?" }.joined(separator: " AND ")
        return "SELECT 1 FROM \(quoted) WHERE \(key) AND (\(condition)\n)"
    }
}
