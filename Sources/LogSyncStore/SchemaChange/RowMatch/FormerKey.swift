import LogSyncModel
import LogSyncState

/// How the records of a table were found before its key changed.
struct FormerKey {
    var kind: TrackedTable.IdentityKind
    /// By names in logs.
    var names: [String]
    /// In the same order.
    var collations: [Collation]
    /// Whether records stood under the integers of their rows.
    var isInteger: Bool
    /// The columns, by lower-case names, whose values were numbers, and are references now.
    var numbers: Set<String> = []

    /// A column of the key has another name in logs now.
    mutating func rename(_ name: String, to told: String) {
        names = names.map { $0.folded == name.folded ? told : $0 }
    }
}

extension FormerKey {
    /// The identities that a row may have been given under the former key: its values as they are, or, where the key's
    /// type has changed, as numbers or texts.
    ///
    /// - Parameter value: what a column of this name in logs holds; nil where it has gone.
    func identities(_ value: (String) throws -> Value?) rethrows -> [RowIdentity] {
        var values: [Value] = []
        for name in names {
            guard let value = try value(name) else { return [] }
            values.append(value)
        }
        guard !values.isEmpty, values.count == collations.count else { return [] }
        let texts = values.map { value in
            if case .integer(let integer) = value { Value.text(Array(String(integer).utf8)[...]) } else { value }
        }
        let integers = values.map { value in
            if case .text(let bytes) = value, let integer = Int64(String(decoding: bytes, as: UTF8.self)) {
                Value.integer(integer)
            } else {
                value
            }
        }
        return [values, texts, integers].compactMap { values in
            let parts = zip(values, collations).compactMap { KeyPart($0, collation: $1) }
            return parts.count == values.count ? RowIdentity(natural: parts) : nil
        }
    }

    /// The integer that a value of the present key spells.
    static func integer(_ value: Value) -> Int64? {
        switch value {
        case .integer(let integer): integer
        case .text(let bytes): Int64(String(decoding: bytes, as: UTF8.self))
        default: nil
        }
    }
}
