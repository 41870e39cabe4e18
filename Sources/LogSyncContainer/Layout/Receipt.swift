import FoundationEssentials
package import LogSyncModel

/// `receipt.json`: what a peer publishes to say what it has imported, what it has published and what it holds.
package struct Receipt: Hashable, Sendable {
    package var peer: PeerID
    /// Grows with every rewriting, so that an older receipt that a sync engine brings back is known for one.
    package var counter: UInt64
    /// Random, of one run of one process: two processes that share an id show by it.
    package var nonce: String
    /// When it was written: Unix milliseconds by the peer's clock.
    package var written: Int64
    package var content: Content

    package init(peer: PeerID, counter: UInt64, nonce: String, written: Int64, content: Content) {
        self.peer = peer
        self.counter = counter
        self.nonce = nonce
        self.written = written
        self.content = content
    }

    /// What a receipt says; it is rewritten when this changes, and otherwise seldom.
    package struct Content: Hashable, Sendable {
        /// The log formats that this peer reads, ascending.
        package var formats: [Int]
        /// The highest sequence that it has published; 0 for none.
        package var published: UInt64
        /// The chain hash of its transactions up to there, in hex.
        package var chain: String
        /// Everything that it has imported, its own transactions included.
        package var imported: VersionVector
        /// What it cannot import yet. Of more than ``maximumHeld`` the first are published.
        package var held: [Held]
        /// The digest of its replicated state, in hex: the same for peers with the same vector.
        package var digest: String
        /// The collection mark that it has seen: an owner raises its own, others echo the ones that they acknowledge.
        package var collectionEpoch: UInt64
        /// The highest collection epoch seen in each other peer's receipt.
        package var epochsSeen: [PeerID: UInt64]
        /// Whether it has left the folder: it writes here no more, and nobody is to wait for its word.
        package var hasLeft: Bool

        package init(
            formats: [Int] = [1], published: UInt64 = 0, chain: String = "", imported: VersionVector = VersionVector(),
            held: [Held] = [], digest: String = "", collectionEpoch: UInt64 = 0, epochsSeen: [PeerID: UInt64] = [:],
            hasLeft: Bool = false
        ) {
            self.formats = formats
            self.published = published
            self.chain = chain
            self.imported = imported
            self.held = held
            self.digest = digest
            self.collectionEpoch = collectionEpoch
            self.epochsSeen = epochsSeen
            self.hasLeft = hasLeft
        }

        package static let maximumHeld = 1000
        /// How many bytes `imported` and `epochsSeen` may take, and how many entries the latter has: with the held files that
        /// leaves a receipt within ``Receipt/maximumLength``.
        private static let vectorBytes = 3_700_000
        private static let maximumEpochs = 36_000
        /// The longest entry of each: 32 digits in quotes, a colon, a number and a comma.
        private static let (importedBytes, epochBytes) = (48, 52)

        /// Leaves out the peers for which a receipt has no room, such as did not stand in the last one first: who reads it
        /// takes it that nothing of theirs was imported, and nothing of theirs goes.
        ///
        /// - Parameter own: always stands there.
        package mutating func fit(after standing: Content?, of own: PeerID) {
            func first(_ count: Int, of ids: some Sequence<PeerID>, _ isNamed: (PeerID) -> Bool) -> ArraySlice<PeerID> {
                let ranked = ids.map { (rank: $0 == own ? 0 : isNamed($0) ? 1 : 2, id: $0) }
                return ranked.sorted { ($0.rank, $0.id) < ($1.rank, $1.id) }.map(\.id).prefix(count)
            }
            if epochsSeen.count > Self.maximumEpochs {
                let kept = Set(first(Self.maximumEpochs, of: epochsSeen.keys) { standing?.epochsSeen[$0] != nil })
                epochsSeen = epochsSeen.filter { kept.contains($0.key) }
            }
            let room = (Self.vectorBytes - epochsSeen.count * Self.epochBytes) / Self.importedBytes
            if imported.sequences.count > room {
                let kept = first(room, of: imported.sequences.keys) { standing?.imported[$0] ?? 0 > 0 }
                imported = VersionVector(Dictionary(uniqueKeysWithValues: kept.map { ($0, imported[$0]) }))
                // It is that of a state which is not said here.
                digest = ""
            }
        }
    }

    /// One file or transaction that cannot be imported yet.
    package struct Held: Hashable, Sendable, Codable, Comparable {
        package var peer: PeerID
        package var sequence: UInt64
        /// The file's name; nil where there is none, as with a gap.
        package var file: String?
        /// One of the command line's reasons: `incomplete`, `damaged`, `gap` …
        package var reason: String

        package init(peer: PeerID, sequence: UInt64, file: String?, reason: String) {
            self.peer = peer
            self.sequence = sequence
            self.file = file
            self.reason = reason
        }

        package static func < (a: Held, b: Held) -> Bool {
            (a.peer, a.sequence, a.reason, a.file ?? "") < (b.peer, b.sequence, b.reason, b.file ?? "")
        }
    }
}

extension Receipt {
    static let currentFormat = 1
    /// Longer documents are no receipts. ``Content/fit(after:of:)`` keeps them from becoming so long; a held file takes some
    /// 200 bytes.
    static let maximumLength = 4 << 20

    private struct Document: Codable {
        var chain: String
        var collectionEpoch: UInt64
        var counter: UInt64
        var digest: String
        var epochsSeen: [String: UInt64]?
        var format: Int
        var held: [Held]
        var imported: VersionVector
        /// Absent for false.
        var left: Bool?
        var nonce: String
        var peer: PeerID
        var published: UInt64
        var readsFormats: [Int]
        var written: String
    }

    private static let opening = Array("{\"checksum\":\"".utf8)

    /// The document's bytes: one line, `checksum` first, the other keys sorted.
    ///
    /// The checksum is of the document as it would be without it, so that keys which a newer logsync adds are covered.
    package func encoded() -> [UInt8] {
        let content = content.normalized
        let epochs = content.epochsSeen.map { ($0.key.description, $0.value) }
        let document = Document(
            chain: content.chain, collectionEpoch: content.collectionEpoch, counter: counter, digest: content.digest,
            epochsSeen: Dictionary(uniqueKeysWithValues: epochs), format: Self.currentFormat,
            held: content.held, imported: content.imported, left: content.hasLeft ? true : nil, nonce: nonce,
            peer: peer,
            published: content.published, readsFormats: content.formats, written: Timestamp.format(written))
        let body = Documents.encode(document)
        return Self.opening + Array("\(StreamingHash.of(body))\",".utf8) + body.dropFirst()
    }

    /// Reads a document of this or an older format; keys that it does not know are nothing to it.
    ///
    /// - Throws: ``LogSyncError/Code/newerFormat``; ``LogSyncError/Code/malformedLog`` where the checksum disagrees or a
    ///   number is beyond ``Limits``.
    package init(decoding bytes: [UInt8]) throws(LogSyncError) {
        let start = Self.opening.count
        guard bytes.count > start + 34, bytes.starts(with: Self.opening),
            let checksum = FileHash(String(decoding: bytes[start..<start + 32], as: UTF8.self)),
            bytes[start + 32] == UInt8(ascii: "\""), bytes[start + 33] == UInt8(ascii: ",")
        else { throw LogSyncError(.malformedLog, "receipt.json has no checksum; it was not read") }
        let body = [UInt8(ascii: "{")] + bytes[(start + 34)...]
        guard StreamingHash.of(body) == checksum else {
            throw LogSyncError(.malformedLog, "receipt.json does not agree with its checksum; it was not read")
        }
        let (document, imported, epochs) = try Self.decode(body)
        guard let written = Timestamp.parse(document.written) else {
            throw LogSyncError(.malformedLog, "receipt.json does not say when it was written; it was not read")
        }
        self.init(
            peer: document.peer, counter: document.counter, nonce: document.nonce, written: written,
            content: Content(
                formats: document.readsFormats, published: document.published, chain: document.chain,
                imported: imported, held: document.held, digest: document.digest,
                collectionEpoch: document.collectionEpoch, epochsSeen: epochs, hasLeft: document.left ?? false))
        guard isWithinLimits else {
            throw LogSyncError(.malformedLog, "receipt.json has a number that no peer comes to; it was not read")
        }
    }

    private var isWithinLimits: Bool {
        let sequences = [content.published] + content.imported.sequences.values + content.held.map(\.sequence)
        let numbers = [counter, content.collectionEpoch] + content.epochsSeen.values
        return sequences.allSatisfy { $0 <= Limits.sequence } && numbers.allSatisfy { $0 <= Limits.documentNumber }
            && content.formats.allSatisfy(Documents.isFormat)
    }

    /// The counter for a receipt that is to be newer than all before it.
    ///
    /// One that stands in the folder is not caught up with where it is further above the others than any receipt of this
    /// peer's can be: another writer made it.
    ///
    /// - Parameters:
    ///   - used: the highest counter that this peer used, as far as it knows.
    ///   - standing: that of its receipt in the folder; nil for none.
    package static func counter(after used: UInt64, standing: UInt64?) -> UInt64 {
        // What a former version caught up with may be anything.
        let used = used < Limits.documentNumber ? used : 0
        guard let standing, standing > used, standing - used <= Limits.counterRise,
            standing < Limits.documentNumber
        else { return used + 1 }
        return standing + 1
    }

    /// Reads a document, its vectors by a short way where they stand as they are written.
    private static func decode(
        _ body: [UInt8]
    ) throws(LogSyncError) -> (document: Document, imported: VersionVector, epochs: [PeerID: UInt64]) {
        func document(_ body: [UInt8]) throws(LogSyncError) -> Document {
            try Documents.decode(body, currentFormat: currentFormat, called: "receipt.json")
        }
        var rest = body
        let imported = VectorText.cut("imported", from: &rest)
        let epochs = VectorText.cut("epochsSeen", from: &rest)
        var read = try document(rest)
        // What was cut is to be all that these keys say.
        if imported != nil && !read.imported.sequences.isEmpty || epochs != nil && read.epochsSeen?.isEmpty == false {
            read = try document(body)
        } else {
            if let imported { read.imported = VersionVector(imported) }
            if let epochs { return (read, read.imported, epochs) }
        }
        let texts = (read.epochsSeen ?? [:]).compactMap { text, epoch in PeerID(text).map { ($0, epoch) } }
        return (read, read.imported, Dictionary(texts, uniquingKeysWith: max))
    }
}

extension Receipt.Content {
    /// This content in the order, and with as many held files, as it is published.
    var normalized: Self {
        var content = self
        content.held = Array(held.sorted().prefix(Self.maximumHeld))
        content.formats.sort()
        return content
    }

    /// Whether a receipt with this content says what one with `other` says.
    package func saysTheSame(as other: Self) -> Bool { normalized == other.normalized }
}

extension PeerFolder {
    /// This peer's own receipt as it stands in the folder; nil where there is none or it is damaged.
    ///
    /// - Throws: ``LogSyncError/Code/newerFormat``; as ``ContentFolder/checkAvailable()``.
    package func readReceipt() throws(LogSyncError) -> Receipt? {
        let bytes: [UInt8]?
        do throws(FileSystemError) {
            bytes = try existingBytes(receiptPath, limit: Receipt.maximumLength)
        } catch {
            throw error.explained(kept: Kept.outbox)
        }
        guard let bytes else { return nil }
        do throws(LogSyncError) {
            let receipt = try Receipt(decoding: bytes)
            return receipt.peer == id ? receipt : nil
        } catch let error where error.code == .malformedLog {
            return nil
        }
    }

    /// Publishes this peer's receipt where it would say anything new.
    ///
    /// - Parameters:
    ///   - counter: the highest counter this peer ever used, as far as the store knows; a wiped folder forgets.
    ///   - written: now, in Unix milliseconds.
    ///   - renews: whether it is published though it would say nothing new, but for when it was written.
    /// - Returns: the receipt that stands in the folder now.
    /// - Throws: ``LogSyncError/Code/newerFormat`` where a newer logsync wrote the receipt that stands there; as
    ///   ``ContentFolder/checkAvailable()``.
    package func publishReceipt(
        _ content: Receipt.Content, counter: UInt64, nonce: String, written: Int64, renews: Bool = false
    ) throws(LogSyncError) -> Receipt {
        try create()
        let standing = try readReceipt()
        let next = Receipt.counter(after: counter, standing: standing?.counter)
        if !renews, let standing, standing.counter >= counter, standing.counter < next,
            standing.content.saysTheSame(as: content)
        {
            return standing
        }
        let receipt = Receipt(peer: id, counter: next, nonce: nonce, written: written, content: content.normalized)
        do throws(FileSystemError) {
            try fileSystem.replaceFile(
                receiptPath, with: receipt.encoded(), staging: "\(path)/\(StagingName.receipt(id))",
                permissions: self.content.permissions)
        } catch {
            throw error.explained(kept: Kept.outbox)
        }
        return receipt
    }

    /// Removes a receipt that says nothing any more, as one that cannot be read of a peer that is gone.
    ///
    /// - Throws: as ``ContentFolder/checkAvailable()``.
    package func removeReceipt() throws(LogSyncError) {
        try content.checkAvailable()
        do throws(FileSystemError) {
            try fileSystem.remove(receiptPath)
        } catch let error where error.isAbsence {
            return
        } catch {
            throw error.explained(kept: Kept.outbox)
        }
    }
}
