import Foundation

/// JSON as the tool prints it: on one line, keys sorted so that two runs can be compared.
enum JSONText {
    static func line(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return escaped(String(decoding: try encoder.encode(value), as: UTF8.self))
    }

    /// The same document, in which no character is left that would have a terminal do something: the encoder leaves the
    /// controls from U+0080 on, and the ones that reverse the direction of what follows. They stand in texts alone.
    private static func escaped(_ line: String) -> String {
        guard !line.utf8.allSatisfy({ $0 < 0x80 }), line.unicodeScalars.contains(where: Terminal.isControl) else {
            return line
        }
        var text = ""
        for scalar in line.unicodeScalars {
            guard Terminal.isControl(scalar) else {
                text.unicodeScalars.append(scalar)
                continue
            }
            for unit in String(scalar).utf16 {
                let digits = String(unit, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return text
    }
}
