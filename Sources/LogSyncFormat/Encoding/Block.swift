import Crypto
import LogSyncModel

/// What a block of a segment holds.
enum BlockType: UInt8 {
    case header = 1
    case frame = 2
    case end = 3
}

enum BlockCodec: UInt8 {
    case raw = 0
    case zstd = 1
}

/// The 19 bytes before each block's payload (Documentation/log-format.md, blocks).
struct BlockHeader {
    var type: UInt8
    var codec: UInt8
    var flags: UInt8
    var rawLength: Int
    var storedLength: Int
    var check: UInt64

    static let length = 19
    /// How many of those bytes the check hash covers, before the payload.
    static let checkedLength = 11
    static let continuedFlag: UInt8 = 1

    /// Reads a block header without judging it, except that no payload is longer than a block may be.
    init(_ bytes: Bytes, offset: Int) throws {
        guard bytes.count >= Self.length else {
            throw LogFileError.damaged("a block header is cut off", offset: offset)
        }
        self = bytes.withUnsafeBytes { bytes in
            func number(_ position: Int) -> Int {
                Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self)))
            }
            return BlockHeader(
                type: bytes[0], codec: bytes[1], flags: bytes[2], rawLength: number(3), storedLength: number(7),
                check: UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 11, as: UInt64.self)))
        }
        guard rawLength <= Limits.blockLength, storedLength <= Limits.blockLength else {
            throw LogFileError.damaged("no block is longer than \(Limits.blockLength) bytes", offset: offset)
        }
    }

    private init(type: UInt8, codec: UInt8, flags: UInt8, rawLength: Int, storedLength: Int, check: UInt64) {
        self.type = type
        self.codec = codec
        self.flags = flags
        self.rawLength = rawLength
        self.storedLength = storedLength
        self.check = check
    }
}

/// A block whose check hash and form are right, and whose payload has not been looked at.
struct CheckedBlock {
    let type: BlockType
    let codec: BlockCodec
    let continued: Bool
    let rawLength: Int
    let offset: Int
    /// The whole block as it stands in the file.
    let bytes: Bytes

    /// - Throws: `damaged` where the hash is wrong, `newerFormat` where it is right and the block says something unknown.
    init(_ bytes: Bytes, offset: Int) throws {
        let header = try BlockHeader(bytes, offset: offset)
        guard bytes.count == BlockHeader.length + header.storedLength else {
            throw LogFileError.damaged("a block's length is not what its header says", offset: offset)
        }
        guard Self.check(bytes) == header.check else {
            throw LogFileError.damaged("a block's hash does not match its bytes", offset: offset)
        }
        guard let type = BlockType(rawValue: header.type) else {
            throw LogFileError.newerFormat("block type \(header.type)", offset: offset)
        }
        guard let codec = BlockCodec(rawValue: header.codec) else {
            throw LogFileError.newerFormat("block codec \(header.codec)", offset: offset)
        }
        guard header.flags & ~BlockHeader.continuedFlag == 0 else {
            throw LogFileError.newerFormat("block flags \(header.flags)", offset: offset)
        }
        let lengthsFit =
            codec == .raw ? header.storedLength == header.rawLength : header.storedLength < header.rawLength
        guard lengthsFit, header.rawLength > 0 else {
            throw LogFileError.damaged("a block's lengths contradict each other", offset: offset)
        }
        self.type = type
        self.codec = codec
        continued = header.flags & BlockHeader.continuedFlag != 0
        guard !continued || header.rawLength == Limits.blockLength else {
            throw LogFileError.damaged("a continued block is not full", offset: offset)
        }
        rawLength = header.rawLength
        self.offset = offset
        self.bytes = bytes
    }

    /// The check hash: the first 8 bytes of SHA-256 over the header up to the check, and the stored payload.
    static func check(_ block: Bytes) -> UInt64 {
        var sha = SHA256()
        sha.update(block.prefix(BlockHeader.checkedLength))
        sha.update(block.dropFirst(BlockHeader.length))
        return truncated(sha.finalize())
    }

    static func truncated(_ digest: SHA256.Digest) -> UInt64 {
        digest.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
    }

    /// Appends the raw payload to `target`.
    func unpack(onto target: inout [UInt8], with decompressor: Decompressor) throws {
        let stored = bytes.dropFirst(BlockHeader.length)
        switch codec {
        case .raw:
            target.append(contentsOf: stored)
        case .zstd:
            let raw = [UInt8](unsafeUninitializedCapacity: rawLength) { buffer, count in
                let exact = UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: rawLength)
                let isIntact = stored.withUnsafeBytes { decompressor.decompress($0, into: exact) }
                count = isIntact ? rawLength : 0
            }
            guard raw.count == rawLength else {
                throw LogFileError.damaged("a block cannot be decompressed", offset: offset)
            }
            if target.isEmpty { target = raw } else { target += raw }
        }
    }
}

/// Splits a logical payload into blocks and packs them.
struct BlockPacker {
    private let compressor = Compressor()
    private let compresses: Bool

    init(compresses: Bool) { self.compresses = compresses }

    func pack(
        _ type: BlockType, _ payload: UnsafeRawBufferPointer, chain: inout ChainHasher,
        emit: (EncodedBlock) throws -> Void
    ) throws {
        try pack(type, payload, onRaw: { chain.add(type, continued: $0, raw: $1) }, emit: emit)
    }

    func pack(
        _ type: BlockType, _ payload: UnsafeRawBufferPointer,
        onRaw: (_ continued: Bool, UnsafeRawBufferPointer) -> Void = { _, _ in },
        emit: (EncodedBlock) throws -> Void
    ) throws {
        var start = 0
        repeat {
            let end = min(start + Limits.blockLength, payload.count)
            let raw = UnsafeRawBufferPointer(rebasing: payload[start..<end])
            let continued = end < payload.count
            onRaw(continued, raw)
            try emit(EncodedBlock(bytes: packed(type, raw, continued: continued)))
            start = end
        } while start < payload.count
    }

    private func packed(_ type: BlockType, _ raw: UnsafeRawBufferPointer, continued: Bool) -> [UInt8] {
        guard compresses else { return Self.block(type, .raw, raw, rawLength: raw.count, continued: continued) }
        return compressor.compress(raw) { compressed in
            Self.block(
                type, compressed == nil ? .raw : .zstd, compressed ?? raw, rawLength: raw.count, continued: continued)
        }
    }

    private static func block(
        _ type: BlockType, _ codec: BlockCodec, _ stored: UnsafeRawBufferPointer, rawLength: Int, continued: Bool
    ) -> [UInt8] {
        var block: [UInt8] = []
        block.reserveCapacity(BlockHeader.length + stored.count)
        block.append(type.rawValue)
        block.append(codec.rawValue)
        block.append(continued ? BlockHeader.continuedFlag : 0)
        withUnsafeBytes(of: UInt32(rawLength).littleEndian) { block.append(contentsOf: $0) }
        withUnsafeBytes(of: UInt32(stored.count).littleEndian) { block.append(contentsOf: $0) }
        var sha = SHA256()
        sha.update(block)
        sha.update(bufferPointer: stored)
        let check = CheckedBlock.truncated(sha.finalize())
        withUnsafeBytes(of: check.littleEndian) { block.append(contentsOf: $0) }
        block.append(contentsOf: stored)
        return block
    }
}
