package import LogSyncModel

/// What can be said of a published file before its content is decoded.
package enum FileState: Hashable, Sendable {
    /// Its length, hash and trailer agree: every byte is as its author wrote it.
    case complete
    /// Not all of it is here yet, or it has just gone.
    case incomplete
    /// It has its full length and the wrong bytes.
    case damaged
    /// Its bytes are as its name says, but it is no log file that this logsync knows.
    case foreign
}

/// What the first and last bytes of a log file or snapshot say, without the format's code.
package struct FileShape: Sendable {
    /// How many bytes ``totalLength`` wants.
    package var prefixLength: Int
    /// The file's whole length by its first bytes; nil where they are not of a known format.
    package var totalLength: @Sendable (_ prefix: [UInt8]) -> UInt64?
    /// How many bytes ``isTrailer`` wants; 0 to ask nothing.
    package var trailerLength: Int
    package var isTrailer: @Sendable (_ suffix: [UInt8]) -> Bool

    package init(
        prefixLength: Int = 24, totalLength: @escaping @Sendable (_ prefix: [UInt8]) -> UInt64?, trailerLength: Int = 0,
        isTrailer: @escaping @Sendable (_ suffix: [UInt8]) -> Bool = { _ in true }
    ) {
        self.prefixLength = prefixLength
        self.totalLength = totalLength
        self.trailerLength = trailerLength
        self.isTrailer = isTrailer
    }
}

/// Tells complete files from those that are still coming and those that are damaged, and remembers.
///
/// A complete file is read once. Another verdict is believed only for a file that has stood still (its tool may have
/// set its length first and be filling it within one step of the clock), and ``forgetDoubts()`` has all such
/// files read again.
///
/// Not safe for use from two threads at once: the actor that imports owns it.
package final class FileClassifier {
    private let shape: FileShape
    private let now: @Sendable () -> Duration
    private var verdicts: [String: Remembered] = [:]

    private struct Remembered {
        var status: FileStatus
        var settling: Settling
        var state: FileState
    }

    package init(shape: FileShape, now: @escaping @Sendable () -> Duration = PassingTime.machine) {
        self.shape = shape
        self.now = now
    }

    /// Reads a file from end to end, where that was not done before, and says what it is.
    ///
    /// - Throws: ``LogSyncError/Code/ioError``, ``LogSyncError/Code/noPermission``,
    ///   ``LogSyncError/Code/containerUnavailable`` where it cannot be read; that is no verdict.
    package func classify<Name: PublishedName>(_ name: Name, of folder: PeerFolder) throws(LogSyncError) -> FileState {
        let path = folder.path(name)
        do throws(FileSystemError) {
            let status = try folder.fileSystem.status(path, followingLinks: false)
            guard status.isFile else { return .foreign }
            var remembered =
                verdicts[path] ?? Remembered(status: status, settling: Settling(), state: .incomplete)
            let standsStill = remembered.settling.observe(status, at: now())
            if standsStill || (remembered.state == .complete && remembered.status == status) {
                verdicts[path] = remembered
                return remembered.state
            }
            remembered.status = status
            remembered.state = try judge(try folder.fileSystem.open(path), status.size, name.hash)
            verdicts[path] = remembered
            return remembered.state
        } catch let error where error.isAbsence {
            verdicts[path] = nil
            return .incomplete
        } catch {
            throw error.explained(kept: Kept.store)
        }
    }

    /// Forgets every verdict but ``FileState/complete``, so that the next asking reads again; for full scans.
    package func forgetDoubts() {
        verdicts = verdicts.filter { $0.value.state == .complete }
    }

    /// Forgets the files of a peer's folder that are not in `names`, so that memory does not grow for ever.
    package func forget<Name: PublishedName>(_ folder: PeerFolder, except names: some Sequence<Name>) {
        let prefix = folder.path(of: Name.self) + "/"
        let kept = Set(names.lazy.map { folder.path($0) })
        verdicts = verdicts.filter { !$0.key.hasPrefix(prefix) || kept.contains($0.key) }
    }

    private func judge(_ file: any ReadableFile, _ size: UInt64, _ expected: FileHash?) throws(FileSystemError)
        -> FileState
    {
        guard size > 0 else { return .incomplete }
        let prefix = try file.read(at: 0, count: shape.prefixLength)
        let known = prefix.count == shape.prefixLength ? shape.totalLength(prefix) : nil
        if let known, size != known { return size < known ? .incomplete : .damaged }
        var hash = StreamingHash()
        var offset: UInt64 = 0
        var suffix: [UInt8] = []
        var isBlank = true
        while true {
            let chunk = try file.read(at: offset, count: 1 << 20)
            if chunk.isEmpty { break }
            hash.update(chunk)
            offset += UInt64(chunk.count)
            suffix = Array((suffix + chunk.suffix(shape.trailerLength)).suffix(shape.trailerLength))
            if isBlank { isBlank = chunk.allSatisfy { $0 == 0 } }
        }
        guard expected == nil || expected == hash.value else {
            // Without a header the length is not known: too short to have one, or room made and nothing written yet.
            let mayStillCome = known == nil && (prefix.count < shape.prefixLength || isBlank)
            return mayStillCome || offset < size ? .incomplete : .damaged
        }
        guard known != nil else { return .foreign }
        return suffix.count == shape.trailerLength && shape.isTrailer(suffix) ? .complete : .foreign
    }
}
