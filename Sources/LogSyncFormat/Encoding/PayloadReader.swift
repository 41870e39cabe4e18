import LogSyncModel

/// Puts the blocks of a logical payload together.
struct PayloadReader {
    struct Payload {
        var type: BlockType
        var bytes: [UInt8]
        /// Where its first block stands.
        var offset: Int

        func header(peer: PeerID) throws -> TransactionHeader {
            guard type == .header else {
                throw LogFileError.damaged("a transaction does not start with its header", offset: offset)
            }
            return try bytes.withUnsafeBytes { bytes in
                var reader = ByteReader(bytes, offset: offset)
                return try TransactionHeader(from: &reader, peer: peer)
            }
        }

        func end() throws -> SegmentEnd {
            guard type == .end else {
                throw LogFileError.damaged("a transaction has no end", offset: offset)
            }
            return try bytes.withUnsafeBytes { bytes in
                var reader = ByteReader(bytes, offset: offset)
                return try SegmentEnd(from: &reader)
            }
        }
    }

    let nextBlock: () throws -> (bytes: Bytes, offset: Int)?
    let onBlock: ((Bytes) throws -> Void)?
    let decompressor: Decompressor
    /// nil for what this store wrote itself.
    let budget: ExpansionBudget?
    /// Whether frames are those of a log, of which rows share one only within ``Limits/sharedFrameLength``.
    var isLog = true

    /// Reads one payload. Returns nil where there are no more blocks.
    func next(
        onRaw: (BlockType, _ continued: Bool, UnsafeRawBufferPointer) -> Void = { _, _, _ in }
    ) throws -> Payload? {
        var payload: Payload?
        while let (bytes, offset) = try nextBlock() {
            let block = try CheckedBlock(bytes, offset: offset)
            try onBlock?(bytes)
            var whole = payload ?? Payload(type: block.type, bytes: [], offset: offset)
            payload = nil
            guard block.type == whole.type else {
                throw LogFileError.damaged("a payload is continued by another type of block", offset: offset)
            }
            let limit = limit(of: whole)
            guard block.rawLength <= limit - whole.bytes.count else {
                throw LogFileError.damaged("a payload longer than \(limit) bytes", offset: whole.offset)
            }
            try budget?.unpack(block.rawLength, offset: offset)
            let start = whole.bytes.count
            try block.unpack(onto: &whole.bytes, with: decompressor)
            whole.bytes.withUnsafeBytes {
                onRaw(block.type, block.continued, UnsafeRawBufferPointer(rebasing: $0[start...]))
            }
            if !block.continued { return whole }
            payload = whole
        }
        if let payload { throw LogFileError.damaged("a payload is cut off", offset: payload.offset) }
        return nil
    }

    /// How long a payload may be, as far as its beginning tells.
    private func limit(of payload: Payload) -> Int {
        guard payload.type == .frame else { return Limits.recordLength }
        guard isLog, payload.bytes.count == Limits.sharedFrameLength else { return Limits.frameLength }
        return payload.bytes.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes, offset: payload.offset)
            return (try? Self.rowCount(from: &reader)) == 1 ? Limits.frameLength : Limits.sharedFrameLength
        }
    }

    /// How many rows the first group of a frame says it has.
    private static func rowCount(from reader: inout ByteReader) throws -> UInt64 {
        _ = try reader.take(2)
        _ = try reader.name("table")
        return try reader.varint()
    }
}
