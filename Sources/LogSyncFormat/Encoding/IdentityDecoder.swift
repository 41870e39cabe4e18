import LogSyncModel

/// Decodes lists of row identities; every identity it returns is canonical.
struct IdentityDecoder {
    /// The payload that `reader` reads, for slices of it.
    let payload: [UInt8]
    var depth = 0

    /// Decodes the identities of rows of one table: natural ones have a key of the same number of parts.
    func decode(rows count: Int, from reader: inout ByteReader) throws -> [RowIdentity] {
        let identities = try decode(count, from: &reader)
        var known: Int?
        for identity in identities where !identity.isSurrogate {
            let parts = identity.bytes.withUnsafeBytes { IdentityPart.count($0) }
            guard parts == known ?? parts else {
                throw reader.damaged("keys of one table with several numbers of parts")
            }
            known = parts
        }
        return identities
    }

    func decode(_ count: Int, from reader: inout ByteReader) throws -> [RowIdentity] {
        let raw = try reader.byte()
        guard let encoding = IdentityEncoding(rawValue: raw) else { throw reader.newer("identity encoding \(raw)") }
        // Each identity takes at least one byte.
        guard count <= reader.remaining else { throw reader.damaged("there cannot be \(count) identities") }
        switch encoding {
        case .surrogates: return try surrogates(count, from: &reader)
        case .plain: return try plain(count, from: &reader)
        case .shaped: return try shaped(count, from: &reader)
        }
    }

    private func surrogates(_ count: Int, from reader: inout ByteReader) throws -> [RowIdentity] {
        let prefixLength = Int(try reader.byte())
        guard prefixLength <= IdentityEncoding.maximumPrefix else {
            throw reader.damaged("identities cannot share \(prefixLength) bytes")
        }
        let prefix = reader.bytes(try reader.take(prefixLength))
        let restLength = 16 - prefixLength
        let rest = reader.bytes(try reader.take(count * restLength))
        let bytes = [UInt8](unsafeUninitializedCapacity: count * 17) { buffer, initialized in
            var target = UnsafeMutableRawBufferPointer(buffer)
            for row in 0..<count {
                target[0] = 0
                if let start = target.baseAddress, let from = rest.baseAddress {
                    if let prefix = prefix.baseAddress { (start + 1).copyMemory(from: prefix, byteCount: prefixLength) }
                    (start + 1 + prefixLength).copyMemory(from: from + row * restLength, byteCount: restLength)
                }
                target = UnsafeMutableRawBufferPointer(rebasing: target[17...])
            }
            initialized = count * 17
        }
        return (0..<count).map { RowIdentity(unchecked: bytes[$0 * 17..<$0 * 17 + 17]) }
    }

    private func plain(_ count: Int, from reader: inout ByteReader) throws -> [RowIdentity] {
        let lengths = try reader.lengths(count)
        var identities: [RowIdentity] = []
        identities.reserveCapacity(count)
        for length in lengths {
            let bytes = payload[try reader.take(length)]
            guard let identity = RowIdentity(checking: bytes, depth: depth) else {
                throw reader.damaged("bytes that do not identify a row")
            }
            identities.append(identity)
        }
        return identities
    }

    /// One part of every identity.
    private enum Part {
        case words(tag: UInt8, [UInt64])
        case strings(tag: UInt8, [Range<Int>])
        case references([RowIdentity])

        func length(_ row: Int) -> Int {
            switch self {
            case .words: 9
            case .strings(_, let ranges): 5 + ranges[row].count
            case .references(let identities): 5 + identities[row].bytes.count
            }
        }
    }

    private func shaped(_ count: Int, from reader: inout ByteReader) throws -> [RowIdentity] {
        guard depth < Limits.identityDepth else { throw reader.damaged("references are nested too deeply") }
        let partCount = try reader.byte()
        guard partCount > 0 else { throw reader.damaged("identities without parts") }
        var parts: [Part] = []
        for _ in 0..<partCount { parts.append(try part(count, from: &reader)) }
        var ends: [Int] = []
        ends.reserveCapacity(count)
        var total = 0
        for row in 0..<count {
            total += 1
            for part in parts { total += part.length(row) }
            ends.append(total)
        }
        let bytes = reader.withPayload { payload in
            [UInt8](unsafeUninitializedCapacity: total) { buffer, initialized in
                var writer = RawWriter(buffer)
                for row in 0..<count {
                    writer.append(byte: 1)
                    for part in parts {
                        switch part {
                        case .words(let tag, let words):
                            writer.append(byte: tag)
                            writer.append(word: words[row])
                        case .strings(let tag, let ranges):
                            writer.append(byte: tag)
                            writer.append(counted: UnsafeRawBufferPointer(rebasing: payload[ranges[row]]))
                        case .references(let identities):
                            writer.append(byte: 5)
                            identities[row].bytes.withUnsafeBytes { writer.append(counted: $0) }
                        }
                    }
                }
                initialized = writer.count
            }
        }
        var start = 0
        return ends.map { end in
            defer { start = end }
            return RowIdentity(unchecked: bytes[start..<end])
        }
    }

    private func part(_ count: Int, from reader: inout ByteReader) throws -> Part {
        let tag = try reader.byte()
        switch tag {
        case 1:
            var words: [UInt64] = []
            words.reserveCapacity(count)
            var previous: Int64 = 0
            for _ in 0..<count {
                previous &+= try reader.zigzag()
                words.append(UInt64(bitPattern: previous) ^ 1 << 63)
            }
            return .words(tag: tag, words)
        case 2:
            var words: [UInt64] = []
            words.reserveCapacity(count)
            for _ in 0..<count {
                let word = try reader.word()
                guard !IdentityPart.isWhole(word.bigEndian) else { throw reader.damaged("a key with 1.0 for 1") }
                words.append(word)
            }
            return .words(tag: tag, words)
        case 3, 4:
            var ranges: [Range<Int>] = []
            ranges.reserveCapacity(count)
            for length in try reader.lengths(count) { ranges.append(try reader.take(length)) }
            return .strings(tag: tag, ranges)
        case 5:
            return .references(
                try IdentityDecoder(payload: payload, depth: depth + 1).decode(count, from: &reader))
        default:
            throw reader.newer("key part \(tag)")
        }
    }
}

/// Fills memory of a length that was worked out beforehand.
private struct RawWriter {
    private let target: UnsafeMutableRawBufferPointer
    private(set) var count = 0

    init(_ buffer: UnsafeMutableBufferPointer<UInt8>) { target = UnsafeMutableRawBufferPointer(buffer) }

    mutating func append(byte: UInt8) {
        target[count] = byte
        count += 1
    }

    mutating func append(word: UInt64) {
        target.storeBytes(of: word.bigEndian, toByteOffset: count, as: UInt64.self)
        count += 8
    }

    mutating func append(counted bytes: UnsafeRawBufferPointer) {
        target.storeBytes(of: UInt32(bytes.count).bigEndian, toByteOffset: count, as: UInt32.self)
        count += 4
        UnsafeMutableRawBufferPointer(rebasing: target[count..<count + bytes.count]).copyMemory(from: bytes)
        count += bytes.count
    }
}
