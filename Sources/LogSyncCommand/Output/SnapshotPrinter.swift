import Foundation
import LogSync
import LogSyncModel
import Synchronization

/// Prints the rows of a snapshot as they are read, so that a large one is never held in memory.
final class SnapshotPrinter: Sendable {
    private struct State {
        var hasBegun = false
        var rows = 0
    }

    private let isJSON: Bool
    private let state = Mutex(State())

    init(isJSON: Bool) {
        self.isJSON = isJSON
    }

    /// Whether a file begins as a snapshot does.
    static func isSnapshot(_ path: String) -> Bool {
        guard let file = FileHandle(forReadingAtPath: path) else { return false }
        defer { try? file.close() }
        return (try? file.read(upToCount: 8)) == Data([0x89, 0x74, 0x73, 0x6E, 0x70, 0x0D, 0x0A, 0x1A])
    }

    /// Prints what `body` passes to ``print(_:)``; a JSON document is ended in any case.
    func whole(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch {
            try state.withLock { if $0.hasBegun { try end() } }
            throw error
        }
        try state.withLock { _ in try end() }
    }

    @Sendable func print(_ element: SnapshotElement) throws {
        try state.withLock { state in
            if isJSON { try json(element, &state) } else { try text(element) }
            state.hasBegun = true
        }
    }

    private func json(_ element: SnapshotElement, _ state: inout State) throws {
        switch element {
        case .snapshot(let snapshot):
            try Terminal.write(#"{"format":1,"snapshot":"# + (try JSONText.line(snapshot)) + #","rows":["#)
        case .row(let row):
            try Terminal.write((state.rows == 0 ? "" : ",") + (try JSONText.line(row)))
            state.rows += 1
        }
    }

    private func end() throws {
        if isJSON { try Terminal.print("]}") }
    }

    // MARK: For people

    private func text(_ element: SnapshotElement) throws {
        switch element {
        case .snapshot(let snapshot):
            try line("snapshot of \(snapshot.content) by \(snapshot.peer.id), \(snapshot.bytes.counted("byte"))", .bold)
            try line("  taken    \(snapshot.taken)")
            for dot in snapshot.vector.dots {
                try line("  up to    \(PeerName(id: dot.peer, name: nil).name):\(dot.sequence)")
            }
        case .row(let row):
            let inserts = row.inserts.map { "\($0.peer.name):\($0.sequence)" }.joined(separator: ", ")
            try line("\(row.table) \(label(row))  \(inserts.isEmpty ? "deleted" : "inserted by \(inserts)")")
            var cells = TextTable(("", .left), ("", .left), ("", .left))
            for cell in row.cells {
                for version in cell.versions {
                    cells.add(
                        "  " + cell.column, version.value.map { SQLLiteral.text($0.value) } ?? "not known any more",
                        "\(version.peer.name):\(version.sequence)")
                }
                for addition in cell.additions {
                    cells.add(
                        "  " + cell.column, "+ " + SQLLiteral.text(addition.amount.value),
                        "\(addition.peer.name):\(addition.sequence)")
                }
            }
            for cells in cells.lines { try Terminal.print(cells) }
        }
    }

    private func label(_ row: SnapshotElement.Row) -> String {
        if let key = row.key { return "(" + key.map { SQLLiteral.text($0.value) }.joined(separator: ", ") + ")" }
        return (row.integer.map { "\($0) " } ?? "") + "[\(row.identity)]"
    }

    private func line(_ text: String, _ style: Terminal.Style? = nil) throws {
        let text = Terminal.printable(text)
        try Terminal.print(style.map { Terminal.styled(text, $0) } ?? text)
    }
}
