import LogSyncFormat
import LogSyncModel

/// The snapshot decoder: no input may do more than make it throw a `LogFileError`.
enum SnapshotTarget {
    static func run(_ bytes: [UInt8]) {
        read(bytes)
        if let repaired = Hashes.repaired(bytes, trailerLength: 48, totalLength: -48) { read(repaired) }
    }

    private static func read(_ bytes: [UInt8]) {
        attempt { _ = try SnapshotReader(MemorySource(bytes)).verify() }
        attempt { try SnapshotReader(MemorySource(bytes)).skip(.max) }
        attempt {
            let reader = try SnapshotReader(MemorySource(bytes))
            var frames: [SnapshotRows] = []
            while let rows = try reader.next() { frames.append(rows) }
            try check(frames, reader)
        }
    }

    /// What is taken can be written again, and then means the same.
    static func check(_ frames: [SnapshotRows], _ reader: SnapshotReader) throws {
        let manifest = reader.manifest
        require(
            manifest.peers.allSatisfy { (1...Limits.sequence).contains($0.sequence) }
                && manifest.branches.allSatisfy { (1...Limits.sequence).contains($0.start) }
                && manifest.marks.allSatisfy { $0.first - 1 + UInt64($0.marks.count) <= Limits.sequence }
                && manifest.sequences.values.allSatisfy(Limits.rowNumbers.contains),
            "\(manifest) is beyond all bounds")
        var bytes: [UInt8] = []
        let writer = try SnapshotWriter(
            content: reader.header.content, peer: reader.header.peer, manifest: reader.manifest
        ) { bytes += $0 }
        for rows in frames { try writer.append(rows) }
        let hash = try writer.finish()
        let again = try SnapshotReader(MemorySource(bytes))
        require(try again.verify() == hash, "what was written does not have its hash")
        require(again.manifest == reader.manifest, "\(reader.manifest) was written, \(again.manifest) read back")
        for rows in frames {
            let read = try again.next()
            require(read == rows, "\(rows) were written and \(String(describing: read)) read back")
        }
    }
}
