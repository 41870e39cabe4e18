import Foundation
import LogSyncContainer
import LogSyncFormat
import LogSyncModel

/// Showing what a snapshot holds, entry by entry.
extension Replicator {
    /// Streams a snapshot, wherever it is.
    ///
    /// - Throws: `noStore` where there is none; `malformedLog`; `newerFormat`; whatever `body` throws.
    public static func showSnapshot(file: String, _ body: (SnapshotElement) throws -> Void) throws {
        do {
            let source: FileSource
            do throws(FileSystemError) {
                source = try FileSource(PosixFileSystem().open(file))
            } catch  where error.isAbsence {
                throw LogSyncError(
                    .noStore, "there is no file \(file)",
                    help: "Snapshots are in CONTAINER/CONTENT/peers/PEER/snapshots")
            } catch {
                throw error.explained(kept: "nothing was changed")
            }
            let reader = try SnapshotReader(source)
            _ = try reader.verify()
            let manifest = reader.manifest
            try body(
                .snapshot(
                    SnapshotElement.Snapshot(
                        content: reader.header.content, peer: PeerName(id: reader.header.peer, name: nil),
                        sequence: reader.header.sequence,
                        taken: Timestamp(milliseconds: manifest.taken), bytes: source.count,
                        digest: String(format: "%016lx", manifest.digest), schema: manifest.schema.description,
                        vector: manifest.vector)))
            while let rows = try reader.next() { try rows.forEachShownRow(manifest) { try body(.row($0)) } }
        } catch let error as LogFileError {
            throw error.logSyncError(file: file)
        }
    }
}

extension SnapshotRows {
    fileprivate func forEachShownRow(
        _ manifest: SnapshotManifest, _ body: (SnapshotElement.Row) throws -> Void
    ) throws {
        switch self {
        case .plain(let rows):
            for index in rows.identities.indices { try body(rows.shown(index, manifest)) }
        case .spelled(let rows):
            for row in rows.rows { try body(row.shown(rows.table, manifest)) }
        }
    }
}

extension PlainRows {
    fileprivate func shown(_ index: Int, _ manifest: SnapshotManifest) -> SnapshotElement.Row {
        let cells = columns.map { column in
            let own = column.exceptions.first { $0.row == index }?.stamp ?? stamps[index]
            let version = SpelledRows.Version(stamp: own, value: column.values?[index])
            return SpelledRows.Cell(column: column.name, versions: [version])
        }
        return SpelledRows.Row(
            identity: identities[index], integer: integers.isEmpty ? nil : integers[index], inserts: [stamps[index]],
            cells: cells
        ).shown(table, manifest)
    }
}

extension SpelledRows.Row {
    fileprivate func shown(_ table: String, _ manifest: SnapshotManifest) -> SnapshotElement.Row {
        func peer(_ place: Int) -> PeerName { PeerName(id: manifest.peers[place].id, name: nil) }
        func entry(_ stamp: EntryStamp) -> SnapshotElement.Row.Entry {
            SnapshotElement.Row.Entry(
                peer: peer(stamp.peer), sequence: stamp.sequence,
                time: Timestamp(milliseconds: stamp.time.milliseconds))
        }
        return SnapshotElement.Row(
            table: table, identity: identity.description,
            key: identity.naturalParts?.map { JSONValue($0.value) }, integer: integer, inserts: inserts.map(entry),
            deletes: deletes.map(entry),
            cells: cells.map { cell in
                SnapshotElement.Row.Cell(
                    column: cell.column,
                    versions: cell.versions.map {
                        let own = entry($0.stamp)
                        return SnapshotElement.Row.Version(
                            peer: own.peer, sequence: own.sequence, time: own.time,
                            value: $0.value.map { JSONValue($0) })
                    },
                    additions: cell.additions.map {
                        let own = entry($0.stamp)
                        return SnapshotElement.Row.Addition(
                            peer: own.peer, sequence: own.sequence, time: own.time,
                            base: .init(peer: peer($0.basePeer), sequence: $0.baseSequence),
                            amount: JSONValue($0.cumulative))
                    })
            })
    }
}
