import Foundation
import LogSyncModel
import Testing

@testable import LogSyncContainer

@Suite struct ContainerScannerTests {
    let folder: TemporaryFolder
    let content: ContentFolder
    let time = ManualTime()

    init() throws {
        folder = try TemporaryFolder()
        content = try makeContent(folder)
    }

    private func scanner(_ content: ContentFolder? = nil) -> ContainerScanner {
        ContainerScanner(content: content ?? self.content, trustsDirectoryTimes: true, now: time.now)
    }

    /// Scans until every listing has stood still for long enough to be believed.
    private func settle(_ scanner: ContainerScanner) throws {
        for _ in 0..<3 {
            _ = try scanner.scan()
            time.advance(.seconds(2))
        }
    }

    @discardableResult
    private func publish(_ first: UInt64, _ last: UInt64, by peer: PeerID = alice) throws -> LogFileName {
        let bytes = logBytes("\(peer) \(first) \(last)")
        let file = try Publisher(folder: content.peer(peer)).stage(LogFileName.self)
        try file.write(bytes)
        return try file.publish { LogFileName(first: first, last: last, fileHash: $0) }
    }

    @Test func `A scan finds each peer's files, description and receipt`() throws {
        let names = [try publish(1, 1), try publish(2, 5)]
        try content.peer(alice).write(PeerDescription(name: "laptop", created: 7, succeeds: bob))
        let receipt = try content.peer(alice).publishReceipt(
            .init(published: 5, imported: .init([bob: 3])), counter: 0, nonce: "n", written: 1000)
        try publish(1, 1, by: bob)
        let scan = try scanner().scan()
        #expect(Set(scan.peers.keys) == [alice, bob])
        #expect(scan.changed == [alice, bob])
        #expect(scan.strange == [])
        #expect(scan.failures == [])
        let peer = try #require(scan.peers[alice])
        #expect(peer.logs.map(\.name) == names)
        #expect(peer.logFiles.choice(for: 3) == .file(names[1]))
        #expect(peer.logs.first?.size == UInt64(logBytes("\(alice) 1 1").count))
        #expect(peer.receipt == .valid(receipt))
        #expect(peer.overview.name == "laptop")
        #expect(peer.overview.published == 5)
        #expect(peer.overview.succeeds == bob)
        #expect(peer.overview.imported?[bob] == 3)
        #expect(peer.overview.seenAt == peer.receiptModified)
        #expect(scan.peers[bob]?.overview.published == 1)
        #expect(scan.peers[bob]?.overview.seenAt == nil)
    }

    @Test func `An older receipt that is brought back says nothing, in this process and the next`() throws {
        let peer = content.peer(alice)
        func publish(_ published: UInt64, leaving: Bool = false) throws -> (Receipt, [UInt8]) {
            let receipt = try peer.publishReceipt(
                .init(published: published, hasLeft: leaving), counter: 0, nonce: "n", written: 0)
            return (receipt, receipt.encoded())
        }
        func put(_ bytes: [UInt8]) throws { try folder.write(bytes, to: "notes/peers/\(alice)/receipt.json") }
        let scanner = scanner()
        let (_, old) = try publish(1, leaving: true)
        #expect(try scanner.scan().peers[alice]?.said?.hasLeft == true)
        let (back, new) = try publish(2)
        #expect(try scanner.scan().peers[alice]?.receipt == .valid(back))
        #expect(scanner.receiptCounters.risen == [alice: back.counter])
        try put(old)
        #expect(try scanner.scan().peers[alice]?.receipt == .valid(back))
        #expect(try scanner.scan().peers[alice]?.said?.hasLeft == false)
        let next = self.scanner()
        next.receiptCounters = ReceiptCounters(scanner.receiptCounters.risen)
        #expect(try next.scan().peers[alice]?.receipt == .outdated)
        #expect(try next.scan().peers[alice]?.said == nil)
        #expect(next.receiptCounters.risen.isEmpty)
        try put(new)
        #expect(try next.scan().peers[alice]?.receipt == .valid(back))
        let (newer, _) = try publish(3)
        #expect(try next.scan().peers[alice]?.receipt == .valid(newer))
    }

    @Test func `An empty content folder has no peers, and that is all`() throws {
        let scan = try scanner().scan()
        #expect(scan.peers.isEmpty)
        try FileManager.default.removeItem(atPath: content.peersPath)
        #expect(try scanner().scan().peers.isEmpty)
    }

    @Test func `A container that goes away is unavailable, not empty`() throws {
        try publish(1, 1)
        let scanner = scanner()
        _ = try scanner.scan()
        try FileManager.default.removeItem(atPath: content.path)
        #expect { try scanner.scan() } throws: { ($0 as? LogSyncError)?.code == .containerUnavailable }
    }

    @Test func `What changes is found, whichever way directory times go`() throws {
        let first = try publish(1, 1)
        let scanner = scanner()
        try settle(scanner)
        #expect(try scanner.scan().changed == [])
        let second = try publish(2, 2)
        #expect(try scanner.scan().changed == [alice])
        #expect(try scanner.scan().peers[alice]?.logs.map(\.name) == [first, second])
        try content.peer(alice).remove(first)
        #expect(try scanner.scan().peers[alice]?.logs.map(\.name) == [second])
        try publish(1, 1, by: bob)
        #expect(try scanner.scan().changed == [bob])
        try FileManager.default.removeItem(atPath: content.peer(bob).path)
        let scan = try scanner.scan()
        #expect(scan.changed == [bob])
        #expect(scan.peers[bob] == nil)
    }

    @Test func `One peer's folder can be looked at alone`() throws {
        let first = try publish(1, 1)
        try publish(1, 1, by: bob)
        let recording = FailingFileSystem()
        let scanner = scanner(ContentFolder(container: folder.path, name: try .notes, fileSystem: recording))
        try settle(scanner)
        let second = try publish(2, 2)
        try publish(2, 2, by: bob)
        recording.state.update { $0.calls = [] }
        #expect(try scanner.scan(only: alice)?.logs.map(\.name) == [first, second])
        // The marker twice, the peer's five folders and two documents, and what has changed.
        #expect(recording.calls.filter { $0 == "list" }.count == 1)
        #expect(try scanner.scan().peers[bob]?.logs.count == 2)
        try FileManager.default.removeItem(atPath: content.peer(alice).path)
        #expect(try scanner.scan(only: alice) == nil)
        #expect(try scanner.scan().peers[alice] == nil)
        try FileManager.default.removeItem(atPath: content.path)
        #expect { try scanner.scan(only: alice) } throws: { ($0 as? LogSyncError)?.code == .containerUnavailable }
    }

    @Test func `Where it is known who changed something, the others are not looked at`() throws {
        try publish(1, 1)
        try publish(1, 1, by: bob)
        let recording = FailingFileSystem()
        let scanner = scanner(ContentFolder(container: folder.path, name: try .notes, fileSystem: recording))
        #expect(try scanner.scan(in: [alice]) == nil, "nothing is known of the others")
        try settle(scanner)
        recording.state.update { $0.calls = [] }
        let quiet = try #require(try scanner.scan(in: []))
        #expect(quiet.peers.count == 2 && quiet.changed == [])
        let least = recording.calls.count
        try publish(2, 2)
        try publish(2, 2, by: bob)
        recording.state.update { $0.calls = [] }
        let scan = try #require(try scanner.scan(in: [alice]))
        #expect(scan.changed == [alice])
        #expect(scan.peers[alice]?.logs.count == 2 && scan.peers[bob]?.logs.count == 1)
        // Its folder, four within it, two documents, and the one listing that changed.
        #expect(recording.calls.count - least <= 8)
        #expect(try scanner.scan().changed == [bob])
        try publish(1, 1, by: PeerID(high: 9, low: 9))
        #expect(try scanner.scan(in: [PeerID(high: 9, low: 9)])?.peers.count == 3)
        try FileManager.default.removeItem(atPath: content.peer(bob).path)
        #expect(try scanner.scan(in: [bob])?.peers[bob] == nil)
        let elsewhere = ContainerScanner(content: content, trustsDirectoryTimes: false, now: time.now)
        _ = try elsewhere.scan()
        #expect(try elsewhere.scan(in: [alice]) == nil, "others change it unseen")
    }

    @Test func `A change within one step of a coarse clock is found`() throws {
        let first = try publish(1, 1)
        let logs = content.peer(alice).path(of: LogFileName.self)
        let date = Date(timeIntervalSince1970: 1_700_000_000)
        func coarsen() throws { try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: logs) }
        try coarsen()
        let scanner = scanner()
        #expect(try scanner.scan().peers[alice]?.logs.map(\.name) == [first])
        let second = try publish(2, 2)
        try coarsen()
        time.advance(.milliseconds(1900))
        #expect(try scanner.scan().peers[alice]?.logs.map(\.name) == [first, second])
        let third = try publish(3, 3)
        try coarsen()
        time.advance(.milliseconds(200))
        #expect(try scanner.scan().peers[alice]?.logs.map(\.name) == [first, second, third])
    }

    @Test func `A full scan believes no directory's time`() throws {
        try publish(1, 1)
        let logs = content.peer(alice).path(of: LogFileName.self)
        let scanner = scanner()
        try settle(scanner)
        let before = try FileManager.default.attributesOfItem(atPath: logs)[.modificationDate]
        let second = try publish(2, 2)
        try FileManager.default.setAttributes([.modificationDate: try #require(before)], ofItemAtPath: logs)
        #expect(try scanner.scan(full: true).peers[alice]?.logs.last?.name == second)
    }

    @Test func `A quiet folder is not listed again`() throws {
        try publish(1, 1)
        _ = try content.peer(alice).publishReceipt(.init(), counter: 0, nonce: "", written: 0)
        let recording = FailingFileSystem()
        let scanner = scanner(ContentFolder(container: folder.path, name: try .notes, fileSystem: recording))
        try settle(scanner)
        recording.state.update { $0.calls = [] }
        #expect(try scanner.scan().changed == [])
        // The marker is read, before and after; nothing else is opened.
        #expect(recording.calls.filter { $0 == "list" } == [])
        #expect(recording.calls.filter { $0 == "open" }.count == 2)
    }

    @Test func `Junk is ignored and listed for the doctor`() throws {
        let name = try publish(1, 1)
        let peer = "notes/peers/\(alice)"
        let junk: [(String, StrangeEntry.Kind)] = [
            ("notes/README", .unknown),
            ("notes/.stfolder", .unknown),
            ("notes/logsync.sync-conflict-20260101-101010-ABCDEFG.json", .conflictCopy),
            ("notes/peers/\(alice.description.uppercased())/logs/\(name)", .unknown),
            ("notes/peers/\(bob)", .wrongType),
            ("notes/peers/not-a-peer", .unknown),
            ("\(peer)/.syncthing.receipt.json.tmp", .temporary),
            ("\(peer)/receipt (conflicted copy).json", .conflictCopy),
            ("\(peer)/logs/.syncthing.\(name).tmp", .temporary),
            ("\(peer)/logs/.logsync-\(alice)-0000000000000000.tmp", .temporary),
            ("\(peer)/logs/\(name).part", .temporary),
            ("\(peer)/logs/\(name)~", .temporary),
            ("\(peer)/logs/\(name.description.dropLast(5)).sync-conflict-20260101-101010-ABCDEFG.tlog", .conflictCopy),
            ("\(peer)/logs/\(name) (conflicted copy)", .conflictCopy),
            ("\(peer)/logs/thesis.sync-conflict-20260101-101010-ABCDEFG.docx", .unknown),
            ("notes/peers/\(bob).sync-conflict-20260101-101010-ABCDEFG", .conflictCopy),
            ("\(peer)/logs/\(name.description.uppercased())", .unknown),
            ("\(peer)/logs/FOO", .unknown),
            ("\(peer)/logs/a\nb", .unknown),
            ("\(peer)/snapshots/\(name)", .unknown),
        ]
        for (path, _) in junk { try folder.write("junk", to: path) }
        let scan = try scanner().scan()
        let expected = junk.map { path, kind in
            let relative = path.dropFirst("notes/".count)
            return StrangeEntry(
                path: relative.split(separator: "/").prefix(
                    relative.hasPrefix("peers/\(alice.description.uppercased())") ? 2 : .max
                ).joined(separator: "/"), kind: kind)
        }
        #expect(scan.strange == expected.sorted { $0.path < $1.path })
        #expect(scan.peers[alice]?.logs.map(\.name) == [name])
        #expect(Set(scan.peers.keys) == [alice])
    }

    @Test func `Good names on things that are not files or directories are not followed`() throws {
        let name = try publish(1, 1)
        let good = try #require(logName(2, 2, [1]))
        let peer = content.peer(alice)
        let manager = FileManager.default
        try folder.makeDirectory("notes/peers/\(alice)/logs/\(good)")
        try manager.createSymbolicLink(
            atPath: peer.path(try #require(logName(3, 3, [1]))), withDestinationPath: peer.path(name))
        #expect(mkfifo(peer.path(try #require(logName(4, 4, [1]))), 0o600) == 0)
        try manager.removeItem(atPath: peer.path(of: BlobName.self))
        try manager.createSymbolicLink(atPath: peer.path(of: BlobName.self), withDestinationPath: "/etc")
        try folder.makeDirectory("outside/logs")
        try manager.createSymbolicLink(
            atPath: content.peer(bob).path, withDestinationPath: "\(folder.path)/outside")
        #expect(mkfifo(peer.receiptPath, 0o600) == 0)
        let scan = try scanner().scan()
        #expect(scan.peers[alice]?.logs.map(\.name) == [name])
        #expect(scan.peers[alice]?.blobs == [])
        #expect(scan.peers[alice]?.receipt == .damaged)
        #expect(scan.peers[bob] == nil)
        #expect(scan.strange.count == 6)
        #expect(scan.strange.allSatisfy { $0.kind == .wrongType })
    }

    @Test func `A name that is not UTF-8 is listed, whatever it is`() throws {
        try publish(1, 1)
        let path = content.peer(alice).path(of: LogFileName.self) + "/x"
        let bytes = path.utf8.map { CChar(bitPattern: $0) } + [CChar(bitPattern: 0xFF), 0]
        let descriptor = open(bytes, O_CREAT | O_WRONLY, 0o600)
        try #require(descriptor >= 0)
        close(descriptor)
        #expect(try scanner().scan().strange.map(\.path) == ["peers/\(alice)/logs/x\u{FFFD}"])
    }

    @Test func `A directory that cannot be read keeps what was found there, and the others go on`() throws {
        try publish(1, 1)
        try publish(1, 2, by: bob)
        var failing = FailingFileSystem(plan: .fail(EACCES))
        failing.onlyOperations = ["list"]
        let counting = scanner(ContentFolder(container: folder.path, name: try .notes, fileSystem: failing))
        let before = try counting.scan()
        let lists = failing.calls.count
        #expect(lists > 8)
        for number in 1...lists {
            let broken = FailingFileSystem(
                plan: .fail(EACCES), failing: lists + number, onlyOperations: ["list"])
            let scanner = scanner(ContentFolder(container: folder.path, name: try .notes, fileSystem: broken))
            _ = try scanner.scan()
            let scan = try scanner.scan(full: true)
            #expect(scan.peers.mapValues(\.logs) == before.peers.mapValues(\.logs))
            #expect(scan.failures.map(\.code) == [.noPermission])
            #expect(try scanner.scan().failures == [])
        }
    }

    @Test func `Receipts that are damaged, foreign or newer are told apart`() throws {
        try publish(1, 1)
        let path = "notes/peers/\(alice)/receipt.json"
        let scanner = scanner()
        #expect(try scanner.scan().peers[alice]?.receipt == .missing)
        try folder.write("{", to: path)
        #expect(try scanner.scan().peers[alice]?.receipt == .damaged)
        try folder.write(Receipt(peer: bob, counter: 1, nonce: "", written: 0, content: .init()).encoded(), to: path)
        #expect(try scanner.scan().peers[alice]?.receipt == .damaged)
        let body = "{\"format\":2}"
        try folder.write("{\"checksum\":\"\(StreamingHash.of(Array(body.utf8)))\",\"format\":2}", to: path)
        #expect(try scanner.scan().peers[alice]?.receipt == .newerFormat)
        let good = Receipt(peer: alice, counter: 1, nonce: "", written: 0, content: .init())
        try folder.write(good.encoded(), to: path)
        #expect(try scanner.scan().peers[alice]?.receipt == .valid(good))
    }

    @Test func `Files that vanish while they are listed are not there`() async throws {
        for sequence in 1...200 { try folder.write("x", to: "notes/peers/\(alice)/logs/junk\(sequence)") }
        let path = content.peer(alice).path(of: LogFileName.self)
        let remover = Task.detached {
            for sequence in 1...200 { unlink("\(path)/junk\(sequence)") }
        }
        let scanner = scanner()
        for _ in 0..<20 { #expect(try scanner.scan(full: true).failures == []) }
        await remover.value
        #expect(try scanner.scan(full: true).strange == [])
    }

    @Test func `A hundred thousand files are scanned again in under a second`() throws {
        try content.peer(alice).create()
        let logs = content.peer(alice).path(of: LogFileName.self)
        for sequence in 1...UInt64(100_000) {
            let name = try #require(
                LogFileName(first: sequence, last: sequence, fileHash: FileHash(high: sequence, low: 0)))
            close(open("\(logs)/\(name)", O_CREAT | O_WRONLY, 0o600))
        }
        let scanner = scanner()
        let clock = ContinuousClock()
        let first = try clock.measure { () throws in #expect(try scanner.scan().peers[alice]?.logs.count == 100_000) }
        let full = try clock.measure { () throws in
            #expect(try scanner.scan(full: true).peers[alice]?.logs.count == 100_000)
        }
        try settle(scanner)
        let quiet = try clock.measure { () throws in #expect(try scanner.scan().changed == []) }
        close(open("\(logs)/junk", O_CREAT | O_WRONLY, 0o600))
        let changed = try clock.measure { () throws in #expect(try scanner.scan().changed == [alice]) }
        print("100,000 files: first scan \(first), full \(full), one file more \(changed), quiet \(quiet)")
        #expect(quiet < .seconds(1))
        #expect(full < .seconds(1) || _isDebugAssertConfiguration())
    }
}
