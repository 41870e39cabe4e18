import Foundation
import GRDB

/// A value with all that SQLite tells apart: the bytes of texts, of which GRDB gives only what comes before a NUL, and
/// integers from reals that are as large.
struct UndoValue: Sendable, Hashable {
    /// Of a text its bytes, in the database's encoding.
    private let value: DatabaseValue
    private let text: String?

    static let null = UndoValue(.null)

    init(_ value: DatabaseValue) { self.init(value, text: nil) }

    private init(_ value: DatabaseValue, text: String?) {
        self.value = value
        self.text = text
    }

    init(_ integer: Int64) { self.init(integer.databaseValue) }

    /// - Parameter index: of the first of the columns that ``columns(_:)`` gives.
    init(_ row: Row, at index: Int) {
        let given: DatabaseValue = row[index]
        if case .string(let text) = given.storage {
            self.init(row[index + 1], text: text)
        } else {
            self.init(given)
        }
    }

    /// SQL for two columns that make one value.
    static func columns(_ column: String) -> String {
        "\(column), CASE typeof(\(column)) WHEN 'text' THEN CAST(\(column) AS BLOB) END"
    }

    /// SQL for the value, which is compared as itself, without an affinity.
    var parameter: String { text == nil ? "?" : "+CAST(? AS TEXT)" }
    var argument: DatabaseValue { value }

    /// As programs have it.
    var databaseValue: DatabaseValue { text?.databaseValue ?? value }
    var isNull: Bool { value.isNull }
    var integer: Int64? { if case .int64(let integer) = value.storage { integer } else { nil } }

    static func == (a: UndoValue, b: UndoValue) -> Bool {
        guard (a.text == nil) == (b.text == nil), a.value == b.value else { return false }
        return a.isReal == b.isReal
    }

    private var isReal: Bool { if case .double = value.storage { true } else { false } }

    func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

extension [UndoValue] {
    var databaseValues: [DatabaseValue] { map(\.databaseValue) }
    var arguments: StatementArguments { StatementArguments(map(\.argument)) }
}
