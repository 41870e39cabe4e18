import Foundation
import GRDB

/// Texts with all of their bytes: GRDB gives SQLite a text, and takes one, up to its first NUL.
enum WholeText {
    /// SQL for a text that is an ``argument(_:)``.
    static let parameter = "CAST(? AS TEXT)"

    static func argument(_ text: String) -> DatabaseValue { Data(text.utf8).databaseValue }

    static func parameter(for value: DatabaseValue) -> String {
        if case .string = value.storage { parameter } else { "?" }
    }

    static func argument(_ value: DatabaseValue) -> DatabaseValue {
        if case .string(let text) = value.storage { argument(text) } else { value }
    }

    /// SQL for two columns from which ``value(_:at:)`` makes a value.
    static func columns(_ column: String) -> String {
        "typeof(\(column)) = 'text', CASE typeof(\(column)) WHEN 'text' THEN CAST(\(column) AS BLOB) ELSE \(column) END"
    }

    static func value(_ row: Row, at index: Int) -> DatabaseValue {
        let (isText, value): (Bool, DatabaseValue) = (row[index], row[index + 1])
        return isText ? text(Data.fromDatabaseValue(value) ?? Data()).databaseValue : value
    }

    static func text(_ bytes: Data) -> String { String(decoding: bytes, as: UTF8.self) }
}
