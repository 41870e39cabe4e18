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

    @Test func aSmallDriftIsLetIn() throws {
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(k TEXT PRIMARY KEY, v)", clock: clock())
        let b = try TestPeer(folder, "b", cloning: a, clock: clock(Self.day / 2))
        try b.write("INSERT INTO t VALUES ('b', 1)")
        try agree(a, b)
        #expect(try a.strings("SELECT * FROM t") == ["b|1"])
    }
}
