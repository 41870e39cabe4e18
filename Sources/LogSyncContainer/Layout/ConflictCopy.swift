package import LogSyncModel

/// A second version of a file or folder of ours, which a sync engine has kept under a name of its own that has the original's
/// in it: `….sync-conflict-20260101-101010-ABCDEFG.tlog`, `receipt (conflicted copy).json`.
package struct ConflictCopy: Hashable, Sendable {
    package enum Original: Hashable, Sendable {
        case marker
        case receipt(PeerID)
        case description(PeerID)
        case log(PeerID, LogFileName)
        case snapshot(PeerID, SnapshotName)
        case schema(PeerID, SchemaFileName)
        case blob(PeerID, BlobName)
        /// That of all peers, a peer's, or one in a peer's.
        case folder
    }

    /// Relative to the content folder, as the original's.
    package let path: String
    package let originalPath: String
    package let original: Original

    /// Returns nil where the name is not made of one that the grammar allows at this place: the file is none of ours.
    ///
    /// - Parameter path: relative to the content folder.
    package init?(path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard let name = parts.last.map(String.init), let found = Self.original(of: name, in: parts.dropLast()) else {
            return nil
        }
        self.path = path
        originalPath = (parts.dropLast().map(String.init) + [found.name]).joined(separator: "/")
        original = found.original
    }

    private typealias Found = (name: String, original: Original)

    private static func original(of name: String, in folder: ArraySlice<Substring>) -> Found? {
        func fixed(_ stem: String, _ end: String, _ original: Original) -> Found? {
            isCopy(name, of: stem, end) ? (stem + end, original) : nil
        }
        guard let first = folder.first else {
            return fixed("logsync", ".json", .marker) ?? fixed(ContentFolder.peersName, "", .folder)
        }
        guard first == ContentFolder.peersName else { return nil }
        guard let peer = folder.dropFirst().first.flatMap({ PeerID(String($0)) }) else {
            guard folder.count == 1, let peer = PeerID(String(name.prefix(32))) else { return nil }
            return fixed(peer.description, "", .folder)
        }
        func published<Name: PublishedName>(
            _ length: Int, _ end: String, _ original: (PeerID, Name) -> Original
        ) -> Found? {
            let stem = String(name.prefix(length))
            guard let found = Name(stem + end), isCopy(name, of: stem, end) else { return nil }
            return (found.description, original(peer, found))
        }
        switch folder.dropFirst(2).map(String.init) {
        case []:
            return fixed("receipt", ".json", .receipt(peer)) ?? fixed("peer", ".json", .description(peer))
                ?? [LogFileName.folder, SnapshotName.folder, SchemaFileName.folder, BlobName.folder].lazy
                .compactMap { fixed($0, "", .folder) }.first
        case [LogFileName.folder]: return published(58, ".tlog", Original.log)
        case [SnapshotName.folder]: return published(45, ".snap", Original.snapshot)
        case [SchemaFileName.folder]: return published(32, ".sql", Original.schema)
        case [BlobName.folder]: return published(32, "", Original.blob)
        default: return nil
        }
    }

    /// Whether a name is `stem` and `end` with words of a sync engine between them or after both.
    private static func isCopy(_ name: String, of stem: String, _ end: String) -> Bool {
        guard name.hasPrefix(stem) else { return false }
        let rest = name.dropFirst(stem.count)
        guard let first = rest.first, !first.isLetter, !first.isNumber else { return false }
        return rest.lowercased().contains("conflict") && (rest.hasPrefix(end) || rest.hasSuffix(end))
    }
}
