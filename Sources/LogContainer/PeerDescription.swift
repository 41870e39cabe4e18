import FoundationEssentials
package import LogModel

/// `peer.json`: what a peer says of itself when it begins.
package struct PeerDescription: Hashable, Sendable {
    /// For people.
    package var name: String
    /// Unix milliseconds.
    package var created: Int64
    /// The peer's public key, raw bytes; nil where it signs nothing.
    package var publicKey: [UInt8]?
    /// The peer whose store this one's was copied or restored from.
    package var succeeds: PeerID?

    package init(name: String, created: Int64, publicKey: [UInt8]? = nil, succeeds: PeerID? = nil) {
        self.name = name
        self.created = created
        self.publicKey = publicKey
        self.succeeds = succeeds
    }

    static let currentFormat = 1
    static let maximumLength = 64 << 10

    private struct Document: Codable {
        var created: String
        var format: Int
        var name: String
        var publicKey: String?
        var succeeds: PeerID?
    }

    /// The document's bytes: one line, keys sorted.
    package func encoded() -> [UInt8] {
        Documents.encode(
            Document(
                created: Timestamp.format(created), format: Self.currentFormat, name: name,
                publicKey: publicKey.map { Hex.encode($0) }, succeeds: succeeds))
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
            succeeds: document.succeeds)
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
                descriptionPath, with: bytes, staging: "\(path)/\(StagingName.description(id))")
        } catch {
            throw error.explained(kept: Kept.outbox)
        }
    }

    /// nil where the file is not there or too long.
    func existingBytes(_ path: String, limit: Int) throws(FileSystemError) -> [UInt8]? {
        do throws(FileSystemError) {
            return try fileSystem.readWhole(path, limit: limit)
        } catch let error where error.isAbsence {
            return nil
        }
    }
}
