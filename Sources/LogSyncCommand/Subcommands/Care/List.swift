import ArgumentParser
import LogSync
import LogSyncModel
import Logging

/// Lists the stores of this user.
struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List every store of this user on this machine, and how it is.",
        discussion: """
            A store is known from when it was made or first used by this user until it leaves. Ends with 0 whatever state the
            stores are in. A folder that does not answer, as on a mount that hangs, is waited for a second and a half; a
            database that a program has for itself for a second, or as long as --wait says.

            EXAMPLE
              logsync list
            """)

    @OptionGroup var common: CommonOptions

    /// People wait for all stores, and learn of one that is locked all the same.
    private static let wait = Duration.seconds(1)

    func run() async throws {
        try await common.run { session in
            if let status = try await ChildCommand.run() { return status }
            var configuration = session.configuration()
            if common.wait == nil { configuration.wait = Self.wait }
            let report = try await Replicator.list(configuration: configuration)
            try session.answer(report) { lines(report, session.configuration().stateDirectory) }
            for folder in Set(report.stores.filter { $0.state == .silent }.compactMap(\.container)).sorted() {
                session.logger.warning(
                    "\(folder) does not answer: its mount hangs, or its disk is slow; look at the mount")
            }
            for store in report.stores where store.state == .missing {
                session.logger.warning(
                    """
                    there is no store at \(store.store): bring the file back, or let `logsync leave \(store.store.asShellArgument)` \
                    take it off this list
                    """)
            }
            ChildCommand.sayDone()
            return .done
        }
    }

    private func lines(_ report: ListReport, _ stateDirectory: String) -> [String] {
        guard !report.stores.isEmpty else { return [Terminal.printable("\(stateDirectory) knows of no store.")] }
        var table = TextTable(
            ("STORE", .left), ("CONTENT", .left), ("PEER", .left), ("STATE", .left), ("BEHIND", .right),
            ("CONFLICTS", .right), ("PARKED", .right), ("LAST IMPORT", .left))
        for store in report.stores {
            table.add(
                store.store, store.content, store.peer.name, store.state.rawValue,
                store.behind.map { String($0) } ?? "", store.conflicts.map { String($0) } ?? "",
                store.parked.map { String($0) } ?? "", store.lastImport?.description ?? "")
        }
        return table.lines
    }
}
