public import LogSyncModel

/// Names one replicated data set on every peer: the subfolder of the container that holds it.
///
/// `[a-z0-9][a-z0-9._-]{0,62}` (Documentation/design.md, section 7), so that it is the same on every file system.
public struct ContentName: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    /// Returns nil unless `text` is of the grammar.
    public init?(_ text: some StringProtocol) {
        guard (1...63).contains(text.utf8.count), let first = text.utf8.first, NameGrammar.isLetterOrDigit(first),
            text.utf8.allSatisfy(NameGrammar.isNameByte)
        else { return nil }
        description = String(text)
    }

    /// Reads a content name that a person gave.
    ///
    /// - Throws: ``LogSyncError/Code/usage`` where it is not of the grammar.
    public init(checking text: some StringProtocol) throws(LogSyncError) {
        guard let name = ContentName(text) else {
            let lower = text.lowercased().replacing(" ", with: "-")
            let meant = ContentName(lower) == nil ? "" : "Did you mean \(lower.debugDescription)? "
            throw LogSyncError(
                .usage, "\(String(text).debugDescription) is not a content name; nothing was done",
                help: meant + "Use at most 63 of a-z, 0-9, dot, dash and underscore, and begin with a letter or digit")
        }
        self = name
    }
}

/// The first 128 bits of the SHA-256 of a file's bytes, in names as 32 lower-case hex digits.
package struct FileHash: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Reads exactly 32 lower-case hex digits. Returns nil for anything else.
    package init?(_ text: some StringProtocol) {
        let hash = NameGrammar.read(String(text)) { $0.hash() }
        guard let hash else { return nil }
        self = hash
    }

    /// Takes the first 16 of a digest's bytes.
    package init(digest: some Sequence<UInt8>) {
        var words: (UInt64, UInt64) = (0, 0)
        for (index, byte) in digest.prefix(16).enumerated() {
            if index < 8 { words.0 = words.0 << 8 | UInt64(byte) } else { words.1 = words.1 << 8 | UInt64(byte) }
        }
        self.init(high: words.0, low: words.1)
    }

    package var description: String { PeerID(high: high, low: low).description }

    package static func < (a: FileHash, b: FileHash) -> Bool {
        (a.high, a.low) < (b.high, b.low)
    }
}

/// The name of an immutable file that a peer publishes. Different bytes never have the same name.
package protocol PublishedName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The subfolder of the peer's folder where files of this kind are.
    static var folder: String { get }
    /// How many bytes a sound file has at most.
    static var maximumLength: UInt64 { get }
    /// Reads exactly the names of the grammar. Returns nil for anything else.
    init?(_ fileName: String)
    /// What the file's bytes hash to; nil where the name is not of its bytes.
    var hash: FileHash? { get }
}

/// `FIRST-LAST-HASH.tlog`: the log file that holds one peer's transactions from FIRST to LAST.
package struct LogFileName: PublishedName {
    package static let folder = "logs"
    package static let maximumLength = UInt64.max

    package let first: UInt64
    package let last: UInt64
    package let fileHash: FileHash

    /// Sequences are within 1 … 999 999 999 999, the greatest that 12 digits can say.
    package static let maximumSequence = Limits.sequence

    /// Returns nil unless 1 ≤ first ≤ last ≤ ``maximumSequence``.
    package init?(first: UInt64, last: UInt64, fileHash: FileHash) {
        guard 1 <= first, first <= last, last <= Self.maximumSequence else { return nil }
        self.first = first
        self.last = last
        self.fileHash = fileHash
    }

    package init?(_ fileName: String) {
        let parts = NameGrammar.read(fileName) { bytes -> (first: UInt64, last: UInt64, hash: FileHash)? in
            guard let first = bytes.twelveDigits(), bytes.take("-"), let last = bytes.twelveDigits(), bytes.take("-"),
                let hash = bytes.hash(), bytes.take(".tlog")
            else { return nil }
            return (first, last, hash)
        }
        guard let parts else { return nil }
        self.init(first: parts.first, last: parts.last, fileHash: parts.hash)
    }

    package var hash: FileHash? { fileHash }

    package var description: String {
        "\(NameGrammar.twelveDigits(first))-\(NameGrammar.twelveDigits(last))-\(fileHash).tlog"
    }

    package func covers(_ sequence: UInt64) -> Bool { first <= sequence && sequence <= last }

    package static func < (a: LogFileName, b: LogFileName) -> Bool {
        (a.first, a.last, a.fileHash) < (b.first, b.last, b.fileHash)
    }
}

/// `SEQUENCE-HASH.snap`: a snapshot, by its author's own sequence in it.
package struct SnapshotName: PublishedName {
    package static let folder = "snapshots"
    package static let maximumLength = UInt64.max

    /// 0 … 999 999 999 999; 0 where the author had made no transaction.
    package let sequence: UInt64
    package let fileHash: FileHash

    package init?(sequence: UInt64, fileHash: FileHash) {
        guard sequence <= LogFileName.maximumSequence else { return nil }
        self.sequence = sequence
        self.fileHash = fileHash
    }

    package init?(_ fileName: String) {
        let parts = NameGrammar.read(fileName) { bytes -> (sequence: UInt64, hash: FileHash)? in
            guard let sequence = bytes.twelveDigits(), bytes.take("-"), let hash = bytes.hash(), bytes.take(".snap")
            else { return nil }
            return (sequence, hash)
        }
        guard let parts else { return nil }
        self.init(sequence: parts.sequence, fileHash: parts.hash)
    }

    package var hash: FileHash? { fileHash }
    package var description: String { "\(NameGrammar.twelveDigits(sequence))-\(fileHash).snap" }

    package static func < (a: SnapshotName, b: SnapshotName) -> Bool {
        (a.sequence, a.fileHash) < (b.sequence, b.fileHash)
    }
}

/// `FINGERPRINT.sql`: an app's schema as one peer has it.
package struct SchemaFileName: PublishedName {
    package static let folder = "schemas"
    package static let maximumLength = UInt64(Limits.schemaLength)

    package let fingerprint: SchemaFingerprint

    package init(_ fingerprint: SchemaFingerprint) {
        self.fingerprint = fingerprint
    }

    package init?(_ fileName: String) {
        guard fileName.utf8.count == 36, fileName.hasSuffix(".sql"), let bytes = Hex.decode(fileName.dropLast(4)),
            let fingerprint = SchemaFingerprint(bytes: bytes)
        else { return nil }
        self.init(fingerprint)
    }

    /// None: what a fingerprint is of is the schema module's business.
    package var hash: FileHash? { nil }
    package var description: String { "\(fingerprint).sql" }

    package static func < (a: SchemaFileName, b: SchemaFileName) -> Bool {
        a.fingerprint.bytes.lexicographicallyPrecedes(b.fingerprint.bytes)
    }
}

/// `HASH`: a value too large for a log.
package struct BlobName: PublishedName {
    package static let folder = "blobs"
    package static let maximumLength = UInt64(BlobID.maximumLength)

    package let fileHash: FileHash

    package init(_ fileHash: FileHash) {
        self.fileHash = fileHash
    }

    package init?(_ fileName: String) {
        guard let hash = FileHash(fileName) else { return nil }
        self.init(hash)
    }

    package var hash: FileHash? { fileHash }
    package var description: String { fileHash.description }

    package static func < (a: BlobName, b: BlobName) -> Bool { a.fileHash < b.fileHash }
}
