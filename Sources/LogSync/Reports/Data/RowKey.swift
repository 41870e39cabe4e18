import Foundation
public import GRDB
public import LogSyncModel

/// A row's primary key in this store: the value that GRDB's `fetchOne(db, key:)` takes.
public struct RowKey: Hashable, Sendable {
    /// The names of the key's columns, in key order; fewer than ``values`` where the table is not here any more,
    /// or its rows went by another key then.
    public var columns: [String]
    public var values: [Value]

    public init(columns: [String], values: [Value]) {
        self.columns = columns
        self.values = values
    }

    /// The value of a column of the key; NULL for any other. Upper and lower case do not count.
    public subscript(column: String) -> DatabaseValue {
        guard let index = columns.firstIndex(where: { $0.folded == column.folded }), values.indices.contains(index)
        else {
            return .null
        }
        return values[index].databaseValue
    }

    /// The value of a key that has one column; nil for any other key, and where the value is of another type.
    public func value<T: DatabaseValueConvertible>(as type: T.Type = T.self) -> T? {
        guard values.count == 1 else { return nil }
        return T.fromDatabaseValue(values[0].databaseValue)
    }
}

extension Value {
    /// The value as GRDB has it. A reference to a row, and a value whose bytes are in a file, are NULL: a store's own rows
    /// hold neither.
    public var databaseValue: DatabaseValue {
        switch self {
        case .null, .reference, .external: .null
        case .integer(let integer): integer.databaseValue
        case .real(let real): real.databaseValue
        case .text(let bytes): String(decoding: bytes, as: UTF8.self).databaseValue
        case .blob(let bytes): Data(bytes).databaseValue
        }
    }

    /// The text of a text; nil for any other value.
    public var string: String? {
        if case .text(let bytes) = self { String(decoding: bytes, as: UTF8.self) } else { nil }
    }

    /// A value as GRDB has it.
    public init(_ value: DatabaseValue) {
        switch value.storage {
        case .null: self = .null
        case .int64(let integer): self = .integer(integer)
        case .double(let real): self = .real(real)
        case .string(let text): self = .text(text)
        case .blob(let data): self = .blob(Array(data)[...])
        }
    }
}
