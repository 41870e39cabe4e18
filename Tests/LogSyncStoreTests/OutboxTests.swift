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

    @Test func `what a snapshot stands for goes whole, however large, and so does what a death has left of it`() throws
    {
        let folder = try TestFolder()
        let peer = try TestPeer(folder, "a", sql: "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, v BLOB)", seed: 1)
        try peer.write(
            """
            WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120)
                INSERT INTO t SELECT 'k' || i, randomblob(200000) FROM n
            """)
        try peer.record()
        try peer.store.markPublished(try peer.store.outbox(unpublishedOnly: true).map(\.dot))
        let blocks = "SELECT count(*) FROM logsync_outbox_block"
        #expect(try #require(Int(peer.strings(blocks)[0])) > 20)
        // The process died when the first block had gone.
        let first = "(SELECT min(rowid) FROM logsync_outbox_block)"
        try peer.write(
            "INSERT INTO logsync_outbox_block SELECT peer + 100, sequence, part, bytes FROM logsync_outbox_block "
                + "WHERE rowid = \(first)")
        try peer.write("INSERT INTO t VALUES('kept', NULL)")
        let vector = try peer.vector()
        let kept = try #require(try peer.record())
        #expect(try peer.store.releaseOutbox(coveredBy: vector) > 0)
        #expect(try peer.store.outbox(unpublishedOnly: false).map(\.dot) == [kept.dot])
        #expect(
            try peer.strings("SELECT DISTINCT sequence FROM logsync_outbox_block") == ["\(kept.dot.sequence)"])
    }
}
