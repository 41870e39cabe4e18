import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// Merges this peer's small log files into larger ones, so that its folder holds a dozen or so, not millions.
extension ReplicatedStore {
    /// With more files than this, the small ones are merged.
    private static let maximumFiles = 16

    /// Merges the newest files where there are many, and removes those whose transactions all stand in a larger one.
    ///
    /// Sizes stay geometric: a file is merged only with as much as it holds itself, so that every byte is written again
    /// a logarithmic number of times.
    func tidy() throws {
        let found = try scanner.scan(only: peer)?.logs ?? []
        let merging = try filesToMerge(found)
        guard let first = merging.first, let last = merging.last else { return try removeContained(found) }
        let range = first.name.first...last.name.last
        let run = try store.outbox(of: peer, range).filter(\.isPublished)
        if run.count == range.count, Self.firstRun(run).count == run.count {
            try write(run)
        } else {
            // The outbox has let older ones go; their files have them still.
            guard try putTogether(merging.map(\.name)) else { return try removeContained(found) }
        }
        try removeContained(try scanner.scan(only: peer, full: true)?.logs ?? [])
    }

    /// Makes one log file of several that follow one another, without decoding what they hold.
    ///
    /// - Returns: false where they do not, or one of them cannot be read: then all stays as it is.
    private func putTogether(_ names: [LogFileName]) throws -> Bool {
        guard let first = names.first, let last = names.last,
            zip(names, names.dropFirst()).allSatisfy({ $0.last + 1 == $1.first })
        else { return false }
        do {
            let readers = try names.map { try library.reader($0, of: peer) }
            let chains = try readers.map { ($0.header.chainBefore, try $0.chainAfter()) }
            guard zip(chains, chains.dropFirst()).allSatisfy({ $0.1 == $1.0 }), let end = chains.last?.1,
                try zip(readers, names).allSatisfy({ try $0.verify().nameDigits == $1.fileHash.description })
            else { return false }
            let folder = content.peer(peer)
            let staged = try publisher(folder).stage(LogFileName.self)
            var writer = try LogFileWriter(
                content: content.name.description, peer: peer, sequences: first.first...last.last,
                chainBefore: chains[0].0, segmentBytes: readers.reduce(0) { $0 + $1.segmentBytes }
            ) { try staged.write($0) }
            for reader in readers { try reader.forEachBlock { try writer.append($0) } }
            _ = try writer.finish(chainAfter: end)
            let name = try staged.publish { LogFileName(first: first.first, last: last.last, fileHash: $0) }
            // Nothing is removed before this one proves to hold it all.
            return try folder.verify(name) == .intact
        } catch is LogFileError {
            return false
        }
    }

    /// The newest files where there are many, in order: they are to become one.
    func filesToMerge(_ found: [FoundFile<LogFileName>]) throws -> [FoundFile<LogFileName>] {
        guard found.count > Self.maximumFiles else { return [] }
        let current = try found.filter { file in
            try !found.contains { $0.name.contains(file.name) } && !isForeign(file.name)
        }.sorted { $0.name < $1.name }
        let start = Self.mergeStart(current.map { Int(clamping: $0.size) })
        return current.count - start > 1 ? Array(current[start...]) : []
    }

    /// From which file on, given all files' sizes in order of sequence, they are to become one.
    static func mergeStart(_ sizes: [Int]) -> Int {
        var start = sizes.count
        var sum = 0
        while start > 0, sum + sizes[start - 1] <= maximumFileLength {
            // An older file that is larger than all after it may stay; a run of small ones before it may not.
            if sum > 0, sizes[start - 1] > 2 * sum, sizes.count - start > maximumFiles / 2 { break }
            sum += sizes[start - 1]
            start -= 1
        }
        return start
    }

    private func removeContained(_ found: [FoundFile<LogFileName>]) throws {
        let folder = content.peer(peer)
        var sound: Set<LogFileName> = []
        var contained: [LogFileName] = []
        for file in found {
            guard let larger = found.first(where: { $0.name.contains(file.name) })?.name else { continue }
            if !sound.contains(larger) {
                guard try folder.verify(larger) == .intact, library.hasHeader(larger, of: peer) else { continue }
                sound.insert(larger)
            }
            // Another branch of this peer's history is not in the larger file; it stays for whoever heals it.
            if try !isForeign(file.name) { contained.append(file.name) }
        }
        try folder.remove(contained)
    }
}

extension LogFileName {
    /// Whether this file holds all that `other` does, and more.
    func contains(_ other: LogFileName) -> Bool {
        first <= other.first && other.last <= last && (first, last) != (other.first, other.last)
    }
}
