import Foundation
import LogSyncModel

@testable import LogSyncContainer

/// A folder of one test's own, removed with everything in it when the test lets go of it.
final class TemporaryFolder: Sendable {
    let path: String

    init(in parent: String = NSTemporaryDirectory()) throws {
        path = "\(parent)/logsync-tests-\(UUID().uuidString.lowercased())"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func write(_ text: String, to name: String) throws {
        try write(Array(text.utf8), to: name)
    }

    func write(_ bytes: [UInt8], to name: String) throws {
        let url = URL(fileURLWithPath: "\(path)/\(name)")
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: url)
    }

    func makeDirectory(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: "\(path)/\(name)", withIntermediateDirectories: true)
    }

    /// Every file below, relative, sorted.
    func files() throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: path).filter {
            var isDirectory: ObjCBool = false
            return FileManager.default.fileExists(atPath: "\(path)/\($0)", isDirectory: &isDirectory)
                && !isDirectory.boolValue
        }.sorted()
    }
}

let alice = PeerID(high: 0xA11C_E000_0000_0000, low: 1)
let bob = PeerID(high: 0xB0B0_0000_0000_0000, low: 2)

extension ContentName {
    static var notes: ContentName {
        get throws { try ContentName(checking: "notes") }
    }
}

/// A content folder that is there.
func makeContent(_ folder: TemporaryFolder, _ fileSystem: any FileSystem = PosixFileSystem()) throws -> ContentFolder {
    let content = ContentFolder(container: folder.path, name: try .notes)
    try content.create()
    return ContentFolder(container: folder.path, name: try .notes, fileSystem: fileSystem)
}

/// The bytes of something that looks like a log file: 8 bytes of magic, 8 others, the length, content, a trailer.
func logBytes(_ content: String) -> [UInt8] {
    let length = UInt64(24 + content.utf8.count + 4)
    return Array("TESTLOG1".utf8) + Array(repeating: 0, count: 8) + withUnsafeBytes(of: length.littleEndian, Array.init)
        + Array(content.utf8) + Array("DONE".utf8)
}

func logName(_ first: UInt64, _ last: UInt64, _ bytes: [UInt8]) -> LogFileName? {
    LogFileName(first: first, last: last, fileHash: StreamingHash.of(bytes))
}

/// Time that passes only when told to.
final class ManualTime: Sendable {
    private let elapsed = LockedValue(Duration.zero)
    var now: @Sendable () -> Duration { { [elapsed] in elapsed.get() } }
    func advance(_ duration: Duration) { elapsed.update { $0 += duration } }
}

final class LockedValue<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) { self.value = value }
    func get() -> Value { lock.withLock { value } }
    func update<Result>(_ body: (inout Value) -> Result) -> Result { lock.withLock { body(&value) } }
}
