import LogSyncContainer
import LogSyncFormat
import LogSyncModel

/// A published file as a source of bytes.
struct FileSource: ByteSource {
    static let kept = "nothing of it was imported"

    private let file: any ReadableFile
    let count: Int

    init(_ file: any ReadableFile) throws(FileSystemError) {
        self.file = file
        count = Int(clamping: try file.status().size)
    }

    func read(at offset: Int, count: Int) throws -> [UInt8] {
        do throws(FileSystemError) {
            return try file.read(at: UInt64(offset), count: count)
        } catch {
            throw error.explained(kept: Self.kept)
        }
    }

    /// Whether the file begins with zeros only: room was made for it, and nothing written yet.
    func isBlank() throws -> Bool {
        try count > 0 && read(at: 0, count: 64).allSatisfy { $0 == 0 }
    }
}
