import LogSyncModel

/// A transaction as its author's log has it, with its dependencies spelled out.
struct OracleTransaction {
    var dot: Dot
    var dependencies: VersionVector
    var groups: [RowGroup]
}

extension OracleTransaction: CustomStringConvertible {
    /// One line a row.
    var description: String {
        var lines = ["\(Spelling.dot(dot)) after \(Spelling.vector(dependencies))"]
        for group in groups {
            for index in 0..<group.rowCount {
                let cells = group.columns.map { column in
                    let operation = column.operation == .set ? "" : "\(column.operation) "
                    return "\(operation)\(column.name)=\(Spelling.value(column.values[index]))"
                }
                let integer = group.integers.isEmpty ? "" : " #\(group.integers[index].map(String.init) ?? "none")"
                lines.append(
                    "\(group.kind) \(group.table) \(group.identities[index])\(integer) (\(cells.joined(separator: " ")))"
                )
            }
        }
        return lines.joined(separator: "\n        ")
    }
}

/// Dots, vectors, values and rows in few letters.
enum Spelling {
    static func dot(_ dot: Dot) -> String { "\(dot.peer.description.prefix(4)):\(dot.sequence)" }

    static func vector(_ vector: VersionVector) -> String { vector.dots.map(dot).joined(separator: " ") }

    static func row(_ row: [String: Value]?) -> String {
        guard let row else { return "none" }
        return "(" + row.sorted { $0.key < $1.key }.map { "\($0.key)=\(value($0.value))" }.joined(separator: " ") + ")"
    }

    static func value(_ value: Value) -> String {
        switch value {
        case .null: "NULL"
        case .integer(let integer): "\(integer)"
        case .real(let real): "\(real)"
        case .text(let bytes): "'\(String(decoding: bytes, as: UTF8.self))'"
        case .blob(let bytes): "x'\(Hex.encode(bytes))'"
        case .reference(let identity): "→\(identity)"
        case .external(let reference): "blob \(reference.id)"
        }
    }
}
