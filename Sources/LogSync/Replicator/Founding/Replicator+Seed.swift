import Foundation
import GRDB
import LogSyncContainer
import LogSyncModel
import LogSyncStore
import Logging

extension Replicator {
    /// Brings a packaged database's rows in as one transaction.
    ///
    /// The transaction is that of a pseudo-peer whose id is the hash of the rows, at time 0 and with no dependencies: the
    /// same file seeded on two peers is the same transaction, so its rows come once, and it never beats an edit. It is
    /// published with the next ``sync()``.
    ///
    /// - Parameter file: a plain SQLite database whose tables are named as in the store; it is only read. Where it has no rows
    ///   for the store, nothing is done.
    /// - Throws: `noStore` where there is no such file; `invalidStore` where it is no database; `configuration` where it
    ///   is a store; `unsupportedTable` where a table's rows cannot be told apart; `ioError`; `locked`.
    public func seed(from file: String) async throws -> SeedReport {
        try await settledStep { try $0.seed(from: file) }
    }
}

extension ReplicatedStore {
    fileprivate func seed(from file: String) throws -> SeedReport {
        let scratch = try ScratchFolder("seed", kept: "nothing was changed")
        defer { scratch.remove() }
        let rows = try packed(file, in: scratch)
        // It goes with its folder.
        defer { try? rows.close() }
        var peer = try rows.peer()
        if try store.vector()[peer] == 0, let former = try formerSeed(file, in: scratch) { peer = former }
        let name = PeerName(id: peer, name: PeerDescription.seed(peer).name)
        var report = SeedReport(
            store: place.path, from: StorePlace.absolute(file), peer: name, alreadySeeded: false, rows: [:])
        // A pseudo-peer without rows would be listed for ever.
        guard try !rows.isEmpty else { return report }
        if let imported = try store.seed(rows, as: peer, name: name.name) {
            report.rows = imported.tables.mapValues(\.counts.inserted)
            logger.info("\(place.path) was seeded from \(file) as \(peer)")
        } else {
            report.alreadySeeded = true
        }
        return report
    }

    /// The pseudo-peer of the same rows as earlier versions made it, where it is here: they identified rows by local integers,
    /// and later by the rows that the file itself says they refer to.
    private func formerSeed(_ file: String, in scratch: ScratchFolder) throws -> PeerID? {
        let vector = try store.vector()
        let names = try store.contentSettings().filter { $0.kind == "peer" }
        guard names.contains(where: { name in PeerID(name.target).map { PeerDescription.seed($0).name } == name.value })
        else { return nil }
        for hashesParents in [true, false] {
            let rows = try packed(file, in: scratch, asFormerly: hashesParents)
            defer { try? rows.close() }
            let peer = try rows.peer()
            if vector[peer] ?? 0 > 0 { return peer }
        }
        return nil
    }

    /// - Parameter hashesParents: as ``PackagedRows`` has it, for the rows as versions packed them that took the file's word for
    ///   what refers to what; nil for how they are packed now.
    private func packed(
        _ file: String, in scratch: ScratchFolder, asFormerly hashesParents: Bool? = nil
    ) throws -> PackagedRows {
        let copy = "\(scratch.path)/seed-\(hashesParents.map(\.description) ?? "now").db"
        try DatabaseCopy.make(of: file, at: copy)
        do {
            return try PackagedRows(
                copy, settings: hashesParents == nil ? store.packingSettings() : store.contentSettings(),
                hashesParents: hashesParents ?? true, configuration: configuration.storeConfiguration)
        } catch let error as LogSyncError {
            // The copy's path means nothing to the caller.
            throw LogSyncError(
                error.code, error.message.replacing(copy, with: file), help: error.help?.replacing(copy, with: file))
        }
    }
}
