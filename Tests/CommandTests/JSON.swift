import Foundation

/// One JSON document as a script would read it.
struct JSON {
    private let value: Any

    /// - Throws: where `text` is not exactly one document.
    init(_ text: String) throws {
        do {
            value = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
        } catch {
            throw Tool.Failure(description: "not one JSON document: \(text.debugDescription)")
        }
    }

    private init(value: Any) {
        self.value = value
    }

    subscript(key: String) -> JSON? { (value as? [String: Any])?[key].map(JSON.init(value:)) }
    var keys: Set<String> { Set((value as? [String: Any])?.keys.map { $0 } ?? []) }
    var array: [JSON] { (value as? [Any])?.map(JSON.init(value:)) ?? [] }
    var string: String? { value as? String }
    var int: Int? { (value as? NSNumber).flatMap { Int(exactly: $0) } }
    var bool: Bool? { value as? Bool }
    var isNull: Bool { value is NSNull }
}
