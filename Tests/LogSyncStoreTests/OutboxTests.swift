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
        #expect(plan.contains { $0.contains("SEARCH outbox USING PRIMARY KEY (peer=? AND sequence>?)") })
    }

    @Test func `what is published before others waits no more, and they go on waiting`() throws {
        let folder = try TestFolder()
        let peer = try TestPeer(folder, "a", sql: "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL)")
        for key in ["x", "y", "z"] {
            try peer.write("INSERT INTO t VALUES('\(key)')")
            _ = try peer.store.record()
        }
        let dots = try peer.store.outbox(unpublishedOnly: true).map(\.dot)
        #expect(dots.map(\.sequence) == [1, 2, 3, 4])
        func waiting() throws -> [UInt64] { try peer.store.outbox(unpublishedOnly: true).map(\.dot.sequence) }
        try peer.store.markPublished([dots[2]])
        #expect(try waiting() == [1, 2, 4])
        try peer.store.markPublished([dots[0]])
        #expect(try waiting() == [2, 4] && peer.store.waitingCount() == 2)
        try peer.store.markPublished([dots[1]])
        #expect(try waiting() == [4])
        #expect(try peer.strings("SELECT max(sent) FROM logsync_peer") == ["3"])
        try peer.store.markPublished([dots[3]])
        #expect(try waiting() == [])
        // What is released is no less published.
        _ = try peer.store.releaseOutbox(coveredBy: peer.vector())
        try peer.write("INSERT INTO t VALUES('again')")
        _ = try peer.store.record()
        #expect(try waiting() == [5])
    }

    @Test func `a short transaction stands in its row, a long one beside it, and both are read as they were written`()
        throws
    {
        let folder = try TestFolder()
        let peer = try TestPeer(folder, "a", sql: "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, v BLOB)")
        let counts = [1, 20, 100, 1]
        for (number, count) in counts.enumerated() {
            try peer.write(
                """
                WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
                    INSERT INTO t SELECT '\(number) ' || i, randomblob(100) FROM n
                """)
            _ = try peer.store.record()
        }
        let rows = try peer.strings(
            """
            SELECT bytes IS NOT NULL, EXISTS(SELECT 1 FROM logsync_outbox_block AS block
                WHERE block.peer = outbox.peer AND block.sequence = outbox.sequence)
            FROM logsync_outbox AS outbox WHERE sequence > 1 ORDER BY sequence
            """)
        #expect(rows == ["1|0", "1|0", "0|1", "1|0"])
        for (entry, count) in zip(try peer.store.outbox(unpublishedOnly: false).dropFirst(), counts) {
            #expect(try peer.store.changes(of: entry).count == count)
            let blocks = try peer.store.blocks(of: entry.dot)
            #expect(blocks.count == 3 && blocks.reduce(0) { $0 + $1.count } == entry.byteCount)
            for (part, block) in blocks.enumerated() {
                #expect(try peer.store.outboxBlock(of: entry.dot, part: Int64(part)) == block)
            }
            #expect(try peer.store.outboxBlock(of: entry.dot, part: 3) == nil)
        }
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
        #expect(try peer.strings("SELECT DISTINCT sequence FROM logsync_outbox_block") == [])
        #expect(try peer.store.changes(of: peer.store.outbox(unpublishedOnly: false)[0]).count == 1)
    }
}
