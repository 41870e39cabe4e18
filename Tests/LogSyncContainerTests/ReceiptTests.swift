import Foundation
import LogSyncModel
import Testing

@testable import LogSyncContainer

@Suite struct ReceiptTests {
    let folder: TemporaryFolder
    let peer: PeerFolder
    let content = Receipt.Content(
        formats: [2, 1], published: 41, chain: "c0ffee", imported: VersionVector([alice: 41, bob: 7]),
        held: [
            .init(peer: bob, sequence: 9, file: "x.tlog", reason: "damaged"),
            .init(peer: bob, sequence: 8, file: nil, reason: "gap"),
        ], digest: "0badf00d", collectionEpoch: 3, epochsSeen: [bob: 2])

    init() throws {
        folder = try TemporaryFolder()
        peer = try makeContent(folder).peer(alice)
    }

    @Test func `A receipt reads back as it was written`() throws {
        let written = try peer.publishReceipt(content, counter: 0, nonce: "ab12", written: 1_767_225_600_123)
        #expect(written.counter == 1)
        let read = try #require(try peer.readReceipt())
        #expect(read.content.saysTheSame(as: content))
        #expect(read.nonce == "ab12")
        #expect(read.written == 1_767_225_600_123)
        #expect(read.peer == alice)
    }

    @Test func `The document is one line, its checksum first, its other keys sorted`() throws {
        let receipt = Receipt(
            peer: alice, counter: 5, nonce: "n", written: 0, content: .init(imported: .init([bob: 2])))
        let text = String(decoding: receipt.encoded(), as: UTF8.self)
        let body = text.dropFirst("{\"checksum\":\"".count + 32 + 2)
        #expect(
            "{" + body == """
                {"chain":"","collectionEpoch":0,"counter":5,"digest":"","epochsSeen":{},"format":1,"held":[],\
                "imported":{"\(bob)":2},"nonce":"n","peer":"\(alice)","published":0,"readsFormats":[1],\
                "written":"1970-01-01T00:00:00.000Z"}

                """)
        #expect(try JSONSerialization.jsonObject(with: Data(text.utf8)) is [String: Any])
    }

    @Test func `A receipt says that its peer has left only where it has`() throws {
        var last = content
        last.hasLeft = true
        #expect(!last.saysTheSame(as: content))
        let written = try peer.publishReceipt(last, counter: 0, nonce: "n", written: 0)
        #expect(try peer.readReceipt() == written)
        #expect(written.content.hasLeft)
        #expect(String(decoding: written.encoded(), as: UTF8.self).contains("\"left\":true,"))
        let back = try peer.publishReceipt(content, counter: written.counter, nonce: "n", written: 0)
        #expect(try peer.readReceipt() == back)
        #expect(!back.content.hasLeft)
    }

    /// A receipt with this document and the checksum that belongs to it.
    private func receipt(of document: String) throws -> Receipt {
        let body = Array(document.utf8)
        return try Receipt(
            decoding: Array("{\"checksum\":\"\(StreamingHash.of(body))\",".utf8) + body.dropFirst())
    }

    @Test(arguments: [
        "{\"IDA\":41,\"IDB\":7}", " {\"IDA\":41,\"IDB\":7}", "{ \"IDA\" : 41 , \"IDB\":7 }", "{\"IDB\":7,\"IDA\":41}",
        "{\"IDA\":41,\"IDB\":7},\"later\":{\"imported\":{\"IDB\":99}}",
        "{\"IDA\":41,\"IDB\":7},\"a\":{\"epochsSeen\":{\"IDA\":99}}",
        " {\"IDA\":41,\"IDB\":7},\"later\":{\"imported\":{\"IDB\":99}}",
        "{\"IDA\":41,\"IDB\":7},\"later\":\"\\\"imported\\\":{\\\"IDB\\\":99}\"",
    ])
    func `A vector is read however its document is spelled`(vector: String) throws {
        let text = """
            {"chain":"","collectionEpoch":0,"counter":5,"digest":"","epochsSeen":{"IDB":3},"format":1,"held":[],\
            "imported":\(vector),"nonce":"n","peer":"IDA","published":0,"readsFormats":[1],\
            "written":"1970-01-01T00:00:00.000Z"}
            """
        let document = text.replacingOccurrences(of: "IDA", with: "\(alice)")
            .replacingOccurrences(of: "IDB", with: "\(bob)")
        let read = try receipt(of: document)
        #expect(read.content.imported == VersionVector([alice: 41, bob: 7]))
        #expect(read.content.epochsSeen == [bob: 3])
    }

    @Test(arguments: [
        "{\"ID\":-1}", "{\"ID\":1.5}", "{\"ID\":99999999999999999999}", "{\"id\":1}", "{\"ID\":01}", "{", "[1]",
    ])
    func `A vector that is none makes no receipt`(vector: String) {
        let text = """
            {"chain":"","collectionEpoch":0,"counter":5,"digest":"","epochsSeen":{},"format":1,"held":[],\
            "imported":\(vector.replacingOccurrences(of: "ID", with: "\(bob)")),"nonce":"n","peer":"\(alice)",\
            "published":0,"readsFormats":[1],"written":"1970-01-01T00:00:00.000Z"}
            """
        #expect { try receipt(of: text) } throws: { ($0 as? LogSyncError)?.code == .malformedLog }
    }

    @Test func `A thousand peers are read by the short way`() throws {
        let vector = Dictionary(uniqueKeysWithValues: (1...1000).map { (PeerID(high: $0, low: ~$0), $0 << 30) })
        var body = Array(
            Receipt(
                peer: alice, counter: 1, nonce: "n", written: 0,
                content: .init(imported: VersionVector(vector), epochsSeen: vector)
            ).encoded())
        let length = body.count
        #expect(VectorText.cut("imported", from: &body) == vector)
        #expect(VectorText.cut("epochsSeen", from: &body) == vector)
        #expect(body.count < length - 70_000)
    }

    @Test func `A receipt is rewritten only when it says something new`() throws {
        let first = try peer.publishReceipt(content, counter: 0, nonce: "1", written: 1)
        #expect(try peer.publishReceipt(content, counter: 1, nonce: "2", written: 2) == first)
        var other = content
        other.imported[bob] = 8
        let second = try peer.publishReceipt(other, counter: 1, nonce: "2", written: 2)
        #expect(second.counter == 2)
        #expect(try peer.readReceipt()?.counter == 2)
    }

    @Test func `A folder that was rolled back gets a higher counter than was ever used`() throws {
        _ = try peer.publishReceipt(content, counter: 0, nonce: "1", written: 1)
        #expect(try peer.publishReceipt(content, counter: 9, nonce: "1", written: 1).counter == 10)
    }

    @Test func `No changed byte and no missing byte of a receipt goes unnoticed`() throws {
        let bytes = Receipt(peer: alice, counter: 5, nonce: "n", written: 0, content: content).encoded()
        for index in bytes.indices {
            var damaged = bytes
            damaged[index] ^= 4
            #expect(throws: LogSyncError.self, "byte \(index)") { try Receipt(decoding: damaged) }
            #expect(throws: LogSyncError.self) { try Receipt(decoding: Array(bytes[..<index])) }
        }
    }

    @Test func `A damaged or foreign receipt of one's own is written anew`() throws {
        try peer.create()
        try folder.write("{\"checksum\":\"oops", to: "notes/peers/\(alice)/receipt.json")
        #expect(try peer.readReceipt() == nil)
        #expect(try peer.publishReceipt(content, counter: 3, nonce: "", written: 0).counter == 4)
        let others = Receipt(peer: bob, counter: 50, nonce: "", written: 0, content: content)
        try folder.write(others.encoded(), to: "notes/peers/\(alice)/receipt.json")
        #expect(try peer.readReceipt() == nil)
        #expect(try peer.publishReceipt(content, counter: 4, nonce: "", written: 0).counter == 5)
    }

    private func sealed(_ body: String) -> [UInt8] {
        Array("{\"checksum\":\"\(StreamingHash.of(Array(body.utf8)))\",".utf8) + Array(body.utf8).dropFirst()
    }

    @Test func `Keys that a newer logsync adds are tolerated, a newer format is named`() throws {
        let receipt = Receipt(peer: alice, counter: 5, nonce: "n", written: 0, content: content)
        let text = String(decoding: receipt.encoded(), as: UTF8.self)
        let body = "{" + text.dropFirst("{\"checksum\":\"".count + 32 + 2)
        let wider = body.replacing("\"format\":1", with: "\"format\":1,\"later\":{\"a\":[null]}")
        #expect(try Receipt(decoding: sealed(wider)) == Receipt(decoding: receipt.encoded()))
        #expect { try Receipt(decoding: sealed("{\"format\":2}")) } throws: {
            ($0 as? LogSyncError)?.code == .newerFormat
        }
        try peer.create()
        try folder.write(sealed("{\"format\":2}"), to: "notes/peers/\(alice)/receipt.json")
        #expect { try peer.publishReceipt(content, counter: 0, nonce: "", written: 0) } throws: {
            ($0 as? LogSyncError)?.code == .newerFormat
        }
    }

    @Test func `More held files than fit are cut off, the same way every time`() throws {
        var much = content
        much.held = (1...1500).reversed().map { .init(peer: bob, sequence: $0, file: nil, reason: "gap") }
        let first = try peer.publishReceipt(much, counter: 0, nonce: "1", written: 1)
        #expect(try peer.readReceipt()?.content.held.count == 1000)
        #expect(try peer.readReceipt()?.content.held.first?.sequence == 1)
        #expect(try peer.publishReceipt(much, counter: first.counter, nonce: "2", written: 2).counter == first.counter)
    }

    @Test func `A failure at any step of a rewriting leaves the old receipt or the new`() throws {
        let old = try peer.publishReceipt(content, counter: 0, nonce: "1", written: 1)
        var other = content
        other.published = 42
        for plan in [FailingFileSystem.Plan.fail(ENOSPC), .tear(EIO), .die] {
            for failing in 1...60 {
                let broken = FailingFileSystem(plan: plan, failing: failing)
                let brokenPeer = ContentFolder(container: folder.path, name: try .notes, fileSystem: broken).peer(alice)
                _ = try? brokenPeer.publishReceipt(other, counter: 1, nonce: "2", written: 2)
                let standing = try #require(try peer.readReceipt())
                #expect(standing.content.saysTheSame(as: standing.counter == old.counter ? content : other))
                try folder.write(old.encoded(), to: "notes/peers/\(alice)/receipt.json")
                Publisher(folder: peer).removeStaleFiles(now: .max)
            }
        }
        #expect(try folder.files() == ["notes/logsync.json", "notes/peers/\(alice)/receipt.json"])
    }

    @Test func `A peer's description reads back, and is not rewritten for nothing`() throws {
        let description = PeerDescription(
            name: "Zoë's laptop", created: 1_767_225_600_000, publicKey: [1, 2, 255], succeeds: bob)
        try peer.write(description)
        let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: peer.descriptionPath)))
        #expect(try PeerDescription(decoding: bytes) == description)
        #expect(
            String(decoding: bytes, as: UTF8.self) == """
                {"created":"2026-01-01T00:00:00.000Z","format":1,"name":"Zoë's laptop","publicKey":"0102ff",\
                "succeeds":"\(bob)"}

                """)
        let schema = SchemaFingerprint(bytes: [UInt8](repeating: 5, count: 16))
        let more = PeerDescription(name: "b", created: 0, schema: schema, without: [["note", "a"], ["tag"]])
        #expect(try PeerDescription(decoding: more.encoded()) == more)
        #expect(String(decoding: more.encoded(), as: UTF8.self).contains(#""without":[["note","a"],["tag"]]"#))
        let before = try PosixFileSystem().status(peer.descriptionPath, followingLinks: false)
        try peer.write(description)
        #expect(try PosixFileSystem().status(peer.descriptionPath, followingLinks: false) == before)
    }

    @Test func `Times are formatted and parsed to the millisecond`() {
        let examples: [(Int64, String)] = [
            (0, "1970-01-01T00:00:00.000Z"), (951_782_400_001, "2000-02-29T00:00:00.001Z"),
            (1_767_225_599_999, "2025-12-31T23:59:59.999Z"), (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ]
        for (milliseconds, text) in examples {
            #expect(Timestamp.format(milliseconds) == text)
            #expect(Timestamp.parse(text) == milliseconds)
        }
        for text in ["", "2025-02-30T00:00:00.000Z", "2025-01-01T24:00:00.000Z", "2025-01-01 00:00:00.000Z", "x"] {
            #expect(Timestamp.parse(text) == nil)
        }
    }
}
