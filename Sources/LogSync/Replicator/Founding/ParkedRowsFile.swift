import Foundation
import LogSyncContainer
import LogSyncModel
import LogSyncStore

/// The parked rows of a store that leaves: programs have committed them, they are in no table, and may be in no other store.
struct ParkedRowsFile {
    private struct Document: Encodable {
        let format = 1
        var store: String
        var content: String
        var parked: [ConflictReport.Parked]
    }

    let path: String
    let count: Int
    private let data: Data

    /// - Returns: nil where there is none.
    init?(_ store: ReplicatedStore) throws {
        let parked = try store.parkedRows()
        guard !parked.isEmpty else { return nil }
        count = parked.count
        let stem = store.place.path + "-parked"
        var (free, number) = (stem + ".json", 1)
        // Nothing takes the place of what an earlier store has left.
        while access(free, F_OK) == 0 {
            number += 1
            free = "\(stem)-\(number).json"
        }
        path = free
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let document = Document(store: store.place.path, content: store.registration.content, parked: parked)
        data = try encoder.encode(document) + Data("\n".utf8)
    }

    /// - Throws: `ioError`, `noPermission`.
    func write() throws(LogSyncError) {
        do throws(LogSyncError) {
            try DurableFile.write(data, to: path)
        } catch {
            throw LogSyncError(
                error.code,
                "\(count.counted("row is", "rows are")) parked, in no table, and \(error.messageAlone); the store is as it was",
                help: "Let this user write beside the database, with some room there, and run logsync leave again")
        }
    }
}
