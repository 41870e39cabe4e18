import ArgumentParser
import Foundation
import LogSync

/// Reads keys and values as the command line has them: SQL literals or JSON, in every form that ``JSONValue`` prints.
enum LiteralArgument {
    /// A key: a JSON array of the key's columns, or one literal for a key of one column.
    static func key(_ text: String) throws -> [Value] {
        guard text.hasPrefix("[") else { return [try value(text)] }
        guard let list = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [Any] else {
            throw ValidationError("\(text.debugDescription) is not a JSON array of the key's columns")
        }
        return try list.map { try json($0, text) }
    }

    /// The subcommands of which arguments may be negative numbers.
    private static let subcommands: [String: Set<String>] = [
        "conflicts": ["take", "set", "drop"], "kv": ["get", "set", "delete", "watch"],
    ]

    /// Marks negative numbers, which would be taken for options, as arguments by a blank before them: ``value(_:)`` passes over
    /// it, ``text(_:)`` takes it away. Where blanks were given, there is one more, so that none of those is taken for the mark.
    static func shielding(_ arguments: [String]) -> [String] {
        guard mayBegin(withDash: arguments) else { return arguments }
        let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
        return arguments.enumerated().map { index, argument in
            let isMarked = argument.hasPrefix(" ") || index < end
            return isMarked && isNegative(argument.drop { $0 == " " }) ? " " + argument : argument
        }
    }

    /// Whether what begins with a dash may be a key or a value there.
    static func mayBegin(withDash arguments: [String]) -> Bool {
        arguments.count > 1 && subcommands[arguments[0]]?.contains(arguments[1]) ?? false
    }

    /// An argument as it was given.
    static func text(_ argument: String) -> String {
        argument.hasPrefix(" ") && isNegative(argument.drop { $0 == " " }) ? String(argument.dropFirst()) : argument
    }

    private static func isNegative(_ text: Substring) -> Bool {
        text.hasPrefix("-") && text.dropFirst().first { $0 != "." }?.isNumber ?? false
    }

    /// A value: NULL, a number, 'text' or x'hex' as SQL has them, or JSON.
    static func value(_ argument: String) throws -> Value {
        let text = argument.trimmingCharacters(in: .whitespaces)
        if text.uppercased() == "NULL" { return .null }
        if let integer = Int64(text) { return .integer(integer) }
        if let real = Double(text), text.contains(where: \.isNumber) { return .real(real) }
        if text.count >= 2, text.hasPrefix("'"), text.hasSuffix("'") {
            return .text(String(text.dropFirst().dropLast()).replacing("''", with: "'"))
        }
        if text.count >= 3, text.lowercased().hasPrefix("x'"), text.hasSuffix("'"),
            let bytes = bytes(text.dropFirst(2).dropLast().lowercased())
        {
            return .blob(bytes[...])
        }
        guard
            let parsed = try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
        else {
            throw ValidationError(
                "\(text.debugDescription) is neither a SQL literal (NULL, 1, 1.5, 'text', x'00') nor JSON")
        }
        return try json(parsed, text)
    }

    private static func json(_ value: Any, _ text: String) throws -> Value {
        switch value {
        case is NSNull: return .null
        case let string as String: return .text(string)
        case let number as NSNumber:
            if let integer = Int64(exactly: number) { return .integer(integer) }
            return .real(number.doubleValue)
        case let object as [String: Any]:
            if let value = object.count == 1 ? spelled(object) : nil { return value }
        default: break
        }
        throw ValidationError("\(text.debugDescription) holds something that is no value of a column")
    }

    /// What JSON has nothing for: BLOBs, text that is not UTF-8, infinities.
    private static func spelled(_ object: [String: Any]) -> Value? {
        if let blob = bytes(object) { return .blob(blob) }
        if let text = (object["text"] as? [String: Any]).flatMap(bytes) { return .text(text) }
        switch object["real"] as? String {
        case "Infinity": return .real(.infinity)
        case "-Infinity": return .real(-.infinity)
        default: return nil
        }
    }

    private static func bytes(_ object: [String: Any]) -> Bytes? {
        (object["base64"] as? String).flatMap { Data(base64Encoded: $0) }.map { Array($0)[...] }
    }

    private static func bytes(_ digits: String) -> [UInt8]? {
        guard digits.count.isMultiple(of: 2), digits.allSatisfy(\.isHexDigit) else { return nil }
        var bytes: [UInt8] = []
        var rest = digits[...]
        while !rest.isEmpty {
            guard let byte = UInt8(rest.prefix(2), radix: 16) else { return nil }
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        return bytes
    }
}
