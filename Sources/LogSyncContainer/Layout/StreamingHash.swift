import Crypto

/// A SHA-256 of bytes as they pass by.
struct StreamingHash {
    private var sha256 = SHA256()
    private(set) var count: UInt64 = 0

    mutating func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { sha256.update(bufferPointer: $0) }
        count += UInt64(bytes.count)
    }

    /// The hash of the bytes so far; more may follow.
    var value: FileHash {
        let copy = sha256
        return FileHash(digest: copy.finalize())
    }

    static func of(_ bytes: [UInt8]) -> FileHash {
        var hash = StreamingHash()
        hash.update(bytes)
        return hash.value
    }
}
