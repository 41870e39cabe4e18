import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// From the outbox into the container.
extension OwnFolder {
    /// A log file is no longer than this, unless one transaction is.
    static let maximumFileLength = 64 << 20

    /// Publishes the next log file.
    ///
    /// Killed anywhere, it does the same again: bytes make the name, and a transaction counts as published only when
    /// its file was read back.
    ///
    /// - Returns: how many transactions were published; 0 where none is left that can be.
    func publishNext() throws -> Int {
        removeStagedFiles()
        let waiting = try store.outbox(unpublishedOnly: true)
        let own = waiting.filter { $0.dot.peer == peer }
        if !own.isEmpty {
            try owner.identity.noteRecorded()
            // What is published is said in a receipt, later, and by then the store's files may be at rest.
            try noteRun()
            try describe()
            return try publish(Self.firstRun(own))
        }
        for former in Set(waiting.map(\.dot.peer)).sorted() {
            let count = try publish(former: former, waiting.filter { $0.dot.peer == former })
            if count > 0 { return count }
        }
        return 0
    }

    // MARK: Log files

    /// The longest start of consecutive transactions that makes one file.
    static func firstRun(_ transactions: [OutboxTransaction]) -> [OutboxTransaction] {
        var run: [OutboxTransaction] = []
        var length = 0
        for transaction in transactions {
            if let last = run.last {
                guard transaction.dot.sequence == last.dot.sequence + 1, transaction.dot.peer == last.dot.peer,
                    length + transaction.byteCount <= maximumFileLength
                else { break }
            }
            run.append(transaction)
            length += transaction.byteCount
        }
        return run
    }

    private func publish(_ run: [OutboxTransaction]) throws -> Int {
        try write(run)
        try store.markPublished(run.map(\.dot))
        return run.count
    }

    /// Writes transactions into as many log files as they make.
    func writeAll(_ transactions: [OutboxTransaction]) throws {
        var left = transactions
        while !left.isEmpty {
            let run = Self.firstRun(left)
            try write(run)
            left.removeFirst(run.count)
        }
    }

    /// Writes one log file and reads it back, after the blobs that it names.
    func write(_ run: [OutboxTransaction]) throws {
        guard let first = run.first, let last = run.last else { return }
        let sequences = first.dot.sequence...last.dot.sequence
        try publishBlobs(of: run)
        let publisher = publisher(of: first.dot.peer)
        let staged = try publisher.stage(LogFileName.self)
        var writer = try LogFileWriter(
            content: library.content.name.description, peer: first.dot.peer, sequences: sequences,
            chainBefore: first.chainBefore, segmentBytes: run.reduce(0) { $0 + $1.byteCount }
        ) { try staged.write($0) }
        for transaction in run {
            try store.forEachOutboxBlock(of: transaction.dot) { try writer.append($0) }
        }
        _ = try writer.finish(chainAfter: last.chain)
        let name = try staged.publish {
            LogFileName(first: sequences.lowerBound, last: sequences.upperBound, fileHash: $0)
        }
        let path = publisher.folder.path(name)
        guard try publisher.folder.verify(name) == .intact else {
            throw LogSyncError(
                .ioError,
                "\(path) was read back with other bytes than were written; its transactions stay in the outbox",
                help: "Check the disk, and run the command again")
        }
        logger.debug(
            "Published \(path)",
            metadata: ["transactions": "\(run.count)", "bytes": "\(run.reduce(0) { $0 + $1.byteCount })"])
    }

    // MARK: Description and schema

    /// Publishes what stands before any log: who this is, and the schema that its logs name.
    func describe() throws {
        // Before the description that names it.
        try publishSchema()
        try folder.write(description())
    }

    /// What this peer says of itself in the folder.
    func description() throws -> PeerDescription {
        var without = try store.namesWithout()
        // What is left out counts as shown.
        while without.reduce(0, { $0 + $1.reduce(4) { $0 + 6 * $1.utf8.count } }) > PeerDescription.maximumWithout {
            without.removeLast()
        }
        let registration = owner.registration
        return PeerDescription(
            name: registration.name, created: registration.created, succeeds: registration.succeeds.last,
            schema: try store.schemaFingerprint(), without: without)
    }

    private func publishSchema() throws {
        let standing = try store.schemaFingerprint()
        guard !publishedSchemas.contains(standing) else { return }
        if try !isPublished(SchemaFileName(standing)) {
            let schema = try store.schemaText()
            _ = try publisher(of: peer).publish(Array(schema.text.utf8)) { _ in SchemaFileName(schema.fingerprint) }
            publishedSchemas.insert(schema.fingerprint)
        } else {
            publishedSchemas.insert(standing)
        }
    }

    /// A schema that cannot be read is written again; one that carries many rows is not read for that each time.
    private func isPublished(_ name: SchemaFileName) throws -> Bool {
        guard let found = try folder.find(name), found.size > 0 else { return false }
        return found.size > 1 << 20 || library.content.schema(name, of: peer) != nil
    }

    // MARK: Former selves

    /// Publishes what a former self of this store recorded and never published, where its folder lacks it.
    ///
    /// The same bytes get the same name, whichever store writes them: should the original live on, nothing is there twice.
    private func publish(former: PeerID, _ waiting: [OutboxTransaction]) throws -> Int {
        let names = try library.scanner.scan(only: former)?.logs ?? []
        let files = LogFileSet(names.map(\.name))
        var missing: [OutboxTransaction] = []
        for transaction in waiting {
            let candidates = files.candidates(for: transaction.dot.sequence)
            if try candidates.contains(where: { try holds($0, transaction) }) {
                // It has been there all along.
                try store.markPublished([transaction.dot])
            } else {
                missing.append(transaction)
            }
        }
        guard !missing.isEmpty else { return 0 }
        let run = Self.firstRun(missing)
        // The others are seeds, which no store ever was.
        if formerSelves.contains(former) {
            logger.notice(
                "Publishing \(run.count.counted("transaction")) that \(owner.place.path) recorded as its former self",
                metadata: ["peer": "\(former)", "folder": "\(library.content.peer(former).path)"])
        }
        return try publish(run)
    }

    /// Whether a file of a former self has this transaction, and not another of the same dot.
    private func holds(_ name: LogFileName, _ transaction: OutboxTransaction) throws -> Bool {
        let dot = transaction.dot
        guard let file = try library.scanner.scan(only: dot.peer)?.logs.first(where: { $0.name == name }),
            case .sound(let found) = try library.logs.examine(file, of: dot.peer)
        else { return false }
        return found.contains { $0.header.dot.sequence == dot.sequence && $0.chain == transaction.chain }
    }
}
