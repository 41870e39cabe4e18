import LogSyncContainer
import LogSyncModel

/// The grammar of file names: a name is taken only where it is exactly what would be written for it.
enum NameTarget {
    static func run(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        check(ContentName(text), text)
        check(LogFileName(text), text)
        check(SnapshotName(text), text)
        check(SchemaFileName(text), text)
        check(BlobName(text), text)
        check(PeerID(text), text)
        if let name = LogFileName(text) {
            require(name.first >= 1 && name.first <= name.last, "\(text) has sequences that cannot be")
            require(LogFileSet([name]).reach == name.last, "\(text) does not reach to its last sequence")
        }
    }

    private static func check(_ name: (some CustomStringConvertible)?, _ text: String) {
        guard let name else { return }
        require(Array(name.description.utf8) == Array(text.utf8), "\(text.debugDescription) was taken for \(name)")
        require(
            text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") } && text.utf8.count < 100,
            "\(text.debugDescription) is not of the grammar")
    }
}
