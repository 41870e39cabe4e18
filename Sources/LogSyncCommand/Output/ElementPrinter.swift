import LogSync
import LogSyncModel
import Synchronization

/// Prints the elements of a log as they are read, so that a large one is never held in memory.
final class ElementPrinter: Sendable {
    private struct State {
        var hasBegun = false
        var transactions = 0
        var rows = 0
    }

    private let isJSON: Bool
    private let names: [PeerID: String]
    private let state = Mutex(State())

    init(isJSON: Bool, names: [PeerID: String]) {
        self.isJSON = isJSON
        self.names = names
    }

    /// Prints what `body` passes to ``print(_:)``; a JSON document is ended in any case.
    func whole(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch {
            try state.withLock { if $0.hasBegun { try end($0) } }
            throw error
        }
        try state.withLock { try end($0) }
    }

    @Sendable func print(_ element: LogElement) throws {
        try state.withLock { state in
            if isJSON { try json(element, &state) } else { try text(element, &state) }
            state.hasBegun = true
        }
    }

    private func name(_ id: PeerID) -> PeerName { PeerName(id: id, name: names[id]) }

    // MARK: JSON

    private struct File: Encodable {
        var content: String
        var peer: PeerName
        var first: UInt64
        var last: UInt64
        var bytes: Int
    }

    private struct Transaction: Encodable {
        var peer: PeerName
        var sequence: UInt64
        var time: Timestamp
        var author: String?
        var context: String?
        var schema: String?
        var dependencyChanges: VersionVector

        private enum CodingKeys: String, CodingKey {
            case peer, sequence, time, author, context, schema, dependencyChanges
        }

        /// Every key is always there; what is nil is null.
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(peer, forKey: .peer)
            try container.encode(sequence, forKey: .sequence)
            try container.encode(time, forKey: .time)
            try container.encode(author, forKey: .author)
            try container.encode(context, forKey: .context)
            try container.encode(schema, forKey: .schema)
            try container.encode(dependencyChanges, forKey: .dependencyChanges)
        }
    }

    private func json(_ element: LogElement, _ state: inout State) throws {
        var text = state.hasBegun ? "" : #"{"format":1"#
        switch element {
        case .file(let file):
            let shown = File(
                content: file.content, peer: name(file.peer), first: file.first, last: file.last, bytes: file.bytes)
            text += #","file":"# + (try JSONText.line(shown))
        case .transaction(let header):
            let shown = Transaction(
                peer: name(header.peer), sequence: header.sequence, time: header.time, author: header.author,
                context: header.context, schema: header.schema, dependencyChanges: header.dependencyChanges)
            text += state.transactions == 0 ? #","transactions":["# : "]},"
            text += try JSONText.line(shown).dropLast() + #","rows":["#
            state.transactions += 1
            state.rows = 0
        case .row(let row):
            text += state.rows == 0 ? "" : ","
            text += try JSONText.line(row)
            state.rows += 1
        }
        try Terminal.write(text)
    }

    private func end(_ state: State) throws {
        guard isJSON else { return }
        let begin = state.hasBegun ? "" : #"{"format":1"#
        try Terminal.print(begin + (state.transactions == 0 ? #","transactions":[]}"# : "]}]}"))
    }

    // MARK: For people

    private func text(_ element: LogElement, _ state: inout State) throws {
        switch element {
        case .file(let file):
            try line(
                "log file of \(file.peer) in \(file.content): "
                    + "transactions \(file.first) to \(file.last), \(file.bytes.counted("byte"))")
        case .transaction(let header):
            if state.hasBegun { try Terminal.print("") }
            let peer = name(header.peer)
            try line("transaction \(peer.name):\(header.sequence)  \(header.time)", .bold)
            if let author = header.author { try line("  author   \(author)") }
            if let context = header.context { try line("  context  \(context)") }
            for dot in header.dependencyChanges.dots {
                try line("  after    \(name(dot.peer).name):\(dot.sequence)")
            }
        case .row(let row):
            try line("\(row.kind) \(row.table) \(label(row))  \(row.time)")
            var cells = TextTable(("", .left), ("", .left), ("", .left))
            for cell in row.cells {
                let target = cell.references.map { "→ \($0) " } ?? ""
                cells.add(
                    "  " + cell.column, cell.operation == "set" ? "=" : cell.operation,
                    target + SQLLiteral.text(cell.value.value))
            }
            for cells in cells.lines { try Terminal.print(cells) }
        }
    }

    private func label(_ row: LogElement.Row) -> String {
        if let key = row.key { return "(" + key.map { SQLLiteral.text($0.value) }.joined(separator: ", ") + ")" }
        return (row.integer.map { "\($0) " } ?? "") + "[\(row.identity)]"
    }

    private func line(_ text: String, _ style: Terminal.Style? = nil) throws {
        let text = Terminal.printable(text)
        try Terminal.print(style.map { Terminal.styled(text, $0) } ?? text)
    }
}
