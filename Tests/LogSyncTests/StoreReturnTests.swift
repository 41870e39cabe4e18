import Foundation
import GRDB
import LogSyncModel
import Testing

@testable import LogSync

/// Looks at a store with a clock that the test moves; the files are real.
@Suite("A store that comes back while programs or a restore write its files")
struct StoreReturnTests {
    private let root: String
    private let path: String

    init() throws {
        root = NSTemporaryDirectory() + "/return-\(UUID().uuidString)"
        path = root + "/notes.db"
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    }

    /// How long it takes, in quarters of a second as the daemon looks, until the store would be opened; nil where it would
    /// not be in two minutes.
    private func wait(isInUse: Bool, _ change: (Int) throws -> Void) throws -> Duration? {
        defer { try? FileManager.default.removeItem(atPath: root) }
        let start = ContinuousClock.now
        var coming = StoreReturn(path, now: start)
        for look in 0..<480 {
            try change(look)
            let span = StoreReturn.pause * look
            if coming.observe(now: start + span, isInUse: { _ in isInUse }) { return span }
        }
        return nil
    }

    private func database() throws -> DatabaseQueue {
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
        return queue
    }

    private func commit(_ queue: DatabaseQueue, _ number: Int) throws {
        try queue.write {
            try $0.execute(sql: "CREATE TABLE IF NOT EXISTS t(x)")
            try $0.execute(sql: "INSERT INTO t VALUES (?)", arguments: [number])
        }
    }

    private func append(_ count: Int, _ suffix: String) throws {
        if !FileManager.default.fileExists(atPath: path + suffix) {
            #expect(FileManager.default.createFile(atPath: path + suffix, contents: nil))
        }
        let file = try #require(FileHandle(forWritingAtPath: path + suffix))
        try file.seekToEnd()
        try file.write(contentsOf: Data(repeating: 7, count: count))
        try file.close()
    }

    @Test("One that a program keeps open and commits into all the time is opened after ten seconds")
    func keptOpen() throws {
        let queue = try database()
        try commit(queue, 0)
        let found = try wait(isInUse: true) { try commit(queue, $0) }
        #expect(try #require(found) >= .seconds(10) && #require(found) < .seconds(12))
    }

    @Test("One whose programs cannot be seen is opened after thirty seconds in which only its log changed")
    func unseen() throws {
        let queue = try database()
        try commit(queue, 0)
        let found = try wait(isInUse: false) { try commit(queue, $0) }
        #expect(try #require(found) >= .seconds(30) && #require(found) < .seconds(35))
    }

    @Test("One into which programs commit that close each time is opened after ten seconds")
    func closedEachTime() throws {
        try database().close()
        let found = try wait(isInUse: false) {
            let queue = try DatabaseQueue(path: path)
            try commit(queue, $0)
            try queue.close()
        }
        #expect(try #require(found) >= .seconds(10) && #require(found) < .seconds(20))
    }

    @Test("A log that is being copied is not opened half, though programs read meanwhile", arguments: [true, false])
    func copiedLog(isInUse: Bool) throws {
        let queue = try database()
        for number in 0..<300 { try commit(queue, number) }
        let log = try Data(contentsOf: URL(fileURLWithPath: path + "-wal"))
        let piece = 4096
        try #require(log.count / piece > 240)
        let away = try Data(contentsOf: URL(fileURLWithPath: path))
        try queue.close()
        for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
        try away.write(to: URL(fileURLWithPath: path))
        let copied = Self.looks
        // It grows for a minute; a look that finds it as it will be is after that.
        let found = try wait(isInUse: isInUse) { look in
            let count = look < copied ? (look + 1) * piece : log.count
            guard look <= copied else { return }
            try log.prefix(count).write(to: URL(fileURLWithPath: path + "-wal"), options: [])
        }
        #expect(try #require(found) >= StoreReturn.pause * copied + .seconds(2))
        #expect(try #require(found) < StoreReturn.pause * copied + .seconds(12))
    }

    private static let looks = 240

    @Test("A log whose copying stalls is not opened half for the first ten seconds")
    func stalledCopy() throws {
        try append(8192, "")
        let found = try wait(isInUse: false) { if $0 == 0 { try append(65536, "-wal") } }
        #expect(try #require(found) >= .seconds(10) && #require(found) < .seconds(11))
    }

    @Test("One whose log may be yet to come is given ten seconds, and two when the log is there")
    func logToCome() throws {
        let queue = try database()
        try commit(queue, 0)
        let log = try Data(contentsOf: URL(fileURLWithPath: path + "-wal"))
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        try queue.close()
        for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
        try data.write(to: URL(fileURLWithPath: path))
        let arrival = StoreReturn.pause * 39
        let found = try wait(isInUse: false) {
            if StoreReturn.pause * $0 == arrival { try log.write(to: URL(fileURLWithPath: path + "-wal")) }
        }
        #expect(found == arrival + .seconds(2))
    }

    @Test("One that has no log is opened after ten seconds")
    func withoutLog() throws {
        try database().close()
        #expect(try wait(isInUse: false) { _ in } == .seconds(10))
    }

    @Test("A database that is being copied is not opened, though programs look into it meanwhile")
    func copiedDatabase() throws {
        let found = try wait(isInUse: true) { look in
            try append(65536, "")
            // What a reader makes and deletes again is empty.
            if look % 4 == 0 { try append(0, "-wal") } else { unlink(path + "-wal") }
        }
        #expect(found == nil)
    }

    @Test("A machine that was asleep has given what restores it no time")
    func asleep() throws {
        let start = ContinuousClock.now
        defer { try? FileManager.default.removeItem(atPath: root) }
        var coming = StoreReturn(path, now: start)
        try append(65536, "")
        let first = coming.observe(now: start, isInUse: { _ in false })
        let awake = coming.observe(now: start + .seconds(3600), isInUse: { _ in false })
        #expect(!first && !awake)
        try append(4096, "-journal")
        var looks = 0
        while !coming.observe(now: start + .seconds(3600) + StoreReturn.pause * looks, isInUse: { _ in false }) {
            looks += 1
        }
        #expect(StoreReturn.pause * looks == .seconds(10))
    }

    @Test("That it is waited for is said at once, then from fifteen seconds on, and ever more rarely")
    func said() throws {
        let start = ContinuousClock.now
        defer { try? FileManager.default.removeItem(atPath: root) }
        var coming = StoreReturn(path, now: start)
        var said: [Duration] = []
        for second in 0..<200 {
            try append(65536, "")
            let isOpened = coming.observe(now: start + .seconds(second), isInUse: { _ in false })
            #expect(!isOpened)
            if let span = coming.timeToSay(now: start + .seconds(second)) { said.append(span) }
        }
        #expect(said == [0, 15, 30, 60, 120].map { .seconds($0) })
    }
}
