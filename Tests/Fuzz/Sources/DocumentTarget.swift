import Crypto
import LogSyncContainer
import LogSyncModel

/// Receipts and descriptions: what is taken can be written again, and then says the same.
enum DocumentTarget {
    static func run(_ bytes: [UInt8]) {
        receipt(bytes)
        if let repaired = repaired(bytes) { receipt(repaired) }
        guard let description = read({ () throws(LogSyncError) in try PeerDescription(decoding: bytes) }) else {
            return
        }
        let again = read { () throws(LogSyncError) in try PeerDescription(decoding: description.encoded()) }
        require(again == description, "\(description) was written and \(String(describing: again)) read back")
    }

    private static func receipt(_ bytes: [UInt8]) {
        guard let receipt = read({ () throws(LogSyncError) in try Receipt(decoding: bytes) }) else { return }
        let again = read { () throws(LogSyncError) in try Receipt(decoding: receipt.encoded()) }
        guard let again else { fatalError("\(receipt) was written and could not be read back") }
        require(
            again.peer == receipt.peer && again.counter == receipt.counter && again.nonce == receipt.nonce
                && again.written == receipt.written && again.content.saysTheSame(as: receipt.content),
            "\(receipt) was written and \(again) read back")
        var counters = ReceiptCounters([receipt.peer: receipt.counter / 2])
        let verdict = counters.accept(receipt.counter, of: receipt.peer)
        require(verdict != .older, "a receipt is older than half its counter")
        require(counters.accept(receipt.counter, of: receipt.peer) == verdict, "a receipt is not as new as itself")
        let next = Receipt.counter(after: receipt.counter, standing: receipt.counter)
        require(next >= 1 && next <= Limits.documentNumber, "after \(receipt.counter) comes \(next)")
    }

    /// The receipt with its checksum put right.
    private static func repaired(_ bytes: [UInt8]) -> [UInt8]? {
        let opening = Array("{\"checksum\":\"".utf8)
        guard bytes.starts(with: opening), bytes.count > opening.count + 34 else { return nil }
        let body = [UInt8(ascii: "{")] + bytes[(opening.count + 34)...]
        let digest = SHA256.hash(data: body).prefix(16)
        return opening + Array("\(FileHash(digest: digest))\",".utf8) + body.dropFirst()
    }

    private static func read<Document>(_ body: () throws(LogSyncError) -> Document) -> Document? {
        do throws(LogSyncError) {
            return try body()
        } catch {
            require(
                [.malformedLog, .newerFormat].contains(error.code), "bad input made the decoder throw \(error)")
            return nil
        }
    }
}
