import Foundation
import GRDB
import LogSyncModel
import LogSyncStore
import Testing

@testable import LogSync

@Suite("A database that its programs have closed is one file, though it is watched")
struct OneFileTests {
    private let world: World
    private let a: Machine

    init() async throws {
        world = try World()
        a = try world.machine("a")
        try a.execute("PRAGMA journal_mode = WAL; CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT)")
        try await a.initialize()
    }

    private func rows(_ path: String) throws -> [String] {
        let queue = try a.database(path)
        defer { try? queue.close() }
        return try queue.read { try String.fetchAll($0, sql: "SELECT x FROM t ORDER BY id") }
    }

    private func vacuum(into path: String) throws {
        let queue = try a.database()
        defer { try? queue.close() }
        try queue.writeWithoutTransaction { try $0.execute(sql: "VACUUM INTO ?", arguments: [path]) }
        // Which has a journal.
        let other = try a.database(path)
        defer { try? other.close() }
        try other.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
    }

    private var hasContent: Bool { RestingFiles(a.path).hasLog }

    @Test(
        "Soon after a program has closed it, all rows are in the file itself, and nobody writes it again",
        arguments: [false, true])
    func closed(afterFirstRound: Bool) async throws {
        let replicator = try a.replicator()
        await replicator.start()
        if afterFirstRound {
            try await eventually(within: .seconds(120), "nothing is left to be said of the start") {
                await replicator.restsUntouched
            }
        }
        for number in 1...3 {
            try a.execute("INSERT INTO t(x) VALUES('\(number)')")
            try await eventually(within: .seconds(120), "the log is empty") {
                await replicator.restsUntouched && !hasContent
            }
            let copy = a.path + ".copy\(number)"
            try FileManager.default.copyItem(atPath: a.path, toPath: copy)
            #expect(try rows(copy) == (1...number).map(String.init))
            let resting = RestingFiles(a.path)
            try await Task.sleep(for: .seconds(1))
            // It may be looked into meanwhile, as for what the folder brings late: that writes nothing, and ends.
            try await eventually(within: .seconds(120), "it rests as it was") {
                await replicator.rests && RestingFiles(a.path) == resting
            }
        }
        await replicator.stop()
        await replicator.close()
        #expect(try await a.status().pending == 0)
    }

    @Test("A file whose time is ahead of the clock is let go of like any other")
    func ahead() async throws {
        let times = Array(repeating: timeval(tv_sec: Int(Date().timeIntervalSince1970) + 86_400, tv_usec: 0), count: 2)
        #expect(utimes(a.path, times) == 0)
        let replicator = try a.replicator()
        await replicator.start()
        try await eventually(within: .seconds(120), "it rests") { await replicator.restsUntouched }
        await replicator.stop()
        await replicator.close()
    }

    @Test("A program that keeps it open goes on with its log")
    func open() async throws {
        let replicator = try a.replicator()
        await replicator.start()
        try a.execute("INSERT INTO t(x) VALUES('one')")
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        let pool = try DatabasePool(path: a.path, configuration: configuration)
        try await pool.write { try $0.execute(sql: "INSERT INTO t(x) VALUES('two')") }
        try await eventually(within: .seconds(120), "it rests") { await replicator.rests }
        try await pool.write { try $0.execute(sql: "INSERT INTO t(x) VALUES('three')") }
        try pool.close()
        try await eventually(within: .seconds(120), "the log is empty") { !hasContent }
        #expect(try rows(a.path) == ["one", "two", "three"])
        await replicator.stop()
        await replicator.close()
    }

    @Test("A program that opens it meanwhile and waits for nobody is never told that it is locked")
    func neverLocked() async throws {
        let replicator = try a.replicator()
        await replicator.start()
        for number in 1...3 {
            try a.execute("INSERT INTO t(x) VALUES('\(number)')")
            try await eventually(within: .seconds(120), "the log is empty") {
                // Where both open it in the same microseconds, the one that builds the index of the log keeps the other out:
                // so do any two programs. Source: <https://www.sqlite.org/rescode.html#busy_recovery>.
                do {
                    let count = try countWithoutWaiting()
                    #expect(count == number)
                } catch let error as DatabaseError where error.extendedResultCode == .SQLITE_BUSY_RECOVERY {
                    return false
                }
                return await replicator.restsUntouched && !hasContent
            }
        }
        await replicator.stop()
        await replicator.close()
    }

    private func countWithoutWaiting() throws -> Int? {
        let queue = try DatabaseQueue(path: a.path)
        defer { try? queue.close() }
        return try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") }
    }

    private func isOpenWithLog(_ replicator: Replicator) async throws -> Bool {
        let deadline = ContinuousClock.now + .seconds(1)
        while ContinuousClock.now < deadline {
            if await !replicator.rests, hasContent { return true }
            try await Task.sleep(for: .milliseconds(3))
        }
        return false
    }

    @Test("Another database that takes its place has nothing of the log", arguments: [false, true])
    func replaced(isCopy: Bool) async throws {
        let replicator = try a.replicator()
        await replicator.start()
        var number = 0
        for _ in 1...2 {
            // Written again before the replicator lets go, which it may do before it is looked.
            repeat {
                number += 1
                try a.execute("INSERT INTO t(x) VALUES('\(number)')")
            } while try await !isOpenWithLog(replicator)
            let other = a.path + ".other"
            if isCopy {
                try FileManager.default.copyItem(atPath: a.path, toPath: other)
            } else {
                try vacuum(into: other)
            }
            #expect(rename(other, a.path) == 0)
            // A copy of the file as it stood without its log goes on with that.
            try await eventually(within: .seconds(120), "it is open again") { await replicator.restsUntouched }
            #expect(try rows(a.path) == (1...number).map(String.init))
        }
        await replicator.stop()
        await replicator.close()
    }
}

extension Replicator {
    fileprivate var rests: Bool { opened?.store.isResting ?? false }
    fileprivate var restsUntouched: Bool { opened?.store.isUntouchedAtRest ?? false }
}
