import Foundation
import LogSyncFormat
import LogSyncModel
import Testing

@testable import LogSyncStore

/// Which time a change carries, and whose clock is believed.
@Suite struct TimeTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private func clock(_ offset: Int64 = 0) -> TestClock {
        let clock = TestClock()
        clock.milliseconds = SystemClock().now() + offset
        return clock
    }

    private static let day: Int64 = 24 * 3600 * 1000

    @Test func aChangeCarriesTheTimeWhenItWasCaptured() throws {
        let clock = clock(10 * Self.day)
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(k TEXT PRIMARY KEY, v)", clock: clock)
        let before = SystemClock().now()
        try a.write("INSERT INTO t VALUES ('a', 1)")
        _ = try a.store.record()
        let groups = try a.lastGroups()
        #expect(groups.count == 1)
        #expect((before...SystemClock().now()).contains(groups[0].times[0].milliseconds))
    }

    @Test func aClockThatWasSetBackStillRaisesTimes() throws {
        let clock = clock()
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(k TEXT PRIMARY KEY, v)", clock: clock)
        try a.write("INSERT INTO t VALUES ('a', 1)")
        _ = try a.store.record()
        let first = try a.lastGroups()[0].times[0]
        clock.milliseconds -= 365 * Self.day
        try a.write("UPDATE t SET v = 2")
        _ = try a.store.record()
        let second = try a.lastGroups()[0].times[0]
        #expect(second > first)
        let history = try a.store.history(limit: 2, after: nil, author: nil, peer: nil, table: nil)
        #expect(history[0].time > history[1].time)
        try a.write("INSERT INTO t VALUES ('b', 1)")
        _ = try a.store.record()
        #expect(try a.lastGroups()[0].times[0].milliseconds == clock.milliseconds)
    }

    @Test func aCapturedTimeInTheFarFutureCountsAsNow() throws {
        let clock = clock()
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(k TEXT PRIMARY KEY, v)", clock: clock)
        try a.write("INSERT INTO t VALUES ('a', 1)")
        let pending = try a.strings("SELECT name FROM sqlite_master WHERE name LIKE 'logsync_pending%' ORDER BY name")
        for table in pending { try a.write("UPDATE \(table) SET ms = ms + \(1000 * Self.day)") }
        _ = try a.store.record()
        #expect(try a.lastGroups()[0].times[0].milliseconds == clock.milliseconds)
    }

    @Test func aPeerWhoseClockIsAheadIsHeldUntilItIsAccepted() throws {
        let clock = clock()
        let ahead = self.clock(3 * Self.day)
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(k TEXT PRIMARY KEY, v)", clock: clock)
        let b = try TestPeer(folder, "b", cloning: a, clock: ahead)
        try b.write("INSERT INTO t VALUES ('b', 1)")
        #expect(try a.pull(from: b).isEmpty)
        let own = try b.store.registration().peer
        let entry = try #require(try b.store.outbox(unpublishedOnly: false).first { $0.dot.peer == own })
        var blocks: [[UInt8]] = []
        try b.store.forEachOutboxBlock(of: entry.dot) { blocks.append($0) }
        var queue = blocks[...]
        let header = try SegmentReader(peer: own, previous: entry.chainBefore) { queue.popFirst() }.header
        guard case .clock(let ahead) = try a.store.readiness(of: header, chainBefore: entry.chainBefore) else {
            Issue.record("it was let in")
            return
        }
        #expect(abs(ahead - 3 * Self.day) < Self.day / 2)
        try a.store.acceptClock(of: own)
        try agree(a, b)
        #expect(try a.strings("SELECT * FROM t") == ["b|1"])
        // It does not advance ours.
        try a.write("INSERT INTO t VALUES ('a', 1)")
        _ = try a.store.record()
        let history = try a.store.history(limit: 1, after: nil, author: nil, peer: nil, table: nil)
        #expect(history[0].time.milliseconds < clock.milliseconds + Self.day)
        // But what supersedes one of its values comes after it.
        try a.write("UPDATE t SET v = 2 WHERE k = 'b'")
        try agree(a, b)
        #expect(try b.strings("SELECT * FROM t ORDER BY k") == ["a|1", "b|2"])
    }

    // MARK: Times that rest on others

    private static let table = "CREATE TABLE t(k TEXT PRIMARY KEY, v); INSERT INTO t VALUES ('x', 0)"

    /// Has a peer record a write as if its clock, which programs read, too, were ahead; then sets the clock right.
    private func write(_ sql: String, _ peer: TestPeer, _ clock: TestClock, ahead: Int64) throws {
        try peer.write(sql)
        for table in try peer.strings("SELECT name FROM sqlite_master WHERE name LIKE 'logsync_pending%'") {
            try peer.write("UPDATE \(table) SET ms = ms + \(ahead)")
        }
        clock.milliseconds += ahead
        _ = try peer.store.record()
        clock.milliseconds -= ahead
    }

    private func id(_ peer: TestPeer) throws -> PeerID { try peer.store.registration().peer }

    @Test func aRowWrittenOverOneFromThisStoresOwnWrongClockIsLetIn() throws {
        let clock = clock(1000)
        let a = try TestPeer(folder, "a", sql: Self.table, clock: clock)
        let b = try TestPeer(folder, "b", cloning: a)
        try write("UPDATE t SET v = 1", a, clock, ahead: 3 * Self.day)
        try b.store.acceptClock(of: id(a))
        try b.pull(from: a)
        try b.write("UPDATE t SET v = 2")
        try b.write("INSERT INTO t VALUES ('later', 0)")
        try agree(a, b)
        #expect(try a.strings("SELECT * FROM t ORDER BY k") == ["later|0", "x|2"])
    }

    @Test func aRowWrittenOverOneThatWasLetInWhileThisClockWasAheadIsLetIn() throws {
        let (clock, other) = (clock(1000), clock(1000))
        let a = try TestPeer(folder, "a", sql: Self.table, clock: clock)
        let b = try TestPeer(folder, "b", cloning: a)
        let c = try TestPeer(folder, "c", cloning: a, clock: other)
        try write("UPDATE t SET v = 1", c, other, ahead: 3 * Self.day)
        clock.milliseconds += 3 * Self.day
        try a.pull(from: c)
        clock.milliseconds -= 3 * Self.day
        try b.store.acceptClock(of: id(c))
        try b.pull(from: c)
        try b.write("UPDATE t SET v = 2")
        try a.pull(from: b)
        #expect(try a.strings("SELECT v FROM t") == ["2"])
    }

    @Test func noPeerMovesTheLimitBeyondWhatWasLetIn() throws {
        let (clock, other) = (clock(1000), clock(1000))
        let a = try TestPeer(folder, "a", sql: Self.table, clock: clock)
        let liar = try TestPeer(folder, "liar", cloning: a, clock: other)
        try write("UPDATE t SET v = 1", a, clock, ahead: 3 * Self.day)
        try liar.store.acceptClock(of: id(a))
        // As late as what this store has written itself: that may rest on it.
        try write("INSERT INTO t VALUES ('as late', 0)", liar, other, ahead: 3 * Self.day - 60_000)
        try agree(a, liar)
        for number in 0..<2 {
            try write("INSERT INTO t VALUES ('later \(number)', 0)", liar, other, ahead: 3 * Self.day + 60_000)
            #expect(try a.pull(from: liar).isEmpty)
        }
        #expect(try a.strings("SELECT k FROM t ORDER BY k") == ["as late", "x"])
        #expect(try a.store.latestTime() < clock.milliseconds + 3 * Self.day + 60_000)
    }

    @Test func timesWithinTheDriftDoNotAddUp() throws {
        let (clock, other) = (clock(1000), clock(1000))
        let a = try TestPeer(folder, "a", sql: Self.table, clock: clock)
        let liar = try TestPeer(folder, "liar", cloning: a, clock: other)
        try write("INSERT INTO t VALUES ('near', 0)", liar, other, ahead: Self.day - 60_000)
        try agree(a, liar)
        try write("INSERT INTO t VALUES ('far', 0)", liar, other, ahead: Self.day + 60_000)
        #expect(try a.pull(from: liar).isEmpty)
    }

    @Test func aSmallDriftIsLetIn() throws {
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(k TEXT PRIMARY KEY, v)", clock: clock())
        let b = try TestPeer(folder, "b", cloning: a, clock: clock(Self.day / 2))
        try b.write("INSERT INTO t VALUES ('b', 1)")
        try agree(a, b)
        #expect(try a.strings("SELECT * FROM t") == ["b|1"])
    }
}
