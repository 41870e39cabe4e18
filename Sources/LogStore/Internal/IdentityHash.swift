import Crypto
import LogModel

/// Makes surrogate identities: the same inputs give the same identity, so that a restored store which records the same
/// pending row again makes no second row (MODEL.md, surrogate identities).
struct IdentityHash {
    private var hash = SHA256()

    init(_ purpose: String) { combine(purpose) }

    mutating func combine(_ text: String) { combine(Array(text.utf8)[...]) }

    mutating func combine(_ bytes: Bytes) {
        combine(UInt64(bytes.count))
        bytes.withUnsafeBytes { hash.update(bufferPointer: $0) }
    }

    mutating func combine(_ word: UInt64) {
        withUnsafeBytes(of: word.bigEndian) { hash.update(bufferPointer: $0) }
    }

    mutating func combine(_ value: Value) {
        switch value {
        case .null: combine(0)
        case .integer(let integer):
            combine(1)
            combine(UInt64(bitPattern: integer))
        case .real(let real):
            combine(2)
            combine(real.bitPattern)
        case .text(let bytes):
            combine(3)
            combine(bytes)
        case .blob(let bytes):
            combine(4)
            combine(bytes)
        case .reference(let identity):
            combine(5)
            combine(identity.bytes)
        case .external: preconditionFailure("identities are of what a table returns")
        }
    }

    /// - Parameter prefix: its low 48 bits come first, so that identities made one after the other
    ///   stand side by side in an index.
    func identity(prefix: UInt64) -> RowIdentity {
        let head = withUnsafeBytes(of: prefix.bigEndian) { Array($0.dropFirst(2)) }
        return RowIdentity(surrogate: head + hash.finalize().prefix(10))
    }
}
