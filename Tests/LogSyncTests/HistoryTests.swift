import Foundation
import GRDB
import LogSync
import LogSyncModel
import Synchronization
import Testing

@Suite("The persistent history") struct HistoryTests {
    private let world: World
    private let a: Machine
    private let b: Machine

    init() async throws {
        world = try World()
        a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE item(id INTEGER PRIMARY KEY, title TEXT, done INTEGER DEFAULT 0);
            CREATE TABLE tag(name TEXT PRIMARY KEY NOT NULL, color TEXT) WITHOUT ROWID;
            CREATE TABLE item_tag(item INTEGER NOT NULL REFERENCES item(id), tag TEXT NOT NULL REFERENCES tag(name),
                PRIMARY KEY(item, tag));
            """)
        _ = try await a.initialize()
        b = try await world.clone("b")
        // The integers of a's rows are others at b.
        try b.execute("INSERT INTO item(title) VALUES('of b 1'), ('of b 2'), ('of b 3')")
        try await settle(b, a)
    }

    /// `table kind key columns`, in order.
    private func told(_ transactions: [HistoryTransaction]) -> [String] {
        transactions.flatMap(\.changes).map { change in
            let key = change.key.values.map { "\($0.databaseValue)" }.joined(separator: ",")
            return ([change.table, change.kind.rawValue, key] + change.columns.sorted()).joined(separator: " ")
        }
    }

    @Test(
        "Rows are told under this store's own keys, updates with their columns, deleted rows with the keys that they had"
    )
    func keys() async throws {
        try a.execute(
            """
            INSERT INTO item(id, title) VALUES(77, 'Pears');
            INSERT INTO tag VALUES('fruit', 'green');
            INSERT INTO item_tag VALUES(77, 'fruit');
            """)
        try b.execute("INSERT INTO item(id, title) VALUES(77, 'of b 77')")
        try await settle(b, a)
        let seen = try await b.with { try await $0.historyToken() }
        let here = try b.count("SELECT id FROM item WHERE title = 'Pears'")
        #expect(here != 77)
        try a.execute("UPDATE item SET done = 1, title = 'Pears' WHERE id = 77; UPDATE tag SET color = 'red'")
        try await a.sync()
        try a.execute("DELETE FROM item_tag; DELETE FROM item WHERE id = 77; DELETE FROM tag")
        try await a.sync()
        try await b.sync()
        let history = try await b.with { try await $0.history(HistoryFilter(after: seen)) }
        #expect(history.map(\.cause) == [.imported, .imported] && history.allSatisfy { $0.isComplete })
        #expect(
            told(history) == [
                "item update \(here) done", "tag update \"fruit\" color",
                "item delete \(here)", "item_tag delete \(here),\"fruit\"", "tag delete \"fruit\"",
            ])
        let first = try #require(history.last?.changes.first)
        #expect(first.key["ID"] == here.databaseValue && first.key.value(as: Int.self) == here)
        #expect(history.last?.changes.first { $0.table == "item_tag" }?.key["tag"] == "fruit".databaseValue)
        // The author's own history has the same under its keys.
        let own = try await a.with { try await $0.history() }.suffix(2)
        #expect(
            told(Array(own)) == [
                "item update 77 done", "tag update \"fruit\" color",
                "item delete 77", "item_tag delete 77,\"fruit\"", "tag delete \"fruit\"",
            ])
        #expect(own.allSatisfy { $0.isLocal })
    }

    @Test("The log calls a table by the name that it has now, whichever it had when it was written to")
    func renamed() async throws {
        try a.execute("INSERT INTO tag VALUES('red', 'f00')")
        for machine in [a, b] { try machine.execute("ALTER TABLE tag RENAME TO label") }
        try await settle(a, b)
        try a.execute("UPDATE label SET color = 'e00'")
        try await settle(a, b)
        for name in ["label", "tag"] {
            let written = try await b.with { try await $0.log(table: name) }
            #expect(written.map { $0.changes.keys.sorted() } == [["label"], ["label"]])
        }
    }

    @Test("A transaction is shown with the names that tables and columns have now, a log file with the first ones")
    func shownByPresentNames() async throws {
        for machine in [a, b] {
            try machine.execute(
                "CREATE TABLE memo(id INTEGER PRIMARY KEY, item INTEGER REFERENCES item(id), text TEXT)")
        }
        try a.execute("INSERT INTO memo(text) VALUES('old')")
        try await settle(a, b)
        try b.execute("ALTER TABLE memo RENAME COLUMN text TO body; ALTER TABLE item RENAME TO thing")
        try a.execute("INSERT INTO memo VALUES(7, (SELECT min(id) FROM item), 'new')")
        try await settle(a, b)
        let last = try #require(try await b.with { try await $0.log(limit: 1) }.first)
        let shown = Rows()
        try await b.with { try await $0.show(Dot(last.peer.id, last.sequence)) { shown.add($0) } }
        #expect(shown.lines == ["memo item=thing body"])
        let logs = try world.listing().keys.filter { $0.hasSuffix(".tlog") && $0.contains(last.peer.id.description) }
        for file in logs { try Replicator.show(file: world.container + "/" + file) { shown.add($0) } }
        #expect(shown.lines.contains("memo item=item text"))
    }

    @Test("Many rows recorded or imported at once are listed like few", arguments: [3, 700, 10_050])
    func many(count: Int) async throws {
        let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count)) "
        let listed = min(count, TableChanges.maximumKeys)
        for (sql, kind) in [
            (numbers + "INSERT INTO tag SELECT 't' || i, 'c' FROM n", HistoryTransaction.Change.Kind.insert),
            ("UPDATE tag SET color = 'd'", .update), ("DELETE FROM tag", .delete),
        ] {
            let (before, later) = (
                try await a.with { try await $0.historyToken() }, try await b.with { try await $0.historyToken() }
            )
            try a.execute(sql)
            try await a.sync()
            try await b.sync()
            for (machine, token) in [(a, before), (b, later)] {
                let history = try await machine.with { replicator in
                    try await replicator.history(HistoryFilter(after: token, tables: ["TAG"]))
                }
                #expect(history.count == 1)
                let changes = history.flatMap(\.changes)
                #expect(changes.count == listed && changes.allSatisfy { $0.kind == kind })
                #expect(Set(changes.map { $0.key["name"] }).count == listed)
                #expect(history.first?.isComplete == (count == listed), "\(machine.name) \(kind)")
                if kind == .update { #expect(changes.allSatisfy { $0.columns == ["color"] }) }
            }
        }
    }

    @Test("Filters choose by author, peer, table, time, and whether it is this store's own")
    func filters() async throws {
        let queue = try a.database()
        let replicator = try a.replicator()
        for author in ["ann", "bob", nil] {
            try await replicator.write(in: queue, author: author) { db in
                try db.execute(sql: "INSERT INTO tag VALUES(?, 'x')", arguments: [author ?? "nobody"])
            }
        }
        _ = try await replicator.sync()
        func tags(_ filter: HistoryFilter) async throws -> [String] {
            try await replicator.history(filter).flatMap(\.changes).filter { $0.table == "tag" }
                .compactMap { $0.key.value() }
        }
        #expect(try await tags(HistoryFilter()) == ["ann", "bob", "nobody"])
        #expect(try await tags(HistoryFilter(authors: .only(["ann"]))) == ["ann"])
        #expect(try await tags(HistoryFilter(authors: .except(["ann"]))) == ["bob", "nobody"])
        #expect(try await tags(HistoryFilter(authors: .except(["ann"]), tables: ["tag"], limit: 1)) == ["bob"])
        #expect(try await replicator.history(HistoryFilter(tables: ["Item"])).map(\.peer.name) == ["b"])
        #expect(try await replicator.history(HistoryFilter(peers: .except(["a"]), tables: ["tag"])).isEmpty)
        #expect(
            try await replicator.history(HistoryFilter(peers: .only([b.peer().description]), isLocal: true)).isEmpty)
        let others = try await replicator.history(HistoryFilter(isLocal: false))
        #expect(!others.isEmpty && others.allSatisfy { $0.cause == .imported && $0.peer.name == "b" })
        #expect(try await tags(HistoryFilter(before: Timestamp(milliseconds: 0))).isEmpty)
        let error = await #expect(throws: LogSyncError.self) {
            try await replicator.history(HistoryFilter(tables: ["item", "tags"]))
        }
        #expect(error?.code == .usage && error?.message.contains("\"tags\"") ?? false)
        await replicator.close()
        try queue.close()
    }

    @Test("Forgotten history is expired for who asks for it, and kept for who is further")
    func forgetting() async throws {
        let replicator = try a.replicator()
        var tokens: [HistoryToken] = []
        for name in ["one", "two", "three"] {
            try a.execute("INSERT INTO tag VALUES('\(name)', '')")
            _ = try await replicator.sync()
            tokens.append(try await replicator.historyToken())
        }
        try await replicator.deleteHistory(before: tokens[1])
        let error = await #expect(throws: LogSyncError.self) {
            try await replicator.history(HistoryFilter(after: HistoryToken(tokens[0].value - 1)))
        }
        #expect(error?.code == .historyExpired)
        await #expect(throws: LogSyncError.self) {
            try await replicator.changes(after: HistoryToken(tokens[0].value - 1))
        }
        #expect(told(try await replicator.history(HistoryFilter(after: tokens[0]))).count == 2)
        #expect(told(try await replicator.history()).count == 2)
        let kept = "SELECT count(*) FROM logsync_transaction WHERE token < \(tokens[1].value) AND rows IS NOT NULL"
        #expect(try a.count(kept) == 0)
        // What peers and people have to know stays.
        #expect(try await replicator.log().count >= 4)
        // However far it is forgotten, no token is given twice.
        try await replicator.deleteHistory(before: HistoryToken(.max))
        #expect(try await replicator.historyToken() == tokens[2])
        try a.execute("DELETE FROM tag WHERE name = 'one'")
        _ = try await replicator.sync()
        #expect(told(try await replicator.history(HistoryFilter(after: tokens[2]))) == ["tag delete \"one\""])
        await replicator.close()
    }

    @Test("What rows held in chosen columns stays when others delete them", arguments: [false, true])
    func tombstones(isContested: Bool) async throws {
        try a.execute("INSERT INTO tag VALUES('fruit', 'green'), ('tree', 'brown')")
        try await settle(a, b)
        let wrong = await #expect(throws: LogSyncError.self) {
            try await b.with { try await $0.keepTombstones(of: "tag", columns: ["size"]) }
        }
        #expect(wrong?.code == .usage)
        try await b.with { try await $0.keepTombstones(of: "tag", columns: ["color"]) }
        if isContested {
            try b.execute("UPDATE tag SET color = 'yellow' WHERE name = 'fruit'")
            try await b.sync()
        }
        try a.execute("DELETE FROM tag WHERE name = 'fruit'")
        try await settle(a, b)
        let change = try await b.with { try await $0.history() }.flatMap(\.changes).last
        #expect(change?.kind == .delete)
        #expect(change?.tombstone == ["color": (isContested ? "yellow" : "green").databaseValue])
        try await b.with { try await $0.keepTombstones(of: "tag", columns: []) }
        try a.execute("DELETE FROM tag")
        try await settle(a, b)
        #expect(try await b.with { try await $0.history() }.flatMap(\.changes).last?.tombstone == [:])
    }

    @Test("Did-import and its JSON name the token of each transaction, after which history goes on")
    func tokens() async throws {
        let replicator = try b.replicator()
        var events = replicator.didImport.makeAsyncIterator()
        try a.execute("INSERT INTO tag VALUES('x', '')")
        try await a.sync()
        _ = try await replicator.sync()
        let event = try #require(await events.next())
        let token = try #require(event.transactions.last?.token)
        #expect(try await replicator.historyToken() == token)
        #expect(try await replicator.history(HistoryFilter(after: token)).isEmpty)
        #expect(try await replicator.history().last?.token == token)
        #expect(try JSONDecoder().decode(HistoryToken.self, from: JSONEncoder().encode(token)) == token)
        let json = String(decoding: try JSONEncoder().encode(event), as: UTF8.self)
        #expect(json.contains("\"token\":\(token.value)"))
        await replicator.close()
    }

    @Test("Changes after a token begin with what happened meanwhile, and go on with what happens")
    func away() async throws {
        let seen = try await b.with { try await $0.historyToken() }
        for name in ["x", "y"] {
            try a.execute("INSERT INTO tag VALUES('\(name)', '')")
            try await a.sync()
            // As a daemon, while the program does not run.
            try await b.sync()
        }
        try b.execute("INSERT INTO tag VALUES('own', '')")
        try await b.sync()
        let replicator = try b.replicator()
        var changes = try await replicator.changes(after: seen).makeAsyncIterator()
        let former = try #require(await changes.next())
        #expect(former.isElsewhere && former.transactions.count == 2)
        #expect(former.tables["tag"]?.inserted == [[.text("x")], [.text("y")]])
        try a.execute("INSERT INTO tag VALUES('z', '')")
        try await a.sync()
        _ = try await replicator.sync()
        let next = try #require(await changes.next())
        #expect(!next.isElsewhere && next.tables["tag"]?.inserted == [[.text("z")]])
        #expect(try await replicator.historyToken() == next.token)
        await replicator.close()
    }

    @Test("What is settled without a transaction, or came by a snapshot, has a place in the history")
    func withoutTransaction() async throws {
        for machine in [a, b] {
            try machine.execute("CREATE TABLE label(id INTEGER PRIMARY KEY, name TEXT UNIQUE COLLATE NOCASE)")
        }
        try await settle(a, b)
        try a.execute("INSERT INTO label(name) VALUES('work')")
        try await a.sync()
        try b.execute("INSERT INTO label(name) VALUES('WORK')")
        try await settle(b, a)
        let seen = try await b.with { try await $0.historyToken() }
        try b.execute("DELETE FROM label")
        try await b.sync()
        let history = try await b.with { try await $0.history(HistoryFilter(after: seen)) }
        #expect(history.map(\.cause) == [.recorded, .settled])
        let id = try b.count("SELECT id FROM label")
        #expect(told(Array(history.suffix(1))) == ["label insert \(id)"])
        let others = try await b.with { try await $0.history(HistoryFilter(after: seen, isLocal: false)) }
        #expect(others.count == 1)
    }

    @Test("A snapshot and its token are of one moment")
    func generation() async throws {
        try a.execute("INSERT INTO tag VALUES('x', '')")
        try await a.sync()
        try await b.sync()
        let pool = try DatabasePool(path: b.path)
        let replicator = try b.replicator()
        let (snapshot, token) = try replicator.generation(of: pool)
        try a.execute("DELETE FROM tag")
        try await a.sync()
        _ = try await replicator.sync()
        #expect(try await snapshot.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM tag") } == 1)
        #expect(try await pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM tag") } == 0)
        #expect(told(try await replicator.history(HistoryFilter(after: token))) == ["tag delete \"x\""])
        await replicator.close()
        try snapshot.close()
        try pool.close()
    }

    @Test("A store in which the rows of transactions were not kept keeps them from the next one on")
    func older() async throws {
        try a.execute("UPDATE logsync_transaction SET rows = NULL")
        let before = try await a.with { try await $0.history(HistoryFilter(tables: ["item"])) }
        #expect(!before.isEmpty && before.allSatisfy { !$0.isComplete })
        try a.execute("INSERT INTO tag VALUES('x', '')")
        #expect(try await a.sync().recorded == 1)
        let history = try await a.with { try await $0.history() }
        #expect(history.last?.isComplete == true && told(Array(history.suffix(1))) == ["tag insert \"x\""])
        try await settle(a, b)
        #expect(try await a.sync().recorded == 0)
    }

    @Test("A token of a history that is no more has expired, and forgets nothing of the one that is")
    func otherHistory() async throws {
        try a.execute("INSERT INTO tag VALUES('one', '')")
        try await a.sync()
        try a.checkpoint()
        let backup = try Data(contentsOf: URL(fileURLWithPath: a.path))
        for name in ["two", "three"] {
            try a.execute("INSERT INTO tag VALUES('\(name)', '')")
            try await a.sync()
        }
        let far = try await a.with { try await $0.historyToken() }
        let kept = try JSONDecoder().decode(HistoryToken.self, from: JSONEncoder().encode(far))
        #expect(try await a.with { try await $0.history(HistoryFilter(after: kept)) }.isEmpty)
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: a.path + suffix) }
        try backup.write(to: URL(fileURLWithPath: a.path), options: .atomic)

        func expectExpired(_ token: HistoryToken, _ replicator: Replicator) async {
            for error in [
                await #expect(throws: LogSyncError.self) { try await replicator.history(HistoryFilter(after: token)) },
                await #expect(throws: LogSyncError.self) { try await replicator.changes(after: token) },
            ] { #expect(error?.code == .historyExpired) }
        }
        // It goes by the number first, and by the peer once the store has found out that it is an older state.
        let restored = try a.replicator()
        await expectExpired(kept, restored)
        for _ in 0..<2 { _ = try await restored.sync() }
        for number in 0..<4 {
            try a.execute("INSERT INTO tag VALUES('later \(number)', '')")
            _ = try await restored.sync()
        }
        #expect(try await restored.historyToken() > kept)
        await expectExpired(kept, restored)
        let count = try await restored.history().count
        await #expect(throws: LogSyncError.self) { try await restored.deleteHistory(before: kept) }
        #expect(try await restored.history().count == count)

        // Made anew, it has as many transactions at once.
        let now = try await restored.historyToken()
        try await restored.leave()
        await restored.close()
        var options = InitializeOptions()
        options.peerName = "again"
        _ = try await a.initialize(options)
        let all = try await a.with { again in
            await expectExpired(now, again)
            return try await again.history(HistoryFilter(after: .zero))
        }
        #expect(!all.isEmpty)
        // Tokens that were kept as numbers go on.
        #expect(try JSONDecoder().decode(HistoryToken.self, from: Data("57".utf8)) == HistoryToken(57))
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(HistoryToken.self, from: Data("\"57@x\"".utf8)) }
    }

    @Test("After the beginning comes all that is left, also where some was forgotten")
    func afterZero() async throws {
        try await a.with { replicator in
            try await replicator.deleteHistory(before: try await replicator.historyToken())
            var changes = try await replicator.changes(after: .zero).makeAsyncIterator()
            #expect(await changes.next()?.tables.keys.sorted() == ["item"])
        }
    }

    @Test("What another process imports before the first step of this one is told", arguments: [false, true])
    func beforeFirstStep(isAfterToken: Bool) async throws {
        let replicator = try a.replicator()
        let changes =
            isAfterToken
            ? try await replicator.changes(after: try await replicator.historyToken()) : replicator.changes
        try b.execute("INSERT INTO tag VALUES('b', '')")
        try await settle(b)
        try await a.sync()
        _ = try await replicator.sync()
        var iterator = changes.makeAsyncIterator()
        #expect(await iterator.next()?.tables["tag"]?.inserted == [[.text("b")]])
        await replicator.close()
    }
}

/// The tables and columns of shown rows.
private final class Rows: Sendable {
    private let found = Mutex<[String]>([])
    var lines: [String] { found.withLock { $0 } }

    func add(_ element: LogElement) {
        guard case .row(let row) = element else { return }
        let cells = row.cells.map { cell in cell.column + (cell.references.map { "=" + $0 } ?? "") }
        found.withLock { $0.append(([row.table] + cells).joined(separator: " ")) }
    }
}
