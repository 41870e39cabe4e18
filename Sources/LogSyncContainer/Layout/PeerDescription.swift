import FoundationEssentials
package import LogSyncModel

/// `peer.json`: what a peer says of itself when it begins, and whenever its app's schema changes.
package struct PeerDescription: Hashable, Sendable {
    /// For people.
    package var name: String
    /// Unix milliseconds.
    package var created: Int64
    /// The peer's public key, raw bytes; nil where it signs nothing.
    package var publicKey: [UInt8]?
    /// The peer whose store this one's was copied or restored from.
    package var succeeds: PeerID?
    /// The app's schema as the peer has it now; nil where it does not say so.
    package var schema: SchemaFingerprint?
    /// What that schema seems to show and the peer does not, by names in logs: a table and a column, or a table alone.
    package var without: [[String]]

    package init(
        name: String, created: Int64, publicKey: [UInt8]? = nil, succeeds: PeerID? = nil,
        schema: SchemaFingerprint? = nil, without: [[String]] = []
    ) {
        self.name = name
        self.created = created
        self.publicKey = publicKey
        self.succeeds = succeeds
        self.schema = schema
        self.without = without
    }

    static let currentFormat = 1
    static let maximumLength = 64 << 10
    /// How much of that ``without`` may take up, in bytes.
    package static let maximumWithout = 32 << 10

    private struct Document: Codable {
        var created: String
        var format: Int
        var name: String
        var publicKey: String?
        var schema: String?
        var succeeds: PeerID?
        var without: [[String]]?
    }

    /// The document's bytes: one line, keys sorted.
    package func encoded() -> [UInt8] {
        Documents.encode(
            Document(
                created: Timestamp.format(created), format: Self.currentFormat, name: name,
                publicKey: publicKey.map { Hex.encode($0) }, schema: schema?.description, succeeds: succeeds,
                without: without.isEmpty ? nil : without))
    }

    /// Reads a document of this or an older format; keys that it does not know are nothing to it.
    ///
    /// - Throws: ``LogSyncError/Code/newerFormat``, ``LogSyncError/Code/malformedLog``.
    package init(decoding bytes: [UInt8]) throws(LogSyncError) {
        let document: Document = try Documents.decode(bytes, currentFormat: Self.currentFormat, called: "peer.json")
        guard let created = Timestamp.parse(document.created) else {
            throw LogSyncError(.malformedLog, "peer.json has no time of creation; it was not read")
        }
        self.init(
            name: document.name, created: created, publicKey: document.publicKey.flatMap { Hex.decode($0) },
            succeeds: document.succeeds,
            schema: document.schema.flatMap { Hex.decode($0) }.flatMap { SchemaFingerprint(bytes: $0) },
            without: document.without ?? [])
    }
}

extension PeerFolder {
    /// Writes this peer's description, where it is not already there in the same bytes.
    ///
    /// - Throws: as ``ContentFolder/checkAvailable()``.
    package func write(_ description: PeerDescription) throws(LogSyncError) {
        try create()
        do throws(FileSystemError) {
            let bytes = description.encoded()
            if try existingBytes(descriptionPath, limit: PeerDescription.maximumLength) == bytes { return }
            try fileSystem.replaceFile(
                descriptionPath, with: bytes, staging: "\(path)/\(StagingName.description(id))",
                permissions: content.permissions)
        } catch {
            throw error.explained(kept: Kept.outbox)
        }
    }

    /// Whether this peer's description is there and cannot be read.
    ///
    /// - Throws: as ``ContentFolder/checkAvailable()``.
    package func hasDamagedDescription() throws(LogSyncError) -> Bool {
        let bytes: [UInt8]?
        do throws(FileSystemError) {
            bytes = try existingBytes(descriptionPath, limit: PeerDescription.maximumLength)
        } catch {
            throw error.explained(kept: Kept.outbox)
        }
        do throws(LogSyncError) {
            if let bytes { _ = try PeerDescription(decoding: bytes) }
            return false
        } catch {
            return error.code == .malformedLog
        }
    }

    /// nil where the file is not there or too long, or something else has its name.
    func existingBytes(_ path: String, limit: Int) throws(FileSystemError) -> [UInt8]? {
        do throws(FileSystemError) {
            guard try fileSystem.status(path, followingLinks: false).isFile else { return nil }
            return try fileSystem.readWhole(path, limit: limit)
        } catch let error where error.isAbsence {
            return nil
        }
    }
}
