import Foundation
public import LogSyncModel

/// A cell's value as JSON has it.
///
/// NULL, integers, reals and text are what JSON has for them. BLOBs are `{"base64": "…"}`, text that is not UTF-8 is
/// `{"text": {"base64": "…"}}`, infinities are `{"real": "Infinity"}`, a reference is `{"row": "IDENTITY"}` in hex,
/// a value whose bytes are in a blob file is `{"blob": "FILE", "length": BYTES, "type": "text"}` (or `"blob"`).
public struct JSONValue: Hashable, Sendable, Encodable {
    public var value: Value

    public init(_ value: Value) {
        self.value = value
    }

    private enum CodingKeys: String, CodingKey {
        case base64, text, real, row, blob, length, type
    }

    public func encode(to encoder: any Encoder) throws {
        switch value {
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .integer(let integer):
            var container = encoder.singleValueContainer()
            try container.encode(integer)
        case .real(let real) where real.isFinite:
            var container = encoder.singleValueContainer()
            try container.encode(real)
        case .real(let real):
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(real.isNaN ? "NaN" : real < 0 ? "-Infinity" : "Infinity", forKey: .real)
        case .text(let bytes):
            if let text = String(validating: bytes, as: UTF8.self) {
                var container = encoder.singleValueContainer()
                try container.encode(text)
            } else {
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(["base64": Data(bytes).base64EncodedString()], forKey: .text)
            }
        case .blob(let bytes):
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(Data(bytes).base64EncodedString(), forKey: .base64)
        case .reference(let identity):
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(identity.description, forKey: .row)
        case .external(let reference):
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(reference.id.description, forKey: .blob)
            try container.encode(reference.id.length, forKey: .length)
            try container.encode(reference.kind == .text ? "text" : "blob", forKey: .type)
        }
    }
}
