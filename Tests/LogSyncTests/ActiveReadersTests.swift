import Foundation
import Testing

@testable import LogSync

/// Writes of a running replicator wait for programs that read.
@Suite struct ActiveReadersTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("logsync-\(UUID().uuidString)")
    private var path: String { folder.appendingPathComponent("a.db").path }

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

    /// Another process that reads, or for `exclusive` keeps the database for itself, until its input ends.
    private func program(_ sql: String) throws -> (process: Process, input: FileHandle) {
        let (process, input, output) = (Process(), Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["sqlite3", path]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        input.fileHandleForWriting.write(Data((sql + " SELECT 'there';\n").utf8))
        var text = ""
        while !text.contains("there") {
            let data = output.fileHandleForReading.availableData
            try #require(!data.isEmpty)
            text += String(decoding: data, as: UTF8.self)
        }
        return (process, input.fileHandleForWriting)
    }

    private func end(_ program: (process: Process, input: FileHandle)) throws {
        try program.input.close()
        program.process.waitUntilExit()
    }

    /// What the kernel lists is not asked for anew at each question.
    private func becomes(_ condition: () -> Bool) -> Bool {
        for _ in 1...1000 {
            if condition() { return true }
            usleep(10_000)
        }
        return false
    }

    @Test func `a reader is waited for as long as two seconds, and not again for a minute`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        // A connection that stays, so that the log's index does.
        let other = try program("PRAGMA journal_mode = WAL; CREATE TABLE t(x); INSERT INTO t VALUES(1);")
        let readers = ActiveReaders()
        let start = ContinuousClock.now
        let reader = try program("BEGIN; SELECT * FROM t;")
        #expect(!readers.areAwaited(path, now: start))
        readers.setAwaited(true)
        #expect(readers.spacing(now: start) == .zero)
        #expect(becomes { readers.areAwaited(path, now: start) })
        #expect(readers.areAwaited(path, now: start + .milliseconds(1900)))
        #expect(readers.spacing(now: start + .seconds(3)) > .zero)
        #expect(!readers.areAwaited(path, now: start + .seconds(2)))
        #expect(!readers.areAwaited(path, now: start + .seconds(30)))
        #expect(readers.spacing(now: start + .seconds(30)) == .zero)
        #expect(readers.areAwaited(path, now: start + .seconds(63)))
        try end(reader)
        #expect(becomes { !readers.areAwaited(path, now: start + .seconds(64)) })
        try end(other)
    }

    @Test func `who has a database for itself is known without opening it`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let maker = try program("PRAGMA journal_mode = WAL; CREATE TABLE t(x);")
        #expect(KernelLocks.shared.holder(of: path) == nil)
        try end(maker)
        let holder = try program("PRAGMA locking_mode = EXCLUSIVE; INSERT INTO t VALUES(1);")
        #expect(becomes { KernelLocks.shared.holder(of: path) == holder.process.processIdentifier })
        try end(holder)
        #expect(becomes { KernelLocks.shared.holder(of: path) == nil })
    }
}
