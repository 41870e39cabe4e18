import Forgery
import Foundation
import Glibc
import LogSyncModel
import Testing

@testable import LogSyncContainer

/// Documents that no logsync writes, and other things in their places.
@Suite struct HostileDocumentTests {
    let folder: TemporaryFolder
    let content: ContentFolder
    let peer: PeerFolder

    init() throws {
        folder = try TemporaryFolder()
        content = try makeContent(folder)
        peer = content.peer(alice)
        try peer.create()
    }

    private func document(
        counter: String = "5", published: String = "1", imported: String = "1", epoch: String = "1",
        seen: String = "1", held: String = "1", formats: String = "1", format: String = "1"
    ) -> [UInt8] {
        ForgedFolder.sealed(
            """
            {"chain":"","collectionEpoch":\(epoch),"counter":\(counter),"digest":"","epochsSeen":{"\(bob)":\(seen)},\
            "format":\(format),"held":[{"peer":"\(bob)","reason":"gap","sequence":\(held)}],\
            "imported":{"\(bob)":\(imported)},"nonce":"n","peer":"\(alice)","published":\(published),\
            "readsFormats":[\(formats)],"written":"2026-01-01T00:00:00.000Z"}

            """)
    }

    @Test func `No number in a receipt is greater than any peer comes to`() throws {
        #expect(try Receipt(decoding: document()).counter == 5)
        let (last, exact) = ("\(Limits.sequence)", "\(Limits.documentNumber)")
        #expect(
            try Receipt(
                decoding: document(
                    counter: exact, published: last, imported: last, epoch: exact, seen: exact, held: last)
            ).content.published == Limits.sequence)
        let beyond = ["\(Limits.sequence + 1)", "\(UInt64.max)", "18446744073709551616", "-1"]
        for number in beyond {
            #expect(throws: LogSyncError.self) { try Receipt(decoding: document(published: number)) }
            #expect(throws: LogSyncError.self) { try Receipt(decoding: document(imported: number)) }
            #expect(throws: LogSyncError.self) { try Receipt(decoding: document(held: number)) }
        }
        for number in ["\(Limits.documentNumber + 1)", "\(UInt64.max)", "\(UInt64.max - 1)", "-1"] {
            #expect(throws: LogSyncError.self) { try Receipt(decoding: document(counter: number)) }
            #expect(throws: LogSyncError.self) { try Receipt(decoding: document(epoch: number)) }
            #expect(throws: LogSyncError.self) { try Receipt(decoding: document(seen: number)) }
            #expect { try Receipt(decoding: document(formats: number)) } throws: {
                ($0 as? LogSyncError)?.code == .malformedLog
            }
            #expect { try Receipt(decoding: document(format: number)) } throws: {
                ($0 as? LogSyncError)?.code == .malformedLog
            }
            #expect { try PeerDescription(decoding: Array("{\"format\":\(number)}".utf8)) } throws: {
                ($0 as? LogSyncError)?.code == .malformedLog
            }
            let marker = Array("{\"content\":\"notes\",\"format\":\(number)}".utf8)
            #expect(Marker.State(reading: marker, content: try .notes) == .unreadable)
        }
    }

    @Test func `A counter far above all before it is not caught up with`() throws {
        #expect(Receipt.counter(after: 5, standing: nil) == 6)
        #expect(Receipt.counter(after: 5, standing: 3) == 6)
        #expect(Receipt.counter(after: 5, standing: 9) == 10)
        #expect(Receipt.counter(after: 5, standing: 5 + Limits.counterRise) == 6 + Limits.counterRise)
        #expect(Receipt.counter(after: 5, standing: 6 + Limits.counterRise) == 6)
        for standing in [Limits.documentNumber, .max] { #expect(Receipt.counter(after: 5, standing: standing) == 6) }
        // What a former version has caught up with.
        for used in [Limits.documentNumber, UInt64.max - 1, .max] {
            #expect(Receipt.counter(after: used, standing: nil) == 1)
            #expect(Receipt.counter(after: used, standing: 7) == 8)
        }
        let said = Receipt.Content(published: 1)
        try folder.write(
            Receipt(peer: alice, counter: 1 << 40, nonce: "n", written: 0, content: said).encoded(),
            to: "notes/peers/\(alice)/receipt.json")
        #expect(try peer.publishReceipt(said, counter: 7, nonce: "n", written: 0).counter == 8)
        #expect(try peer.readReceipt()?.counter == 8)
    }

    @Test func `A receipt far above all before it is not believed, and the next true one is`() throws {
        let scanner = ContainerScanner(content: content)
        func scanned(_ counter: UInt64) throws -> PeerScan.Found<Receipt>? {
            try folder.write(document(counter: "\(counter)"), to: "notes/peers/\(alice)/receipt.json")
            return try scanner.scan(full: true).peers[alice]?.receipt
        }
        #expect(try scanned(5)?.value?.counter == 5)
        #expect(try scanned(6 + Limits.counterRise) == .damaged)
        #expect(try scanned(6)?.value?.counter == 6)
        #expect(try scanned(6 + Limits.counterRise)?.value != nil)
        #expect(try ContainerScanner(content: content).scan().peers[alice]?.receipt == .damaged)
    }

    @Test(arguments: ["directory", "full directory", "symbolic link", "FIFO"])
    func `What has the name of a peer's own document is no obstacle to writing it`(kind: String) throws {
        let outside = "\(folder.path)/outside"
        try folder.write("theirs", to: "outside")
        for path in [peer.receiptPath, peer.descriptionPath] {
            switch kind {
            case "symbolic link":
                try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: outside)
            case "FIFO": #expect(mkfifo(path, 0o600) == 0)
            default:
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
                if kind == "full directory" {
                    #expect(FileManager.default.createFile(atPath: path + "/x", contents: nil))
                    try FileManager.default.createDirectory(
                        atPath: path + " (directory)/full", withIntermediateDirectories: true)
                }
            }
        }
        #expect(try peer.readReceipt() == nil)
        #expect(try peer.publishReceipt(.init(), counter: 3, nonce: "n", written: 0).counter == 4)
        #expect(try peer.readReceipt()?.counter == 4)
        try peer.write(PeerDescription(name: "laptop", created: 0))
        let scan = try #require(try ContainerScanner(content: content).scan().peers[alice])
        #expect(scan.receipt.value?.counter == 4 && scan.description.value?.name == "laptop")
        #expect(try String(contentsOfFile: outside, encoding: .utf8) == "theirs")
    }

    @Test func `A file that is longer than any of its kind is not read`() throws {
        let counting = FailingFileSystem(onlyOperations: ["read"])
        let read = ContentFolder(container: folder.path, name: try .notes, fileSystem: counting).peer(alice)
        let blob = BlobName(FileHash(high: 1, low: 1))
        let schema = try #require(SchemaFileName(String(repeating: "0", count: 32) + ".sql"))
        for path in [peer.path(blob), peer.path(schema)] {
            #expect(FileManager.default.createFile(atPath: path, contents: nil))
            #expect(truncate(path, 2 << 30) == 0)
        }
        #expect(try read.verify(blob) == .damaged && read.verify(schema) == .damaged)
        #expect(counting.calls.isEmpty)
    }

    @Test func `What stands in the place of a peer's own folder is renamed, and of all peers' folder named`() throws {
        let logs = peer.path(of: LogFileName.self)
        let log = try #require(LogFileName(first: 1, last: 1, fileHash: FileHash(high: 1, low: 1)))
        try folder.makeDirectory("elsewhere")
        let elsewhere = "\(folder.path)/elsewhere"
        try folder.makeDirectory("notes/peers/\(alice) (no directory)")
        try folder.write("somebody's", to: "notes/peers/\(alice) (no directory 2)")
        for path in [logs, peer.path] {
            for kind in ["link", "loop", "file", "FIFO"] {
                try FileManager.default.removeItem(atPath: path)
                switch kind {
                case "link": try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: elsewhere)
                case "loop": try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path)
                case "file": #expect(FileManager.default.createFile(atPath: path, contents: nil))
                default: #expect(mkfifo(path, 0o600) == 0)
                }
                #expect(try peer.find(log) == nil)
                try peer.create()
                #expect(try FileManager.default.contentsOfDirectory(atPath: path).count == (path == logs ? 0 : 4))
            }
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: elsewhere).isEmpty)
        #expect(try String(contentsOfFile: peer.path + " (no directory 2)", encoding: .utf8) == "somebody's")
        try FileManager.default.removeItem(atPath: content.peersPath)
        try FileManager.default.createSymbolicLink(atPath: content.peersPath, withDestinationPath: elsewhere)
        let link = #expect(throws: LogSyncError.self) { try peer.create() }
        #expect(link?.message.contains("\(content.peersPath): a symbolic link is in its place") == true)
        try FileManager.default.removeItem(atPath: content.peersPath)
        try folder.write("", to: "notes/peers")
        let file = #expect(throws: LogSyncError.self) { try peer.create() }
        #expect(file?.message.contains("a file is in its place") == true)
        let unwritable = #expect(throws: FileSystemError.self) { try peer.checkWritable() }?.explained(kept: "")
        #expect(unwritable?.code == .ioError && unwritable?.message.contains("a file is in its place") == true)
        #expect(unwritable?.help?.contains("Move away") == true)
    }

    @Test(arguments: [(0o600, 0o600, 0o700), (0o640, 0o640, 0o750), (0o664, 0o644, 0o755), (0o444, 0o644, 0o755)])
    func `Nothing is published wider than is said`(permissions: (mode: UInt32, file: UInt16, directory: UInt16)) throws
    {
        // As root nothing is out of reach; the modes say the same.
        let before = umask(0o022)
        defer { umask(before) }
        let narrow = ContentFolder(
            container: folder.path, name: try ContentName(checking: "narrow"),
            permissions: FilePermissions(mode: 0o100_000 | permissions.mode))
        try narrow.create()
        let own = narrow.peer(alice)
        let bytes = logBytes("x")
        let staging = try TemporaryFolder()
        let log = try Publisher(folder: own, stagingDirectory: staging.path).publish(bytes) {
            LogFileName(first: 1, last: 1, fileHash: $0)
        }
        _ = try own.publishReceipt(.init(), counter: 0, nonce: "", written: 0)
        try own.write(PeerDescription(name: "a", created: 0))
        func mode(_ path: String) throws -> UInt16 {
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            return try #require(attributes[.posixPermissions] as? NSNumber).uint16Value & 0o777
        }
        for path in [narrow.markerPath, own.path(log), own.receiptPath, own.descriptionPath] {
            #expect(try mode(path) == permissions.file, "\(path)")
        }
        for path in [narrow.path, narrow.peersPath, own.path, own.path(of: LogFileName.self)] {
            #expect(try mode(path) == permissions.directory, "\(path)")
        }
    }
}
