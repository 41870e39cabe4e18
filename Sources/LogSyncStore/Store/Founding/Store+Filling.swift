import Foundation
package import LogSyncFormat
import LogSyncModel
import LogSyncSQLite

/// Filling a new store from a snapshot, for `clone`.
extension Store {
    /// Joins a snapshot into a store that nobody else has open and that holds nothing but settings.
    ///
    /// It is done in several SQLite transactions, so that no more than one of them is lost when the process dies: called
    /// again with the same snapshot, it goes on where it was.
    ///
    /// - Parameters:
    ///   - hash: names the snapshot.
    ///   - blobs: gives the blobs that it names.
    ///   - open: opens it; its bytes have been verified.
    ///   - step: how long one SQLite transaction may take; at least one frame is filled in each.
    ///   - progress: is told, after each SQLite transaction, how many frames are done.
    /// - Throws: `malformedLog` where its rows make no sense or do not add up to its digest; ``SnapshotAhead`` where they lie
    ///   in the future; what `open` and reading throw. The store is
    ///   of no use then.
    package func fill(
        from hash: FileHash, step: Duration = .seconds(1), blobs: BlobSource? = nil,
        _ open: () throws -> SnapshotReader,
        progress: (_ frames: Int) throws -> Void = { _ in }
    ) throws {
        try blamingSnapshot { try preparingTables { try fillOnce(from: hash, step, blobs, open, progress) } }
    }

    private func fillOnce(
        from hash: FileHash, _ step: Duration, _ blobs: BlobSource?, _ open: () throws -> SnapshotReader,
        _ progress: (_ frames: Int) throws -> Void
    ) throws {
        let reader = try open()
        var place = try database.read { try FillingPlace(of: hash, $0) }
        try reader.skip(place.frames)
        try withRollbackJournal(&place) { place in
            var isDone = false
            while !isDone {
                isDone = try fillStep(reader, &place, step, blobs)
                try progress(place.frames)
            }
        }
        try finish(place, try open(), blobs)
    }

    /// Runs `body` with a rollback journal in place of WAL: pages that are new go into the database at once, and are not
    /// copied there from a log. Where another program has the store open after all, the journal stays what it is.
    private func withRollbackJournal(
        _ place: inout FillingPlace, _ body: (inout FillingPlace) throws -> Void
    ) throws {
        if place.journal == nil {
            place.journal = String(text: try database.withConnection { try $0.scalar("PRAGMA journal_mode") } ?? .null)
            // The process that goes on after this one died has to know it.
            try database.write { [place] in try place.save($0) }
        }
        guard let journal = place.journal, journal == "wal" else { return try body(&place) }
        func set(_ journal: String) throws {
            try database.withConnection { connection in
                connection.finalizeStatements()
                _ = try connection.scalar("PRAGMA journal_mode = \(journal)")
            }
        }
        // Refused where another program has the store open: then it is filled as it is.
        try? set("delete")
        let result = Result { try body(&place) }
        let restored = Result { try set(journal) }
        // What ended the filling says more than that the journal could not be changed after it.
        try result.get()
        try restored.get()
    }

    /// Fills for a while; true where there was nothing left.
    private func fillStep(
        _ reader: SnapshotReader, _ place: inout FillingPlace, _ step: Duration, _ blobs: BlobSource?
    ) throws -> Bool {
        var next = place
        let isDone = try database.write { store in
            try store.copyAppTriggers()
            return try store.blamingTriggers { try fillStep(reader, &next, store, step, blobs) }
        }
        place = next
        return isDone
    }

    private func fillStep(
        _ reader: SnapshotReader, _ next: inout FillingPlace, _ store: OpenStore, _ step: Duration, _ blobs: BlobSource?
    ) throws -> Bool {
        let filler = try SnapshotFiller(store, reader.manifest, blobs: blobs)
        let times = try SnapshotTimes(store, reader.manifest, by: reader.header.peer)
        let deadline = ContinuousClock.now + step
        var isDone = false
        repeat {
            var frames: [SnapshotRows] = []
            var size = 0
            while size < Self.portion, ContinuousClock.now < deadline || frames.isEmpty {
                guard let rows = try reader.next() else {
                    isDone = true
                    break
                }
                try times.check(rows)
                frames.append(rows)
                size += Self.size(of: rows)
            }
            for (frame, rows) in try filler.fill(frames) { next.deferred[next.frames + frame] = rows }
            next.frames += frames.count
        } while !isDone && ContinuousClock.now < deadline
        store.noteTime(times.latest)
        try filler.flush()
        try filler.joiner.settle()
        next.digestBefore &+= filler.joiner.completed
        try next.save(store)
        return isDone
    }

    /// About how many bytes of frames are held in memory at a time.
    private static let portion = 32 << 20

    /// About how many bytes a frame takes: what it says, and a value a cell.
    private static func size(of rows: SnapshotRows) -> Int {
        guard case .plain(let plain) = rows else { return portion }
        return 1 << 20 + plain.identities.count * (plain.columns.count + 1) * MemoryLayout<Value>.stride
    }

    /// The rows that refer to such as came later; then the store counts as having everything.
    private func finish(_ place: FillingPlace, _ reader: SnapshotReader, _ blobs: BlobSource?) throws {
        try database.write { store in
            try store.copyAppTriggers()
            let filler = try SnapshotFiller(store, reader.manifest, blobs: blobs)
            guard try store.adoptBranches(of: reader.manifest) else { throw Self.anotherDigest }
            try store.blamingTriggers {
                if !place.deferred.isEmpty { try filler.fill(deferred: place.deferred, reader) }
                try filler.joiner.settle()
            }
            let digest = store.stateDigest &- place.digestBefore &- filler.joiner.completed
            guard digest == reader.manifest.digest else { throw Self.anotherDigest }
            try store.advance(to: reader.manifest)
            // Every entry was taken.
            try ForgottenColumns(store).add(reader.manifest.lost)
            for (name, number) in reader.manifest.sequences {
                guard let table = store.catalog[name], table.schema.isAutoincrement else { continue }
                try store.raiseSequence(of: table, to: number)
            }
            try FillingPlace.clear(store)
            try store.noteImport()
        }
    }
}

/// How far a store has been filled, as it stands in the store.
struct FillingPlace: Codable {
    var hash: String
    /// The state digest before the first row, and what the snapshot's rows leave out.
    var digestBefore: UInt64
    var frames = 0
    /// Rows that wait for others, by frame.
    var deferred: [Int: [Int]] = [:]
    /// The journal mode that the store has when it is not being filled.
    var journal: String?

    private static let key = "filling"

    static func hash(_ store: OpenStore) throws -> String? { try load(store)?.hash }

    private static func load(_ store: OpenStore) throws -> FillingPlace? {
        try store.facts.text(key).map { try JSONDecoder().decode(FillingPlace.self, from: Data($0.utf8)) }
    }

    init(of hash: FileHash, _ store: OpenStore) throws {
        if let place = try Self.load(store) {
            guard place.hash == hash.description else {
                throw LogSyncError(
                    .invalidStore, "the store was begun from another snapshot; it is of no use",
                    help: "Remove it, and clone again.")
            }
            self = place
        } else {
            self.hash = hash.description
            digestBefore = store.stateDigest
        }
    }

    func save(_ store: OpenStore) throws {
        let text = String(decoding: try JSONEncoder().encode(self), as: UTF8.self)
        try store.facts.set(Self.key, .text(text))
    }

    static func clear(_ store: OpenStore) throws {
        try store.facts.remove(key)
    }
}

extension OpenStore {
    /// Sees to it that AUTOINCREMENT gives out no number up to this one, as far as that leaves it some
    /// (``Limits/rowNumbers``).
    func raiseSequence(of table: TrackedTable, to number: Int64) throws {
        guard Limits.rowNumbers.contains(number) else { return }
        try connection.run(
            "UPDATE sqlite_sequence SET seq = ?2 WHERE name = ?1 AND seq < ?2", .text(table.schema.name),
            .integer(number))
        try connection.run(
            """
            INSERT INTO sqlite_sequence(name, seq) SELECT ?1, ?2
            WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?1)
            """, .text(table.schema.name), .integer(number))
    }
}
