import LogSyncModel

/// How blobs are named in payloads (Documentation/log-format.md, values).
extension BlobID {
    /// No blob is named in fewer bytes: 32 of hash and one of length.
    static let encodedSize = 33
}

extension ByteWriter {
    func append(_ blob: BlobID) {
        append(blob.hash)
        append(varint: UInt64(blob.length))
    }

    /// A count, then each blob by ascending hash; nothing where there is none.
    func append(sorted blobs: Set<BlobID>) {
        guard !blobs.isEmpty else { return }
        append(varint: UInt64(blobs.count))
        for blob in blobs.sorted() { append(blob) }
    }
}

extension ByteReader {
    mutating func blob() throws -> BlobID {
        let hash = bytes(try take(32))
        let length = try varint()
        guard let blob = BlobID(hash: hash, length: Int(clamping: length)) else {
            throw damaged("a blob cannot have \(length) bytes")
        }
        return blob
    }

    /// Counts a blob that is a value of so many rows; of more bytes than there are, as many as there are.
    mutating func name(_ blob: BlobID, times: Int) {
        let (bytes, isBeyond) = blob.length.multipliedReportingOverflow(by: times)
        let (sum, overflows) = blobBytes.addingReportingOverflow(bytes)
        blobBytes = isBeyond || overflows ? .max : sum
    }

    /// The rest of the payload: a list as ``ByteWriter/append(sorted:)`` makes it.
    mutating func sortedBlobs() throws -> [BlobID] {
        guard !isAtEnd else { return [] }
        let count = try count(of: "blobs", size: BlobID.encodedSize)
        guard count > 0 else { throw damaged("a list of no blobs") }
        var blobs: [BlobID] = []
        blobs.reserveCapacity(count)
        for _ in 0..<count {
            let blob = try blob()
            guard blobs.last.map({ $0.hash.lexicographicallyPrecedes(blob.hash) }) ?? true else {
                throw damaged("blobs that do not stand by ascending hash")
            }
            blobs.append(blob)
        }
        return blobs
    }
}

extension LogSyncError {
    static var tooManyBlobs: LogSyncError {
        LogSyncError(
            .unsupportedTable, "More large values than one file can name; nothing was written",
            help: "Record them in several transactions, or leave the table out with logsync init --skip")
    }
}
