import Crypto
import LogSyncModel
import LogSyncSQLite

/// Makes surrogate identities: the same inputs give the same identity, so that a restored store which records the same
/// pending row again makes no second row (Documentation/model.md, surrogate identities).
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

    var bytes: [UInt8] { Array(hash.finalize().prefix(16)) }

    /// - Parameter prefix: its low 48 bits come first, so that identities made one after the other
    ///   stand side by side in an index.
    func identity(prefix: UInt64) -> RowIdentity {
        let head = withUnsafeBytes(of: prefix.bigEndian) { Array($0.dropFirst(2)) }
        return RowIdentity(surrogate: head + hash.finalize().prefix(10))
    }
}

/// Makes the surrogate identities of captured rows, many of one table: what ``IdentityHash`` makes of the word `row`,
/// the store's salt, the table's name, and the number and milliseconds of the pending row that began it.
struct SurrogateHash {
    /// What all of them begin with, and then the row's number and milliseconds.
    private var input: [UInt8]

    init(_ store: OpenStore, _ table: TrackedTable) {
        input = []
        input.reserveCapacity(64 + table.name.utf8.count)
        append("row".utf8)
        append(store.salt)
        append(table.name.utf8)
        input.append(contentsOf: repeatElement(0, count: 16))
    }

    private mutating func append(_ part: some Collection<UInt8>) {
        withUnsafeBytes(of: UInt64(part.count).bigEndian) { input.append(contentsOf: $0) }
        input.append(contentsOf: part)
    }

    mutating func identity(number: Int64, milliseconds: Int64) -> RowIdentity {
        var arena = ByteArena()
        append(number: number, milliseconds: milliseconds, to: &arena)
        return RowIdentity(unchecked: arena.bytes[...])
    }

    /// Appends the bytes of an identity.
    mutating func append(number: Int64, milliseconds: Int64, to target: inout ByteArena) {
        input.withUnsafeMutableBytes { input in
            input.storeBytes(of: number.bigEndian, toByteOffset: input.count - 16, as: Int64.self)
            input.storeBytes(of: milliseconds.bigEndian, toByteOffset: input.count - 8, as: Int64.self)
        }
        target.append(0)
        withUnsafeBytes(of: milliseconds.bigEndian) { target.append(UnsafeRawBufferPointer(rebasing: $0[2...])) }
        let digest = input.withUnsafeBytes { SHA256.hash(data: $0) }
        digest.withUnsafeBytes { target.append(UnsafeRawBufferPointer(rebasing: $0[..<10])) }
    }
}

extension TrackedTable {
    /// The identity of the row of an integer that is the only one that its table can have: it is the same row everywhere.
    func onlyIdentity(at integer: Int64?) -> RowIdentity? {
        guard kind == .surrogate, let only = schema.onlyInteger, only == integer else { return nil }
        var hash = IdentityHash("only")
        hash.combine(name)
        hash.combine(UInt64(bitPattern: only))
        return hash.identity(prefix: UInt64(bitPattern: only))
    }
}

extension DigestKey {
    static func make(salt: Bytes, on connection: Connection) throws {
        var hash = IdentityHash("digests")
        hash.combine(salt)
        try set(hash.bytes[...], on: connection)
    }
}
