package import LogSyncModel

/// What was found in one peer's folder, for the next process to go by as long as the folder stands as it stood.
///
/// It holds where nothing about the places that tell of a change is another: size, modification time, inode and the
/// kernel's own time of change. A change that comes within one step of the file system's clock after a look would leave
/// all of them as they are, so only what had stood still for ``ContainerScanner/standstill`` when it was looked at is
/// remembered. It does not show that a file which was listed is still being written, so only a folder of which everything
/// was imported may be remembered.
package struct RememberedPeer: Sendable {
    package var id: PeerID
    /// When it was looked at: Unix nanoseconds by this machine's clock.
    package var looked: Int64
    /// Who looked.
    package var reader: PeerID
    package var scan: PeerScan
    /// Of the places in ``ContainerScanner/places(of:)``; nil where nothing was.
    var statuses: [FileStatus?]

    init(id: PeerID, looked: Int64, reader: PeerID, scan: PeerScan, statuses: [FileStatus?]) {
        self.id = id
        self.looked = looked
        self.reader = reader
        self.scan = scan
        self.statuses = statuses
    }
}

// MARK: - As bytes

/// A store of one machine keeps these for its own next process: bytes that cannot be read are none.
extension RememberedPeer {
    /// Raised whenever the bytes mean something else.
    private static let version: UInt64 = 2

    package func encoded() -> [UInt8] {
        var bytes = MemoryWriter()
        bytes.put(Self.version)
        bytes.put(looked)
        bytes.put(reader.description)
        bytes.put(scan.imported(of: reader))
        bytes.put(statuses.count)
        for status in statuses {
            bytes.put(status != nil)
            guard let status else { continue }
            bytes.put(status.isDirectory)
            bytes.put(status.size)
            bytes.put(status.modified)
            bytes.put(status.changed)
            bytes.put(status.inode)
            bytes.put(status.device)
            bytes.put(status.linkCount)
        }
        bytes.put(scan.logs)
        bytes.put(scan.snapshots)
        bytes.put(scan.schemas)
        bytes.put(scan.blobs)
        bytes.put(scan.description.value != nil)
        if let description = scan.description.value {
            bytes.put(description.name)
            bytes.put(description.created)
            bytes.put(description.publicKey ?? [])
            bytes.put(description.publicKey != nil)
            bytes.put(description.succeeds?.description ?? "")
            bytes.put(description.schema?.bytes ?? [])
            bytes.put(description.without.count)
            for names in description.without {
                bytes.put(names.count)
                for name in names { bytes.put(name) }
            }
        }
        bytes.put(scan.receiptModified ?? 0)
        bytes.put(scan.said != nil)
        if let said = scan.said {
            bytes.put(said.counter)
            bytes.put(said.written)
            bytes.put(said.published)
            bytes.put(said.chain)
            bytes.put(said.collectionEpoch)
            bytes.put(said.hasLeft)
            bytes.put(said.held.count)
            for held in said.held {
                bytes.put(held.peer.description)
                bytes.put(held.sequence)
                bytes.put(held.file ?? "")
                bytes.put(held.reason)
            }
        }
        return bytes.bytes
    }

    package init?(id: PeerID, decoding bytes: [UInt8]) {
        guard let read = bytes.withUnsafeBytes({ Self.read($0, id) }) else { return nil }
        self = read
    }

    private static func read(_ buffer: UnsafeRawBufferPointer, _ id: PeerID) -> Self? {
        var bytes = MemoryReader(rest: buffer[...])
        guard bytes.number() == version else { return nil }
        let looked = bytes.signed()
        guard let reader = PeerID(bytes.text()) else { return nil }
        let imported = bytes.number()
        var statuses: [FileStatus?] = []
        for _ in 0..<bytes.count() {
            guard bytes.flag() else {
                statuses.append(nil)
                continue
            }
            statuses.append(
                FileStatus(
                    kind: bytes.flag() ? .directory : .file, size: bytes.number(), modified: bytes.signed(),
                    changed: bytes.signed(), inode: bytes.number(), device: bytes.number(), linkCount: bytes.number()))
        }
        var scan = PeerScan(id: id)
        scan.logs = bytes.files()
        scan.snapshots = bytes.files()
        scan.schemas = bytes.files()
        scan.blobs = bytes.files()
        if bytes.flag() {
            var description = PeerDescription(name: bytes.text(), created: bytes.signed())
            let key = bytes.bytes()
            if bytes.flag() { description.publicKey = key }
            description.succeeds = PeerID(bytes.text())
            description.schema = SchemaFingerprint(bytes: bytes.bytes())
            for _ in 0..<bytes.count() {
                var names: [String] = []
                for _ in 0..<bytes.count() { names.append(bytes.text()) }
                description.without.append(names)
            }
            scan.description = .valid(description)
        }
        let modified = bytes.signed()
        if bytes.flag() {
            var said = ReceiptGist(
                counter: bytes.number(), written: bytes.signed(), published: bytes.number(), chain: bytes.text(),
                collectionEpoch: bytes.number(), held: [], hasLeft: bytes.flag())
            for _ in 0..<bytes.count() {
                guard let peer = PeerID(bytes.text()) else { return nil }
                let (sequence, file) = (bytes.number(), bytes.text())
                said.held.append(
                    Receipt.Held(peer: peer, sequence: sequence, file: file.isEmpty ? nil : file, reason: bytes.text()))
            }
            scan.receipt = .unread
            scan.receiptModified = modified
            scan.said = said
            scan.rememberedImport = Dot(reader, imported)
        }
        guard !bytes.isBroken, bytes.rest.isEmpty else { return nil }
        return Self(id: id, looked: looked, reader: reader, scan: scan, statuses: statuses)
    }
}
