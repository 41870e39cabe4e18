import LogSyncModel
import Testing

@testable import LogSyncStore

@Suite struct OutboxTests {
    @Test func `what waits to be published is found without reading the history`() throws {
        let folder = try TestFolder()
        let peer = try TestPeer(folder, "a", sql: "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL)")
        _ = try peer.store.record()
        try peer.store.markPublished(try peer.store.outbox(unpublishedOnly: true).map(\.dot))
        try peer.write("INSERT INTO t VALUES('x')")
        let recorded = try peer.store.record()
        let waiting = try peer.store.outbox(unpublishedOnly: true)
        #expect(waiting.map(\.dot) == [recorded?.dot])
        #expect(try peer.store.outbox(unpublishedOnly: false).count == Int(waiting[0].dot.sequence))
        let plan = try peer.strings("EXPLAIN QUERY PLAN " + Store.outboxWaiting)
        #expect(plan.count == 1 && plan[0].contains("USING INDEX logsync_outbox_waiting"))
    }
}
