import LogSyncModel

/// A directory's entries and what they were when last read.
struct CachedListing {
    var stability = FileStability()
    var isFailed = false
    private(set) var entries: [DirectoryEntry] = []
    /// Grows whenever the entries differ from those before; 0 for none yet.
    private(set) var version: UInt64 = 0

    mutating func replaceEntries(_ new: [DirectoryEntry]) {
        isFailed = false
        let new = new.sorted { $0.name < $1.name }
        if new == entries, version > 0 { return }
        entries = new
        version += 1
    }

    /// The files of one kind among the entries; all else goes to `strange`.
    func files<Name: PublishedName>(_ peerPath: String, _ strange: inout [StrangeEntry]) -> [FoundFile<Name>] {
        var found: [FoundFile<Name>] = []
        found.reserveCapacity(entries.count)
        for entry in entries {
            guard let name = Name(entry.name) else {
                strange.append(StrangeEntry(path: "\(peerPath)/\(Name.folder)/\(entry.name)", name: entry.name))
                continue
            }
            guard let status = entry.status else { continue }
            guard status.isFile else {
                strange.append(StrangeEntry(path: "\(peerPath)/\(Name.folder)/\(entry.name)", kind: .wrongType))
                continue
            }
            found.append(
                FoundFile(name: name, size: status.size, modified: status.modified, inode: status.inode))
        }
        return found
    }
}

/// A JSON document's bytes and what they were when last read.
struct CachedDocument {
    var stability = FileStability()
    private(set) var bytes: [UInt8]?
    private(set) var status: FileStatus?
    /// Grows whenever the bytes or their time differ from those before.
    private(set) var version: UInt64 = 0

    mutating func replace(_ bytes: [UInt8]?, _ status: FileStatus?) {
        if bytes == self.bytes, status?.modified == self.status?.modified { return }
        self.bytes = bytes
        self.status = status
        version += 1
    }

    func found<Document>(_ decode: ([UInt8]) throws(LogSyncError) -> Document) -> PeerScan.Found<Document> {
        guard let bytes else { return .missing }
        do throws(LogSyncError) {
            return .valid(try decode(bytes))
        } catch {
            return error.code == .newerFormat ? .newerFormat : .damaged
        }
    }
}

extension DirectoryEntry {
    /// nil where the file system did not say.
    var isDirectory: Bool? { status?.isDirectory }
    var isFile: Bool? { status?.isFile }
}
