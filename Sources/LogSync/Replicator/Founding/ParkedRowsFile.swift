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
        let names = (1...1000).lazy.map { store.place.path + "-parked" + ($0 == 1 ? "" : "-\($0)") + ".json" }
        path = names.first { access($0, F_OK) != 0 } ?? store.place.path + "-parked.json"
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
