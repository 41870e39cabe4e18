import CLogSyncZstd
import Foundation
import SQLiteSession

/// SQLite's session extension on one connection: notes what changes while it is attached, and no other program's writes.
final class SessionSide {
    private let database: PlainDatabase
    private var session: OpaquePointer?

    init(_ database: PlainDatabase) throws {
        self.database = database
        try attach()
    }

    deinit { sqlite3session_delete(session) }

    private func attach() throws {
        try database.check(sqlite3session_create(database.handle, "main", &session), "sqlite3session_create")
        try database.check(sqlite3session_attach(session, nil), "sqlite3session_attach")
    }

    /// Puts the change set of all since the last one into a file, compressed as logs are and as durable, and begins
    /// anew.
    ///
    /// - Returns: how many bytes the file has.
    @discardableResult
    func publish(_ path: String) throws -> Int {
        var count: Int32 = 0
        var changes: UnsafeMutableRawPointer?
        try database.check(sqlite3session_changeset(session, &count, &changes), "sqlite3session_changeset")
        defer { sqlite3_free(changes) }
        let compressed = try Self.compress(UnsafeRawBufferPointer(start: changes, count: Int(count)))
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        guard let file = FileHandle(forWritingAtPath: path) else { throw BenchmarkError("\(path) could not be made") }
        try file.write(contentsOf: compressed)
        try file.synchronize()
        try file.close()
        sqlite3session_delete(session)
        session = nil
        try attach()
        return compressed.count
    }

    /// Applies a file to another database.
    static func `import`(_ path: String, into database: PlainDatabase) throws {
        let compressed = try Data(contentsOf: URL(fileURLWithPath: path))
        var changes = try decompress(compressed)
        try database.transaction {
            let count = Int32(changes.count)
            try changes.withUnsafeMutableBytes {
                try database.check(benchmark_apply(database.handle, count, $0.baseAddress), "sqlite3changeset_apply")
            }
        }
    }

    private static func compress(_ bytes: UnsafeRawBufferPointer) throws -> Data {
        var compressed = Data(count: ZSTD_compressBound(bytes.count))
        let count = compressed.withUnsafeMutableBytes {
            ZSTD_compress($0.baseAddress, $0.count, bytes.baseAddress, bytes.count, 3)
        }
        guard ZSTD_isError(count) == 0 else { throw BenchmarkError("zstd could not compress a change set") }
        return compressed.prefix(count)
    }

    private static func decompress(_ compressed: Data) throws -> [UInt8] {
        try compressed.withUnsafeBytes { source in
            let size = ZSTD_getFrameContentSize(source.baseAddress, source.count)
            guard let size = Int(exactly: size) else { throw BenchmarkError("a change set of unknown length") }
            return try [UInt8](unsafeUninitializedCapacity: size) { target, count in
                count = ZSTD_decompress(target.baseAddress, size, source.baseAddress, source.count)
                guard count == size else {
                    count = 0
                    throw BenchmarkError("zstd could not decompress a change set")
                }
            }
        }
    }
}
