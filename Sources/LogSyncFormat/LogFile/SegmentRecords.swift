import LogSyncModel

/// The header block's payload (Documentation/log-format.md, header payload).
extension TransactionHeader {
    private enum Flags {
        static let schema: UInt8 = 1
        static let author: UInt8 = 2
        static let context: UInt8 = 4
        /// Each dependency says which transaction of its dot it means.
        static let marks: UInt8 = 8
        static let known: UInt8 = 15
    }

    func encode(to out: ByteWriter) throws {
        let changes = dependencyChanges.sorted { $0.dot < $1.dot }
        let areDistinct = zip(changes, changes.dropFirst()).allSatisfy { $0.dot.peer != $1.dot.peer }
        guard areDistinct, ([dot] + changes.map(\.dot)).allSatisfy({ (1...Limits.sequence).contains($0.sequence) }),
            changes.allSatisfy({ $0.dot.peer != dot.peer })
        else {
            throw LogSyncError(
                .malformedLog, "Transaction \(dot) has impossible dependencies; no log was made of it")
        }
        try check(author, "author", upTo: Limits.author)
        try check(context, "context", upTo: Limits.context)
        let areMarked = !changes.isEmpty && changes.allSatisfy { $0.mark != nil }
        out.append(word: dot.sequence)
        out.append(word: time.rawValue)
        out.append(
            (schema == nil ? 0 : Flags.schema) | (author == nil ? 0 : Flags.author)
                | (context == nil ? 0 : Flags.context) | (areMarked ? Flags.marks : 0))
        out.append(varint: UInt64(changes.count))
        for change in changes {
            out.append(change.dot.peer.bytes)
            out.append(varint: change.dot.sequence)
            if areMarked, let mark = change.mark { out.append(word: mark.rawValue) }
        }
        if let schema { out.append(schema.bytes) }
        if let author { out.append(author) }
        if let context { out.append(context) }
        guard out.count <= Limits.recordLength else {
            throw LogSyncError(.malformedLog, "Transaction \(dot) has more dependencies than a log can hold")
        }
    }

    private func check(_ text: String?, _ what: String, upTo limit: Int) throws {
        guard let text, text.utf8.count > limit else { return }
        throw LogSyncError(
            .usage,
            "the \(what) has \(text.utf8.count) bytes, more than the \(limit) that a log takes; nothing was recorded",
            help: "Give a shorter one")
    }

    init(from reader: inout ByteReader, peer: PeerID) throws {
        let dot = Dot(peer, try reader.sequence(reader.word()))
        let time = HybridTime(rawValue: try reader.word())
        let flags = try reader.byte()
        guard flags & ~Flags.known == 0 else { throw reader.newer("transaction flags \(flags)") }
        var changes: [Dependency] = []
        for _ in 0..<(try reader.count(of: "dependencies", size: flags & Flags.marks == 0 ? 17 : 25)) {
            let other = try reader.peer()
            let change = Dot(other, try reader.sequence())
            guard other != peer, changes.last.map({ $0.dot.peer < other }) ?? true else {
                throw reader.damaged("a dependency on \(change) cannot stand here")
            }
            let mark = flags & Flags.marks == 0 ? nil : ChainMark(rawValue: try reader.word())
            changes.append(Dependency(change, mark: mark))
        }
        let schema =
            flags & Flags.schema == 0 ? nil : SchemaFingerprint(bytes: reader.bytes(try reader.take(16)))
        let author = flags & Flags.author == 0 ? nil : try reader.text("the author", upTo: Limits.author)
        let context = flags & Flags.context == 0 ? nil : try reader.text("the context", upTo: Limits.context)
        guard reader.isAtEnd else { throw reader.damaged("bytes after a transaction's header") }
        self.init(
            dot: dot, time: time, dependencyChanges: changes, schema: schema, author: author, context: context)
    }
}
