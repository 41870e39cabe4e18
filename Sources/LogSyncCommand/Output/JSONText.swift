import Foundation

/// JSON as the tool prints it: on one line, keys sorted so that two runs can be compared.
enum JSONText {
    static func line(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}
