import LogSyncModel

/// Decodes one column's values.
///
/// The number of rows is bounded by the caller (``Limits/cellsPerFrame``); every stream is checked against what remains.
struct ColumnDecoder {
    let payload: [UInt8]

    func decode(_ identities: [RowIdentity], from reader: inout ByteReader) throws -> [Value] {
        try decode(identities.count, of: identities, from: &reader)
    }

    /// Decodes values that belong to no list of identities.
    func decode(alone count: Int, from reader: inout ByteReader) throws -> [Value] {
        try decode(count, of: nil, from: &reader)
    }

    private func decode(
        _ count: Int, of identities: [RowIdentity]?, from reader: inout ByteReader
    ) throws -> [Value] {
        let raw = try reader.byte()
        guard let encoding = ValueEncoding(rawValue: raw) else { throw reader.newer("value encoding \(raw)") }
        switch encoding {
        case .nulls:
            return [Value](repeating: .null, count: count)
        case .integers:
            return try collect(count, &reader) { .integer(try $0.zigzag()) }
        case .integerDeltas:
            var previous: Int64 = 0
            return try collect(count, &reader) {
                previous &+= try $0.zigzag()
                return .integer(previous)
            }
        case .reals:
            return try collect(count, &reader) { .real(Double(bitPattern: try $0.word())) }
        case .texts:
            return try strings(count, &reader) { .text($0) }
        case .blobs:
            return try strings(count, &reader) { .blob($0) }
        case .references:
            return try IdentityDecoder(payload: payload).decode(count, from: &reader).map { .reference($0) }
        case .mixed:
            return try mixed(count, &reader)
        case .keyPart:
            guard let identities else { throw reader.damaged("a part of a key without a key") }
            return try keyPart(of: identities, &reader)
        case .constant:
            let value = try mixed(1, &reader)[0]
            if case .external(let reference) = value {
                reader.name(reference.id, times: count - 1)
            } else {
                // Neither is more than 2³⁰.
                reader.repeatedBytes += (count - 1) * value.byteCount
            }
            return [Value](repeating: value, count: count)
        }
    }

    /// Decodes values that take at least one byte each.
    @inline(__always)
    private func collect(
        _ count: Int, _ reader: inout ByteReader, _ next: (inout ByteReader) throws -> Value
    ) throws -> [Value] {
        guard count <= reader.remaining else { throw reader.damaged("the payload ends early") }
        var values: [Value] = []
        values.reserveCapacity(count)
        for _ in 0..<count { values.append(try next(&reader)) }
        return values
    }

    @inline(__always)
    private func strings(_ count: Int, _ reader: inout ByteReader, _ make: (Bytes) -> Value) throws -> [Value] {
        let lengths = try reader.lengths(count)
        var values: [Value] = []
        values.reserveCapacity(count)
        for length in lengths { values.append(make(payload[try reader.take(length)])) }
        return values
    }

    private func mixed(_ count: Int, _ reader: inout ByteReader) throws -> [Value] {
        let tags = reader.bytes(try reader.take(count))
        var counts = (integers: 0, reals: 0, texts: 0, blobs: 0, references: 0, externals: 0)
        for tag in tags {
            switch tag {
            case ValueTag.null: break
            case ValueTag.integer: counts.integers += 1
            case ValueTag.real: counts.reals += 1
            case ValueTag.text: counts.texts += 1
            case ValueTag.blob: counts.blobs += 1
            case ValueTag.reference: counts.references += 1
            case ValueTag.externalText, ValueTag.externalBlob: counts.externals += 1
            default: throw reader.newer("storage class \(tag)")
            }
        }
        var integers = try collect(counts.integers, &reader) { .integer(try $0.zigzag()) }[...]
        var reals = try collect(counts.reals, &reader) { .real(Double(bitPattern: try $0.word())) }[...]
        var texts = try strings(counts.texts, &reader) { .text($0) }[...]
        var blobs = try strings(counts.blobs, &reader) { .blob($0) }[...]
        var references: ArraySlice<RowIdentity> = []
        if counts.references > 0 {
            references = try IdentityDecoder(payload: payload).decode(counts.references, from: &reader)[...]
        }
        var externals = try externalBlobs(counts.externals, from: &reader)[...]
        return tags.map { tag in
            switch tag {
            case ValueTag.integer: integers.popFirst() ?? .null
            case ValueTag.real: reals.popFirst() ?? .null
            case ValueTag.text: texts.popFirst() ?? .null
            case ValueTag.blob: blobs.popFirst() ?? .null
            case ValueTag.reference: references.popFirst().map { .reference($0) } ?? .null
            case ValueTag.externalText: externals.popFirst().map { .external(BlobReference($0, .text)) } ?? .null
            case ValueTag.externalBlob: externals.popFirst().map { .external(BlobReference($0, .blob)) } ?? .null
            default: .null
            }
        }
    }

    private func externalBlobs(_ count: Int, from reader: inout ByteReader) throws -> [BlobID] {
        guard count <= reader.remaining / BlobID.encodedSize else { throw reader.damaged("the payload ends early") }
        var blobs: [BlobID] = []
        blobs.reserveCapacity(count)
        for _ in 0..<count {
            let blob = try reader.blob()
            blobs.append(blob)
            reader.name(blob, times: 1)
        }
        reader.blobs.formUnion(blobs)
        return blobs
    }

    private func keyPart(of identities: [RowIdentity], _ reader: inout ByteReader) throws -> [Value] {
        let number = try reader.byte()
        var values: [Value] = []
        values.reserveCapacity(identities.count)
        for identity in identities {
            guard let value = Value(part: number, of: identity) else {
                throw reader.damaged("a key without part \(number)")
            }
            values.append(value)
        }
        return values
    }
}

extension Value {
    /// How many bytes a text or blob in the payload has.
    fileprivate var byteCount: Int {
        switch self {
        case .text(let bytes), .blob(let bytes): bytes.count
        case .reference(let identity): identity.bytes.count
        case .null, .integer, .real, .external: 0
        }
    }

    /// The key's part with that number, or nil.
    fileprivate init?(part number: UInt8, of identity: RowIdentity) {
        let bytes = identity.bytes
        let value: Value? = bytes.withUnsafeBytes { raw in
            guard let part = IdentityPart(number: number, of: raw) else { return nil }
            let content = UnsafeRawBufferPointer(rebasing: raw[part.content])
            let start = bytes.startIndex
            let slice = bytes[start + part.content.lowerBound..<start + part.content.upperBound]
            switch part.tag {
            case 1: return .integer(content.bigEndianInteger)
            case 2: return .real(Double(bitPattern: UInt64(bigEndian: content.loadUnaligned(as: UInt64.self))))
            case 3: return .text(slice)
            case 4: return .blob(slice)
            default: return .reference(RowIdentity(unchecked: slice))
            }
        }
        guard let value else { return nil }
        self = value
    }
}
