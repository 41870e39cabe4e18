package import LogSyncModel

/// What a receipt says, short of its vectors: a thousand peers' vectors of a thousand peers each are a lot to read where
/// hardly anybody is heard of.
package struct ReceiptGist: Hashable, Sendable {
    package var counter: UInt64
    /// Unix milliseconds by the peer's clock.
    package var written: Int64
    package var published: UInt64
    /// In hex, of its transactions up to there.
    package let chain: String
    /// The mark of the last transaction published; nil where there is none.
    package let mark: ChainMark?
    package var collectionEpoch: UInt64
    package var held: [Receipt.Held]
    package var hasLeft: Bool

    init(
        counter: UInt64, written: Int64, published: UInt64, chain: String, collectionEpoch: UInt64,
        held: [Receipt.Held], hasLeft: Bool
    ) {
        self.counter = counter
        self.written = written
        self.published = published
        self.chain = chain
        mark = published > 0 ? Self.mark(of: chain) : nil
        self.collectionEpoch = collectionEpoch
        self.held = held
        self.hasLeft = hasLeft
    }

    /// The beginning of a chain hash; nil where the text is none.
    private static func mark(of chain: String) -> ChainMark? {
        let digits = chain.utf8
        guard digits.count == 64,
            digits.allSatisfy({
                UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || UInt8(ascii: "a")...UInt8(ascii: "f") ~= $0
            })
        else { return nil }
        return UInt64(chain.prefix(16), radix: 16).map { ChainMark(rawValue: $0) }
    }

    init(_ receipt: Receipt) {
        self.init(
            counter: receipt.counter, written: receipt.written, published: receipt.content.published,
            chain: receipt.content.chain, collectionEpoch: receipt.content.collectionEpoch, held: receipt.content.held,
            hasLeft: receipt.content.hasLeft)
    }
}
