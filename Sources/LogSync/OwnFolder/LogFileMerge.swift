import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// Merges this peer's small log files into larger ones, so that its folder holds a dozen or so, not millions.
///
/// Sizes stay geometric: a file is merged only with as much as it holds itself, so that every byte is written again a
/// logarithmic number of times.
struct LogFileMerge {
    private let own: OwnFolder

    private var peer: PeerID { own.peer }
    private var logs: LogLibrary { own.library.logs }

    /// With more files than this, the small ones are merged.
    private static let maximumFiles = 16

    init(_ own: OwnFolder) {
        self.own = own
    }

    /// Merges the newest files where there are many, and removes those whose transactions all stand in a larger one.
    func run() throws {
        let found = try own.library.scanner.scan(only: peer)?.logs ?? []
        let merging = try filesToMerge(found)
        guard let first = merging.first, let last = merging.last else { return try removeContained(found) }
        let range = first.name.first...last.name.last
        let run = try own.store.outbox(of: peer, range).filter(\.isPublished)
        if run.count == range.count, OwnFolder.firstRun(run).count == run.count {
            try own.write(run)
        } else {
            // The outbox has let older transactions go; their files have them still.
            guard try putTogether(merging.map(\.name)) else { return try removeContained(found) }
        }
        try removeContained(try own.library.scanner.scan(only: peer, full: true)?.logs ?? [])
    }

    /// The newest files where there are many, in order: they are to become one.
    func filesToMerge(_ found: [FoundFile<LogFileName>]) throws -> [FoundFile<LogFileName>] {
        guard found.count > Self.maximumFiles else { return [] }
        let current = try found.filter { file in
            try !found.contains { $0.name.contains(file.name) } && !own.isForeign(file.name)
        }.sorted { $0.name < $1.name }
        let start = Self.start(current.map { Int(clamping: $0.size) })
        return current.count - start > 1 ? Array(current[start...]) : []
    }

    /// From which file on, given all files' sizes in order of sequence, they are to become one.
    static func start(_ sizes: [Int]) -> Int {
        var start = sizes.count
        var sum = 0
        while start > 0, sum + sizes[start - 1] <= OwnFolder.maximumFileLength {
            // An older file that is larger than all after it may stay; a run of small ones before it may not.
            if sum > 0, sizes[start - 1] > 2 * sum, sizes.count - start > maximumFiles / 2 { break }
            sum += sizes[start - 1]
            start -= 1
        }
        return start
    }

    /// Makes one log file of several that follow one another, without decoding what they hold.
    ///
    /// - Returns: false where they do not, or one of them cannot be read: then all stays as it is.
    private func putTogether(_ names: [LogFileName]) throws -> Bool {
        guard let first = names.first, let last = names.last,
            zip(names, names.dropFirst()).allSatisfy({ $0.last + 1 == $1.first })
        else { return false }
        do {
            let readers = try names.map { try logs.reader($0, of: peer) }
            let chains = try readers.map { ($0.header.chainBefore, try $0.chainAfter()) }
            guard zip(chains, chains.dropFirst()).allSatisfy({ $0.1 == $1.0 }), let end = chains.last?.1,
                try zip(readers, names).allSatisfy({ try $0.verify().nameDigits == $1.fileHash.description })
            else { return false }
            let staged = try own.publisher(of: peer).stage(LogFileName.self)
            var writer = try LogFileWriter(
                content: own.library.content.name.description, peer: peer, sequences: first.first...last.last,
                chainBefore: chains[0].0, segmentBytes: readers.reduce(0) { $0 + $1.segmentBytes }
            ) { try staged.write($0) }
            for reader in readers { try reader.forEachBlock { try writer.append($0) } }
            _ = try writer.finish(chainAfter: end)
            let name = try staged.publish { LogFileName(first: first.first, last: last.last, fileHash: $0) }
            // Nothing is removed before this file proves to hold it all.
            return try own.folder.verify(name) == .intact
        } catch is LogFileError {
            return false
        }
    }

    private func removeContained(_ found: [FoundFile<LogFileName>]) throws {
        var sound: Set<LogFileName> = []
        var contained: [LogFileName] = []
        for file in found {
            guard let larger = found.first(where: { $0.name.contains(file.name) })?.name else { continue }
            if !sound.contains(larger) {
                guard try own.folder.verify(larger) == .intact, logs.hasHeader(larger, of: peer) else { continue }
                sound.insert(larger)
            }
            // Another branch of this peer's history is not in the larger file; the peers that import both need it.
            if try !own.isForeign(file.name) { contained.append(file.name) }
        }
        try own.folder.remove(contained)
    }
}
