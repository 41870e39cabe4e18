import LogSyncModel

/// How a list of row identities is encoded (Documentation/log-format.md, identities).
enum IdentityEncoding: UInt8 {
    /// All surrogate: a common prefix, then the rest of each.
    case surrogates = 0
    /// Any: lengths, then bytes.
    case plain = 1
    /// All natural with the same kinds of parts: part by part.
    case shaped = 2

    /// Longer prefixes are not shared, so that every identity takes bytes of its own.
    static let maximumPrefix = 12
}

/// A part of a natural identity, in place.
struct IdentityPart {
    var tag: UInt8
    /// Its content, without the count that stands before text, blobs and references.
    var content: Range<Int>

    /// Reads the part at `position`. Returns nil where no whole part stands there.
    @inline(__always)
    init?(_ bytes: UnsafeRawBufferPointer, at position: Int) {
        guard position < bytes.count else { return nil }
        tag = bytes[position]
        let start = position + 1
        switch tag {
        case 1:
            content = start..<start + 8
        case 2:
            content = start..<start + 8
            guard content.upperBound <= bytes.count,
                !Self.isWhole(bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self))
            else { return nil }
        case 3, 4, 5:
            guard start + 4 <= bytes.count else { return nil }
            let count = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: start, as: UInt32.self))
            content = start + 4..<start + 4 + Int(count)
        default:
            return nil
        }
        guard content.upperBound <= bytes.count else { return nil }
    }

    /// How many parts a natural identity has.
    static func count(_ identity: UnsafeRawBufferPointer) -> Int {
        var count = 0
        var position = 1
        while let part = IdentityPart(identity, at: position) {
            count += 1
            position = part.content.upperBound
        }
        return count
    }

    /// Whether a real, as it stands in an identity, would have to be an integer.
    static func isWhole(_ bigEndian: UInt64) -> Bool {
        Int64(exactly: Double(bitPattern: UInt64(bigEndian: bigEndian))) != nil
    }
}

/// Encodes lists of row identities.
struct IdentityEncoder {
    let out: ByteWriter
    var depth = 0

    /// - Throws: `LogSyncError.Code.malformedLog` for bytes that are no identity.
    func encode(_ identities: UnsafeBufferPointer<RowIdentity>) throws {
        if let prefix = surrogatePrefix(identities) {
            out.append(IdentityEncoding.surrogates.rawValue)
            out.append(UInt8(prefix))
            identities[0].bytes.withUnsafeBytes {
                out.append(UnsafeRawBufferPointer(rebasing: $0[1..<1 + prefix]))
            }
            out.reserve(identities.count * (16 - prefix))
            for identity in identities {
                identity.bytes.withUnsafeBytes { out.append(UnsafeRawBufferPointer(rebasing: $0[(1 + prefix)...])) }
            }
        } else if areSingleTexts(identities) {
            // The same bytes as below, in fewer passes: text keys are common.
            out.append(IdentityEncoding.shaped.rawValue)
            out.append(1)
            out.append(ValueTag.text)
            for identity in identities { out.append(varint: UInt64(identity.bytes.count - Self.textStart)) }
            for identity in identities { out.append(identity.bytes.dropFirst(Self.textStart)) }
        } else if let tags = shape(identities) {
            try encode(identities, tags: tags)
        } else {
            try encodePlain(identities)
        }
    }

    /// Where the text begins in an identity of one text: after kind, tag and count.
    private static let textStart = 6

    private func areSingleTexts(_ identities: UnsafeBufferPointer<RowIdentity>) -> Bool {
        guard depth < Limits.identityDepth else { return false }
        for identity in identities {
            let bytes = identity.bytes
            let start = bytes.startIndex
            guard bytes.count >= Self.textStart, bytes[start] == 1, bytes[start + 1] == ValueTag.text else {
                return false
            }
            var count = 0
            for index in start + 2..<start + Self.textStart { count = count << 8 | Int(bytes[index]) }
            guard count == bytes.count - Self.textStart else { return false }
        }
        return true
    }

    private func surrogatePrefix(_ identities: UnsafeBufferPointer<RowIdentity>) -> Int? {
        let first = identities[0].bytes
        var prefix = IdentityEncoding.maximumPrefix
        for identity in identities {
            let bytes = identity.bytes
            guard bytes.count == 17, bytes[bytes.startIndex] == 0 else { return nil }
            var same = 0
            while same < prefix, bytes[bytes.startIndex + 1 + same] == first[first.startIndex + 1 + same] { same += 1 }
            prefix = same
        }
        return prefix
    }

    /// The tags that the parts of all identities have, or nil.
    private func shape(_ identities: UnsafeBufferPointer<RowIdentity>) -> [UInt8]? {
        guard depth < Limits.identityDepth else { return nil }
        var tags: [UInt8] = []
        for (index, identity) in identities.enumerated() {
            let fits = identity.bytes.withUnsafeBytes { bytes in
                guard bytes.first == 1 else { return false }
                var position = 1
                var part = 0
                while position < bytes.count {
                    guard let next = IdentityPart(bytes, at: position) else { return false }
                    if index == 0 {
                        tags.append(next.tag)
                    } else if part >= tags.count || tags[part] != next.tag {
                        return false
                    }
                    position = next.content.upperBound
                    part += 1
                }
                return part == tags.count && part > 0 && part < 256
            }
            guard fits else { return nil }
        }
        return tags
    }

    private func encode(_ identities: UnsafeBufferPointer<RowIdentity>, tags: [UInt8]) throws {
        out.append(IdentityEncoding.shaped.rawValue)
        out.append(UInt8(tags.count))
        var positions = [Int](repeating: 1, count: identities.count)
        for tag in tags {
            out.append(tag)
            switch tag {
            case 1:
                var previous: Int64 = 0
                eachPart(identities, &positions) { content in
                    let value = content.bigEndianInteger
                    out.append(zigzag: value &- previous)
                    previous = value
                }
            case 2:
                eachPart(identities, &positions) { content in
                    out.append(word: UInt64(bigEndian: content.loadUnaligned(as: UInt64.self)))
                }
            case 3, 4:
                var starts = positions
                eachPart(identities, &positions) { content in out.append(varint: UInt64(content.count)) }
                eachPart(identities, &starts) { content in out.append(content) }
            default:
                var references: [RowIdentity] = []
                references.reserveCapacity(identities.count)
                eachPart(identities, &positions) { content in
                    references.append(RowIdentity(unchecked: Array(content)[...]))
                }
                try references.withUnsafeBufferPointer {
                    try IdentityEncoder(out: out, depth: depth + 1).encode($0)
                }
            }
        }
    }

    @inline(__always)
    private func eachPart(
        _ identities: UnsafeBufferPointer<RowIdentity>, _ positions: inout [Int],
        _ body: (UnsafeRawBufferPointer) -> Void
    ) {
        for index in identities.indices {
            identities[index].bytes.withUnsafeBytes { bytes in
                guard let part = IdentityPart(bytes, at: positions[index]) else { return }
                positions[index] = part.content.upperBound
                body(UnsafeRawBufferPointer(rebasing: bytes[part.content]))
            }
        }
    }

    private func encodePlain(_ identities: UnsafeBufferPointer<RowIdentity>) throws {
        out.append(IdentityEncoding.plain.rawValue)
        for identity in identities {
            guard RowIdentity(checking: identity.bytes, depth: depth) != nil else {
                throw LogSyncError(.malformedLog, "\(identity) does not identify a row; no log was made of it")
            }
            out.append(varint: UInt64(identity.bytes.count))
        }
        for identity in identities { out.append(identity.bytes) }
    }
}

extension UnsafeRawBufferPointer {
    /// A key part's integer: 8 bytes, big endian, sign bit flipped.
    @inline(__always)
    var bigEndianInteger: Int64 {
        Int64(bitPattern: UInt64(bigEndian: loadUnaligned(as: UInt64.self)) ^ 1 << 63)
    }
}
