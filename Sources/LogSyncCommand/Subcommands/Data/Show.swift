import ArgumentParser
import Foundation
import Glibc
import LogSync

/// Shows a transaction, a log file or a snapshot, cell by cell.
struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a transaction, a log file or a snapshot, cell by cell.",
        discussion: """
            PEER is a peer's name or id, as `logsync log` shows it. Tables and columns of a store's transaction are called
            as they are in the store now; those of a file, which knows no store, by the first names that they had.

            EXAMPLE
              logsync show music.db laptop:12
            """)

    @Argument(help: ArgumentHelp("The store, or a log file or snapshot.", valueName: "store|file"), completion: .file())
    var path: String

    @Argument(help: ArgumentHelp("The transaction.", valueName: "peer:sequence"))
    var transaction: String?

    @OptionGroup var common: CommonOptions

    func validate() throws {
        if let transaction, Self.split(transaction) == nil {
            throw ValidationError("\(transaction.debugDescription) is not PEER:SEQUENCE.")
        }
    }

    func run() async throws {
        try await common.run { session in
            try refuseOthers()
            if let (peer, sequence) = transaction.flatMap(Self.split) {
                let replicator = try await session.open(path)
                let names = try await Self.names(replicator)
                let printer = ElementPrinter(isJSON: session.isJSON, names: names)
                let dot = Dot(try await replicator.peer(named: peer).id, sequence)
                try await printer.whole { try await replicator.show(dot, printer.print) }
            } else if SnapshotPrinter.isSnapshot(path) {
                let printer = SnapshotPrinter(isJSON: session.isJSON)
                try await printer.whole { [path] in
                    try await blocking { try Replicator.showSnapshot(file: path, printer.print) }
                }
            } else {
                try refuseDatabase()
                try refuseOtherFiles()
                let printer = ElementPrinter(isJSON: session.isJSON, names: [:])
                try await printer.whole { [path] in
                    try await blocking { try Replicator.show(file: path, printer.print) }
                }
            }
            return .done
        }
    }

    /// Opening a FIFO would wait for a program that writes into it.
    private func refuseOthers() throws {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG else { return }
        throw LogSyncError(
            .invalidStore, "\(path) is no file; nothing was shown", help: "Name a store, a log file or a snapshot")
    }

    /// A store without a transaction is half a request, and no damaged log file.
    private func refuseDatabase() throws {
        guard let file = FileHandle(forReadingAtPath: path) else { return }
        defer { try? file.close() }
        guard let begin = try? file.read(upToCount: 16), begin == Data("SQLite format 3\0".utf8) else { return }
        throw LogSyncError(
            .usage, "\(path) is a database; which of its transactions is to be shown?",
            help: "Give it as PEER:SEQUENCE, as `logsync log` shows it")
    }

    /// A file of another kind is no damaged log file, which is one by its name at least.
    private func refuseOtherFiles() throws {
        guard !path.hasSuffix(".tlog"), let file = FileHandle(forReadingAtPath: path) else { return }
        defer { try? file.close() }
        guard let begin = try? file.read(upToCount: 8), begin != Data([0x89, 0x74, 0x6C, 0x6F, 0x67, 0x0D, 0x0A, 0x1A])
        else { return }
        throw LogSyncError(
            .invalidStore, "\(path) is no log file and no snapshot; nothing was shown",
            help: "They lie in the folders logs and snapshots of each peer; `logsync log` lists a store's transactions")
    }

    private static func names(_ replicator: Replicator) async throws -> [PeerID: String] {
        let status = try await replicator.status()
        var names = Dictionary(status.peers.map { ($0.id, $0.name) }) { first, _ in first }
        names[status.peer.id] = status.peer.name
        return names
    }

    /// A name may hold a colon; a sequence does not.
    private static func split(_ text: String) -> (peer: String, sequence: UInt64)? {
        guard let colon = text.lastIndex(of: ":"), colon > text.startIndex,
            let sequence = UInt64(text[text.index(after: colon)...]), sequence > 0
        else { return nil }
        return (String(text[..<colon]), sequence)
    }
}
