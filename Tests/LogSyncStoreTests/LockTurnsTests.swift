import Foundation
import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// Who has held the write lock for long leaves it free for a while.
struct LockTurnsTests {
    private let start = ContinuousClock.now

    private func rest(at milliseconds: Int, _ turns: LockTurns) -> Duration {
        turns.rest(at: start + .milliseconds(milliseconds))
    }

    private func note(_ turns: inout LockTurns, _ from: Int, _ to: Int) {
        turns.noteEnd(of: start + .milliseconds(from), at: start + .milliseconds(to))
    }

    @Test func `the lock stays free for as long as it was held, and for 30 ms at most`() {
        var turns = LockTurns(at: start)
        note(&turns, 0, 20)
        #expect(rest(at: 20, turns) == .milliseconds(20))
        #expect(rest(at: 35, turns) == .milliseconds(5))
        #expect(rest(at: 90, turns) == .zero)
        note(&turns, 100, 400)
        #expect(rest(at: 400, turns) == .milliseconds(30))
    }

    @Test func `what holds it for 10 ms or less neither begins such a time nor ends one`() {
        var turns = LockTurns(at: start)
        note(&turns, 0, 10)
        #expect(rest(at: 10, turns) <= .zero)
        note(&turns, 20, 70)
        note(&turns, 72, 73)
        #expect(rest(at: 73, turns) == .milliseconds(27))
    }

    private func elapsed(after store: Store, _ body: () throws -> Void) throws -> Duration {
        _ = try store.database.write { _ in usleep(60_000) }
        return try ContinuousClock().measure(body)
    }

    @Test func `a store that no program has open is left to nobody`() throws {
        let folder = try TestFolder()
        let peer = try TestPeer(folder, "a", sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT)")
        var configuration = peer.configuration
        configuration.isShared = false
        let alone = try Store.open(peer.path, configuration: configuration)
        var turn = Duration.seconds(1)
        for _ in 0..<30 where turn >= .milliseconds(15) {
            turn = try elapsed(after: alone) { try alone.database.write { _ in } }
        }
        #expect(turn < .milliseconds(15))
        try alone.close()
    }

    @Test func `what was published and seen is noted without waiting, all else waits`() throws {
        let folder = try TestFolder()
        let peer = try TestPeer(folder, "a", sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT)")
        try peer.app.execute("INSERT INTO t VALUES(1, 'one')")
        let transaction = try #require(try peer.store.record())
        let counter = PeerID(high: 1, low: 2)
        let noting = { [store = peer.store] in
            try store.markPublished([transaction.dot])
            try store.keepReceiptCounters([counter: 1])
            try store.setScanCache([counter: [1]])
        }
        // A busy machine may delay any of these attempts, not all of them.
        var (moment, turn) = (Duration.seconds(1), Duration.zero)
        for _ in 0..<30 where moment >= .milliseconds(15) { moment = try elapsed(after: peer.store, noting) }
        for _ in 0..<30 where turn < .milliseconds(15) {
            turn = try elapsed(after: peer.store) { try peer.store.database.write { _ in } }
        }
        #expect(moment < .milliseconds(15))
        #expect(turn >= .milliseconds(15))
    }
}
