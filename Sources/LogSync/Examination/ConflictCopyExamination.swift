import LogSyncContainer
import LogSyncFormat
import LogSyncModel

/// Tells what a conflict copy is good for, and puts back what nothing else here has.
struct ConflictCopyExamination {
    let content: ContentFolder

    /// What becomes of a copy.
    enum Use: Hashable {
        /// The original is sound: the copy's bytes are not needed.
        case none
        /// The original is missing or damaged, and the copy has the bytes that its name says.
        case replacement
        /// Neither can be told. Whatever the copy holds, people may need it.
        case unknown
    }

    /// - Parameter peer: what a scan has found of the peer whose document it is a copy of.
    func use(of copy: ConflictCopy, _ peer: (PeerID) -> PeerScan?) -> Use {
        switch copy.original {
        case .marker: (try? content.checkAvailable()) == nil ? .unknown : .none
        case .receipt(let id): peer(id).map { Self.isSound($0.receipt) } ?? false ? .none : .unknown
        case .description(let id): peer(id).map { Self.isSound($0.description) } ?? false ? .none : .unknown
        case .log, .snapshot, .schema, .blob:
            switch isSound(copy.originalPath, copy.original) {
            case true: .none
            case nil: .unknown
            case false: isSound(copy.path, copy.original) ?? false ? .replacement : .unknown
            }
        case .folder: .unknown
        }
    }

    private static func isSound<Document>(_ found: PeerScan.Found<Document>) -> Bool {
        switch found {
        case .valid, .outdated, .unread: true
        case .missing, .damaged, .newerFormat: false
        }
    }

    /// Whether a file has the bytes that a name says: false where it is missing, too; nil where it could not be told. Logs and
    /// snapshots are read block by block, each of which has its own hash, so that what is none is not read to its end.
    private func isSound(_ path: String, _ name: ConflictCopy.Original) -> Bool? {
        let path = "\(content.path)/\(path)"
        do {
            switch name {
            case .log(_, let name):
                let reader = try LogFileReader(FileSource(content.fileSystem.open(path)), maximumExpansion: .max)
                return try reader.verify().nameDigits == name.fileHash.description
            case .snapshot(_, let name):
                let reader = try SnapshotReader(FileSource(content.fileSystem.open(path)), maximumExpansion: .max)
                return try reader.verify().nameDigits == name.fileHash.description
            case .schema(_, let name):
                let limit = ContentFolder.longestSchema
                let bytes = try content.fileSystem.open(path).read(at: 0, count: limit + 1)
                return bytes.count <= limit && ContentFolder.fingerprint(bytes) == name.fingerprint
            case .blob(let peer, let name): return try content.peer(peer).verify(name, at: path) == .intact
            case .marker, .receipt, .description, .folder: return nil
            }
        } catch LogFileError.newerFormat {
            return nil
        } catch is LogFileError {
            return false
        } catch let error as FileSystemError where error.isAbsence {
            return false
        } catch {
            return nil
        }
    }

    // MARK: Repairing

    private func publisher(_ peer: PeerID) -> Publisher { Publisher(folder: content.peer(peer)) }

    /// Deletes a copy whose bytes are not needed; puts them in the place of the original first where they are.
    ///
    /// - Throws: `ioError` where its use cannot be told (any more), and it was left; as ``PeerFolder/remove(_:)``.
    func settle(_ copy: ConflictCopy) throws {
        let path = "\(content.path)/\(copy.path)"
        switch use(of: copy, { try? ContainerScanner(content: content).scan(only: $0, full: true) }) {
        case .none: break
        case .replacement:
            switch copy.original {
            case .log(let peer, let name): try publisher(peer).publish(copy: path, as: name)
            case .snapshot(let peer, let name): try publisher(peer).publish(copy: path, as: name)
            case .schema(let peer, let name): try publisher(peer).publish(copy: path, as: name)
            case .blob(let peer, let name): try publisher(peer).publish(copy: path, as: name)
            case .marker, .receipt, .description, .folder: break
            }
        case .unknown:
            throw Self.changed(path)
        }
        do throws(FileSystemError) {
            try content.fileSystem.remove(path)
        } catch {
            throw error.explained(kept: "it was left as it is")
        }
    }

    static func changed(_ path: String) -> LogSyncError {
        LogSyncError(
            .ioError, "\(path) was left as it is: it has changed meanwhile, or cannot be read",
            help: "Run logsync doctor again")
    }
}
