import LogSyncContainer
import LogSyncFormat
public import LogSyncModel
import LogSyncStore

/// Showing what transactions hold, cell by cell.
extension Replicator {
    /// Streams one transaction from the outbox or the container, with the names that tables and columns have in the store.
    ///
    /// - Throws: `historyExpired` where the store has imported or recorded it, and its log is not here any more; `usage`
    ///   where it is not known at all; `malformedLog`; whatever `body` throws.
    public func show(_ dot: Dot, _ body: @Sendable (LogElement) throws -> Void) async throws {
        try inspect { store in
            if try store.showFromOutbox(dot, body) { return }
            if try store.showFromContainer(dot, body) { return }
            guard try store.store.vector()[dot.peer] < dot.sequence else {
                throw LogSyncError(
                    .historyExpired,
                    "transaction \(dot) is in the store, and its log is neither in the outbox nor in the container any more",
                    help: "What it changed is in the tables; logsync log lists how many rows that were")
            }
            throw LogSyncError(
                .usage, "transaction \(dot) is neither in the outbox nor in the container",
                help: "logsync log lists the transactions of this store")
        }
    }

    /// Streams a log file, wherever it is, with the names that tables and columns have in logs, which are their first ones.
    ///
    /// - Throws: `noStore` where there is none; `malformedLog`; `newerFormat`; whatever `body` throws.
    public static func show(file: String, _ body: (LogElement) throws -> Void) throws {
        try withoutActuallyEscaping(body) { body in
            var visitor = ElementVisitor(body: body)
            do {
                let source: FileSource
                do throws(FileSystemError) {
                    source = try FileSource(PosixFileSystem().open(file))
                } catch  where error.isAbsence {
                    throw LogSyncError(
                        .noStore, "there is no file \(file)", help: "Log files are in CONTAINER/CONTENT/peers/PEER/logs"
                    )
                } catch {
                    throw error.explained(kept: "nothing was changed")
                }
                try LogFileReader.visit(source, &visitor)
            } catch let error as LogFileError {
                throw error.logSyncError(file: file)
            }
        }
    }
}

extension ReplicatedStore {
    fileprivate func showFromOutbox(_ dot: Dot, _ body: (LogElement) throws -> Void) throws -> Bool {
        guard let kept = try store.outbox(of: dot.peer, dot.sequence...dot.sequence).first else { return false }
        var blocks: [[UInt8]] = []
        try store.forEachOutboxBlock(of: dot) { blocks.append($0) }
        var rest = blocks[...]
        try show(
            try SegmentReader(peer: dot.peer, previous: kept.chainBefore) { rest.popFirst() }, body)
        return true
    }

    fileprivate func showFromContainer(_ dot: Dot, _ body: (LogElement) throws -> Void) throws -> Bool {
        guard let files = try scan(.changes).peers[dot.peer]?.logFiles else { return false }
        for name in files.candidates(for: dot.sequence) {
            do {
                let reader = try library.logs.reader(name, of: dot.peer)
                while let segment = try reader.nextTransaction() {
                    guard segment.header.dot == dot else { continue }
                    try show(segment, body)
                    return true
                }
            } catch let error as LogFileError {
                throw error.logSyncError(file: content.peer(dot.peer).path(name))
            }
        }
        return false
    }

    private func show(_ segment: SegmentReader, _ body: (LogElement) throws -> Void) throws {
        try body(.transaction(LogElement.Transaction(segment.header)))
        let names = try store.presentNames()
        while let groups = try segment.nextFrame() {
            for group in groups {
                let (table, columns) = names[group.table.folded] ?? (group.table, [:])
                try group.forEachShownRow { row in
                    var row = row
                    row.table = table
                    for index in row.cells.indices {
                        row.cells[index].column = columns[row.cells[index].column.folded] ?? row.cells[index].column
                        row.cells[index].references = row.cells[index].references.map { names[$0.folded]?.table ?? $0 }
                    }
                    try body(.row(row))
                }
            }
        }
    }
}

/// Turns what a log file holds into elements.
private struct ElementVisitor: LogFileVisitor {
    let body: (LogElement) throws -> Void

    func visit(_ header: LogFileHeader) throws {
        try body(
            .file(
                LogElement.File(
                    content: header.content, peer: header.peer, first: header.sequences.lowerBound,
                    last: header.sequences.upperBound, bytes: header.totalLength)))
    }

    func visit(_ transaction: TransactionHeader) throws { try body(.transaction(LogElement.Transaction(transaction))) }

    func visit(_ groups: [RowGroup]) throws {
        for group in groups { try group.forEachShownRow { try body(.row($0)) } }
    }

    func visit(_ end: TransactionEnd) throws {}
    func visit(chainAfter: ChainHash, fileHash: LogSyncFormat.FileHash) throws {}
}

extension LogElement.Transaction {
    fileprivate init(_ header: TransactionHeader) {
        self.init(
            peer: header.dot.peer, sequence: header.dot.sequence,
            time: Timestamp(milliseconds: header.time.milliseconds), author: header.author, context: header.context,
            schema: header.schema?.description,
            dependencyChanges: VersionVector(
                Dictionary(header.dependencyChanges.map { ($0.dot.peer, $0.dot.sequence) }, uniquingKeysWith: max)))
    }
}

extension RowGroup {
    fileprivate func forEachShownRow(_ body: (LogElement.Row) throws -> Void) throws {
        for row in 0..<rowCount {
            let cells = columns.map { column in
                LogElement.Row.Cell(
                    column: column.name, operation: column.operation.shownName, value: JSONValue(column.values[row]),
                    references: column.referencedTable)
            }
            try body(
                LogElement.Row(
                    table: table, kind: kind.shownName, identity: identities[row].description,
                    key: identities[row].naturalParts?.map { JSONValue($0.value) },
                    integer: integers.isEmpty ? nil : integers[row],
                    time: Timestamp(milliseconds: times[row].milliseconds), cells: cells))
        }
    }
}

extension RowGroup.Kind {
    fileprivate var shownName: String {
        switch self {
        case .insert: "insert"
        case .update: "update"
        case .delete: "delete"
        }
    }
}

extension RowGroup.Operation {
    fileprivate var shownName: String {
        switch self {
        case .set: "set"
        case .add: "add"
        case .fill: "fill"
        }
    }
}
