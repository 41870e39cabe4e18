import ArgumentParser
import LogSync
import LogSyncModel

/// Publishes the whole replicated state in one file.
struct Snapshot: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "snapshot",
        abstract: "Publish a snapshot: everything that the store holds, in one file.",
        discussion: """
            Who clones starts from it, who was away for long joins it, and log files that it stands for may go one day: see
            `logsync compact`. Nothing is written where the newest snapshot of this peer has everything. Where this store's
            app has dropped a column that other peers still show, the snapshot lacks its values: it is published, and stands
            for no log files.

            EXAMPLE
              logsync snapshot music.db
            """)

    @Argument(help: "The store.", completion: .file())
    var store: String

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { session in
            let replicator = try await session.open(store)
            let report = try await replicator.snapshot()
            try session.report(report) {
                let size = report.bytes.counted("byte")
                let partial = "It lacks values that other peers still show, and stands for no log files."
                return [
                    report.isNew
                        ? "Published \(report.file), \(size)."
                        : "The newest snapshot has everything: \(report.file), \(size)."
                ] + (report.isPartial ? [partial] : [])
            }
            return .done
        }
    }
}
