package import LogSyncModel

/// A block as it stands in a segment, its header included.
package struct EncodedBlock: Hashable, Sendable {
    package let bytes: [UInt8]

    /// The blocks that stand one after another. They are not judged: what is none is the last, for a reader to find out.
    package static func split(_ bytes: Bytes) -> [EncodedBlock] {
        var blocks: [EncodedBlock] = []
        var rest = bytes
        while !rest.isEmpty {
            let header = try? BlockHeader(rest, offset: bytes.count - rest.count)
            let block = rest.prefix(header.map { BlockHeader.length + $0.storedLength } ?? rest.count)
            blocks.append(EncodedBlock(bytes: Array(block)))
            rest = rest.dropFirst(block.count)
        }
        return blocks
    }
}
