import LogSyncContainer
import LogSyncFormat
import LogSyncModel

/// What was found when a log file was read.
enum LogFileVerdict {
    /// Every byte is as its author wrote it; the transactions in it, in order.
    case sound([FoundTransaction])
    case incomplete(String)
    /// It was there when the folder was listed, and no longer when it was to be read, as where its author has merged it into
    /// another one meanwhile.
    case gone
    case damaged(String)
    case newerFormat(String)
    case tooLarge(String)
}

/// What is known of one transaction in a log file before its rows are read.
struct FoundTransaction {
    var header: TransactionHeader
    var chainBefore: ChainHash
    var chain: ChainHash
    /// The blobs that it names.
    var blobs: [BlobID] = []
}

/// Reads the log files in a content folder and remembers what they were found to be.
final class LogLibrary {
    let content: ContentFolder
    /// The peers whose files may come to any size.
    var acceptsSize: Set<PeerID> = []
    private let now: @Sendable () -> Duration
    /// What was found, by the files' paths.
    private var shelf: [String: Entry] = [:]
    /// The files of which every byte was read and found right, by their paths.
    private var readThrough: [String: FoundFile<LogFileName>] = [:]

    private struct Entry {
        var found: FoundFile<LogFileName>
        var since: Duration
        var verdict: LogFileVerdict
    }

    init(content: ContentFolder, now: @escaping @Sendable () -> Duration = PassingTime.machine) {
        self.content = content
        self.now = now
    }

    /// Reads a file from end to end, unless that was done and it stands as it stood.
    ///
    /// - Throws: `containerUnavailable`.
    func examine(_ file: FoundFile<LogFileName>, of peer: PeerID) throws -> LogFileVerdict {
        let path = content.peer(peer).path(file.name)
        let time = now()
        if let entry = shelf[path], entry.found == file {
            if case .sound = entry.verdict { return entry.verdict }
            if time - entry.since > ContentLibrary.fileClockStep { return entry.verdict }
        }
        let since = shelf[path].flatMap { $0.found == file ? $0.since : nil } ?? time
        let verdict = try read(file.name, of: peer)
        shelf[path] = Entry(found: file, since: since, verdict: verdict)
        return verdict
    }

    /// Forgets what a file was found to be, so that it is read again.
    func forget(_ name: LogFileName, of peer: PeerID) {
        shelf[content.peer(peer).path(name)] = nil
    }

    /// Forgets verdicts that may have changed for the better: those on files that were not found sound.
    func forgetDoubts() {
        shelf = shelf.filter { if case .sound = $0.value.verdict { true } else { false } }
    }

    /// Forgets the files whose transactions have all been imported.
    func forgetImported(_ vector: VersionVector) {
        shelf = shelf.filter { entry in
            guard case .sound(let transactions) = entry.value.verdict, let last = transactions.last else { return true }
            return !vector.covers(last.header.dot)
        }
    }

    /// Opens a file to stream from it.
    func reader(_ name: LogFileName, of peer: PeerID) throws -> LogFileReader {
        let file = try content.peer(peer).open(name)
        let source: FileSource
        do throws(FileSystemError) {
            source = try FileSource(file)
        } catch {
            throw error.explained(kept: FileSource.kept)
        }
        return try open(source, peer)
    }

    private func open(_ source: FileSource, _ peer: PeerID) throws -> LogFileReader {
        try LogFileReader(source, maximumExpansion: acceptsSize.contains(peer) ? .max : nil)
    }

    /// Whether every byte of a file is as its author wrote it. It is read block by block, each of which has its own hash, so
    /// that what is no log file is not read to its end.
    ///
    /// - Throws: `containerUnavailable`, `noPermission`, `ioError`.
    func isIntact(_ name: LogFileName, of peer: PeerID) throws -> Bool {
        do {
            return try reader(name, of: peer).verify().nameDigits == name.fileHash.description
        } catch is LogFileError {
            return false
        }
    }

    /// Whether a file is damaged or not all here, so that nobody gets from it what its name says. What is only too new or
    /// too large for this store is not; it is read once as it stands.
    ///
    /// - Parameters:
    ///   - readsAll: whether all of it is read; else its beginning and its length have to do.
    ///   - orRefused: whether a file counts that the file system does not let this process read.
    /// - Throws: `containerUnavailable`.
    func isUnreadable(
        _ file: FoundFile<LogFileName>, of peer: PeerID, readsAll: Bool, orRefused: Bool = false
    ) throws -> Bool {
        let path = content.peer(peer).path(file.name)
        if readThrough[path] == file { return false }
        do {
            let reader = try reader(file.name, of: peer)
            guard agrees(reader.header, file.name, peer), UInt64(reader.header.totalLength) == file.size else {
                return true
            }
            guard readsAll else { return false }
            guard try reader.verify().nameDigits == file.name.fileHash.description else { return true }
        } catch LogFileError.newerFormat, LogFileError.tooLarge {
            return false
        } catch is LogFileError {
            return true
        } catch let error as LogSyncError where error.code != .containerUnavailable {
            return orRefused
        }
        readThrough[path] = file
        return false
    }

    /// Whether a file begins with a header of this content and peer that agrees with its name.
    func hasHeader(_ name: LogFileName, of peer: PeerID) -> Bool {
        header(name, of: peer) != nil
    }

    /// The header of a file, where it has one of this content and peer that agrees with its name.
    func header(_ name: LogFileName, of peer: PeerID) -> LogFileHeader? {
        // A file that cannot be read proves nothing.
        guard let file = try? content.peer(peer).open(name),
            let prefix = try? file.read(at: 0, count: LogFileHeader.maximumLength),
            let header = try? LogFileHeader.parse(prefix: prefix), agrees(header, name, peer)
        else { return nil }
        return header
    }

    /// The chain hash after a file's last transaction, as its trailer says; nil where it is not whole.
    func end(of name: LogFileName, of peer: PeerID) -> ChainHash? {
        // A file that cannot be read proves nothing.
        guard let reader = try? reader(name, of: peer), agrees(reader.header, name, peer) else { return nil }
        return try? reader.chainAfter()
    }

    private func agrees(_ header: LogFileHeader, _ name: LogFileName, _ peer: PeerID) -> Bool {
        header.content == content.name.description && header.peer == peer
            && header.sequences == name.first...name.last
    }

    private func read(_ name: LogFileName, of peer: PeerID) throws -> LogFileVerdict {
        do {
            let source: FileSource
            do throws(FileSystemError) {
                source = try FileSource(content.fileSystem.open(content.peer(peer).path(name)))
            } catch  where error.isAbsence {
                return .gone
            } catch {
                throw error.explained(kept: FileSource.kept)
            }
            if try source.isBlank() { return .incomplete("nothing is written in it yet") }
            let reader = try open(source, peer)
            guard agrees(reader.header, name, peer) else {
                return .damaged("it holds what its name and place do not say")
            }
            guard try reader.verify().nameDigits == name.fileHash.description else {
                return .damaged("its bytes do not have the hash that its name says")
            }
            var transactions: [FoundTransaction] = []
            while let transaction = try reader.nextTransaction() {
                let end = try transaction.finish()
                transactions.append(
                    FoundTransaction(
                        header: transaction.header, chainBefore: transaction.chainBefore, chain: end.chain,
                        blobs: end.blobs))
            }
            return .sound(transactions)
        } catch let error as LogFileError {
            switch error {
            case .incomplete: return .incomplete(error.description)
            case .damaged: return .damaged(error.description)
            case .newerFormat: return .newerFormat(error.description)
            case .tooLarge: return .tooLarge(error.description)
            }
        } catch let error as LogSyncError where error.code != .containerUnavailable {
            // One file that cannot be read (yet) stops only the transactions that depend on it.
            return .incomplete(error.message)
        }
    }
}
