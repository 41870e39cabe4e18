import Foundation

/// A JSON document as a script would read it: what is missing is null.
enum JSON: Sendable, Hashable {
    case null
    case number(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    /// Takes exactly one document, as the contract of `--json` has it.
    init(parsing text: String) throws {
        do {
            self.init(try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed))
        } catch {
            throw Failure("not one JSON document: \(text.prefix(2000).debugDescription)")
        }
    }

    private init(_ any: Any) {
        switch any {
        case let value as [String: Any]: self = .object(value.mapValues(JSON.init))
        case let value as [Any]: self = .array(value.map(JSON.init))
        case let value as String: self = .string(value)
        // Booleans come as numbers here; `bool` reads both.
        case let value as NSNumber: self = .number(value.doubleValue)
        default: self = .null
        }
    }

    subscript(key: String) -> JSON {
        if case .object(let members) = self { members[key] ?? .null } else { .null }
    }
    subscript(index: Int) -> JSON { array.indices.contains(index) ? array[index] : .null }

    var isNull: Bool { self == .null }
    var array: [JSON] { if case .array(let elements) = self { elements } else { [] } }
    var members: [String: JSON] { if case .object(let members) = self { members } else { [:] } }
    var string: String? { if case .string(let text) = self { text } else { nil } }
    var int: Int? { if case .number(let number) = self { Int(exactly: number) } else { nil } }
    var bool: Bool? {
        switch self {
        case .number(1): true
        case .number(0): false
        default: nil
        }
    }
}
