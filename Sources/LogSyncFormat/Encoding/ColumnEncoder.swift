import Glibc
import LogSyncModel

/// Encodes one column's values in the form that suits them.
struct ColumnEncoder {
    let out: ByteWriter

    func encode(_ values: UnsafeBufferPointer<Value>, identities: UnsafeBufferPointer<RowIdentity>) throws {
        if values.count > 1, values.allSatisfy({ $0 == values[0] }), !values[0].isNull {
            out.append(ValueEncoding.constant.rawValue)
            try encodeMixed(UnsafeBufferPointer(rebasing: values[..<1]))
        } else if let part = keyPart(values, identities) {
            out.append(ValueEncoding.keyPart.rawValue)
            out.append(part)
        } else {
            try encode(values)
        }
    }

    /// Encodes values that belong to no list of identities.
    func encode(alone values: [Value]) throws {
        try values.withUnsafeBufferPointer { try encode($0) }
    }

    private func encode(_ values: UnsafeBufferPointer<Value>) throws {
        let profile = Profile(values)
        switch values.count {
        case profile.nulls:
            out.append(ValueEncoding.nulls.rawValue)
        case profile.integers where profile.deltaSize < profile.integerSize:
            out.append(ValueEncoding.integerDeltas.rawValue)
            var previous: Int64 = 0
            for value in values {
                guard case .integer(let integer) = value else { continue }
                out.append(zigzag: integer &- previous)
                previous = integer
            }
        case profile.integers:
            out.append(ValueEncoding.integers.rawValue)
            appendIntegers(values)
        case profile.reals:
            out.append(ValueEncoding.reals.rawValue)
            appendReals(values)
        case profile.texts:
            out.append(ValueEncoding.texts.rawValue)
            appendTexts(values, total: profile.textBytes)
        case profile.blobs:
            out.append(ValueEncoding.blobs.rawValue)
            appendBlobs(values, total: profile.blobBytes)
        case profile.references:
            out.append(ValueEncoding.references.rawValue)
            try appendReferences(values)
        default:
            out.append(ValueEncoding.mixed.rawValue)
            try encodeMixed(values, profile)
        }
    }

    /// Counts a column's storage classes and what they would take.
    private struct Profile {
        var nulls = 0
        var integers = 0
        var reals = 0
        var texts = 0
        var blobs = 0
        var references = 0
        var externals = 0
        var textBytes = 0
        var blobBytes = 0
        var integerSize = 0
        var deltaSize = 0

        init(_ values: UnsafeBufferPointer<Value>) {
            var previous: Int64 = 0
            for value in values {
                switch value {
                case .null: nulls += 1
                case .integer(let integer):
                    integers += 1
                    integerSize += integer.zigzag.varintLength
                    deltaSize += (integer &- previous).zigzag.varintLength
                    previous = integer
                case .real: reals += 1
                case .text(let bytes):
                    texts += 1
                    textBytes += bytes.count
                case .blob(let bytes):
                    blobs += 1
                    blobBytes += bytes.count
                case .reference: references += 1
                case .external: externals += 1
                }
            }
        }
    }

    private func encodeMixed(_ values: UnsafeBufferPointer<Value>) throws {
        try encodeMixed(values, Profile(values))
    }

    private func encodeMixed(_ values: UnsafeBufferPointer<Value>, _ profile: Profile) throws {
        out.reserve(values.count)
        for value in values {
            switch value {
            case .null: out.append(ValueTag.null)
            case .integer: out.append(ValueTag.integer)
            case .real: out.append(ValueTag.real)
            case .text: out.append(ValueTag.text)
            case .blob: out.append(ValueTag.blob)
            case .reference: out.append(ValueTag.reference)
            case .external(let blob):
                out.append(blob.kind == .text ? ValueTag.externalText : ValueTag.externalBlob)
            }
        }
        if profile.integers > 0 { appendIntegers(values) }
        if profile.reals > 0 { appendReals(values) }
        if profile.texts > 0 { appendTexts(values, total: profile.textBytes) }
        if profile.blobs > 0 { appendBlobs(values, total: profile.blobBytes) }
        if profile.references > 0 { try appendReferences(values) }
        if profile.externals > 0 { appendExternals(values) }
    }

    private func appendIntegers(_ values: UnsafeBufferPointer<Value>) {
        for value in values {
            if case .integer(let integer) = value { out.append(zigzag: integer) }
        }
    }

    private func appendReals(_ values: UnsafeBufferPointer<Value>) {
        for value in values {
            if case .real(let real) = value { out.append(word: real.bitPattern) }
        }
    }

    private func appendTexts(_ values: UnsafeBufferPointer<Value>, total: Int) {
        out.reserve(values.count * 5 + total)
        for value in values {
            if case .text(let bytes) = value { out.append(varint: UInt64(bytes.count)) }
        }
        for value in values {
            if case .text(let bytes) = value { out.append(bytes) }
        }
    }

    private func appendBlobs(_ values: UnsafeBufferPointer<Value>, total: Int) {
        out.reserve(values.count * 5 + total)
        for value in values {
            if case .blob(let bytes) = value { out.append(varint: UInt64(bytes.count)) }
        }
        for value in values {
            if case .blob(let bytes) = value { out.append(bytes) }
        }
    }

    private func appendReferences(_ values: UnsafeBufferPointer<Value>) throws {
        var references: [RowIdentity] = []
        references.reserveCapacity(values.count)
        for value in values {
            if case .reference(let identity) = value { references.append(identity) }
        }
        try references.withUnsafeBufferPointer { try IdentityEncoder(out: out).encode($0) }
    }

    private func appendExternals(_ values: UnsafeBufferPointer<Value>) {
        for value in values {
            guard case .external(let reference) = value else { continue }
            out.append(reference.id)
            out.blobs.insert(reference.id)
        }
    }

    /// The part of the natural key that every row's value repeats, or nil.
    private func keyPart(
        _ values: UnsafeBufferPointer<Value>, _ identities: UnsafeBufferPointer<RowIdentity>
    ) -> UInt8? {
        guard identities[0].bytes.first == 1, !values[0].isNull else { return nil }
        for part in UInt8(0)..<16 {
            guard let first = values[0].matches(part: part, of: identities[0]) else { return nil }
            if first, values.indices.allSatisfy({ values[$0].matches(part: part, of: identities[$0]) == true }) {
                return part
            }
        }
        return nil
    }
}

extension Bytes {
    @inline(__always)
    fileprivate func isSame(_ other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        guard let start = other.baseAddress else { return true }
        return withUnsafeBytes { bytes in bytes.baseAddress.map { memcmp($0, start, other.count) == 0 } ?? true }
    }
}

extension IdentityPart {
    /// The part with that number of a natural identity, or nil.
    @inline(__always)
    init?(number: UInt8, of identity: UnsafeRawBufferPointer) {
        guard identity.first == 1, var part = IdentityPart(identity, at: 1) else { return nil }
        for _ in 0..<number {
            guard let next = IdentityPart(identity, at: part.content.upperBound) else { return nil }
            part = next
        }
        self = part
    }
}

extension Value {
    /// Whether this is bit for bit the key's part with that number; nil where there is none.
    @inline(__always)
    fileprivate func matches(part number: UInt8, of identity: RowIdentity) -> Bool? {
        identity.bytes.withUnsafeBytes { bytes in
            guard let part = IdentityPart(number: number, of: bytes) else { return nil }
            let content = UnsafeRawBufferPointer(rebasing: bytes[part.content])
            switch self {
            case .null: return false
            case .integer(let integer): return part.tag == 1 && content.bigEndianInteger == integer
            case .real(let real):
                return part.tag == 2 && UInt64(bigEndian: content.loadUnaligned(as: UInt64.self)) == real.bitPattern
            case .text(let text): return part.tag == 3 && text.isSame(content)
            case .blob(let blob): return part.tag == 4 && blob.isSame(content)
            case .reference(let other): return part.tag == 5 && other.bytes.isSame(content)
            case .external: return false
            }
        }
    }
}
