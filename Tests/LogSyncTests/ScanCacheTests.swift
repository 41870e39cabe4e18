import Foundation
import LogSyncContainer
import LogSyncModel
import LogSync
import Synchronization
import Testing

/// The machine's own file system; notes what is listed and opened.
private final class CountingFileSystem: ForwardingFileSystem {
    let base = PosixFileSystem()
    fileprivate let noted = Mutex<[String]>([])

    /// The paths that were listed or opened since this was last asked.
    func taken() -> [String] {
        noted.withLock { noted in
            defer { noted = [] }
            return noted
        }
    }

    func list(_ directory: String, statuses: Bool) throws(FileSystemError) -> [DirectoryEntry] {
        noted.withLock { $0.append(directory) }
        return try base.list(directory, statuses: statuses)
    }
    func open(_ path: String) throws(FileSystemError) -> any ReadableFile {
        noted.withLock { $0.append(path) }
        return try base.open(path)
    }
}

@Suite("A command that runs again reads nothing of peers of whom nothing is new")
struct ScanCacheTests {
    private let world: World
    private var a: Machine
    private let others: [Machine]
    private let fileSystem = CountingFileSystem()

    init() async throws {
        world = try World(blobThreshold: 1000)
        a = try await world.founder("a", rows: ["one"])
        a.configuration.fileSystem = fileSystem
        // Everything has stood still for long.
        a.configuration.fileClock = { PassingTime.nanosecondsSince1970() + 10_000_000_000 }
        var others: [Machine] = []
        for name in ["b", "c", "d"] {
            let machine = try await world.clone(name)
            try machine.insert("of \(name)")
            others.append(machine)
        }
        self.others = others
        for _ in 0..<3 {
            for machine in others { try await machine.sync() }
            try await a.sync()
        }
        _ = fileSystem.taken()
    }

    /// Syncs as a command of its own does. Returns whose folders something was listed or opened in.
    private func syncOnce(_ machine: Machine? = nil) async throws -> (result: SyncResult, looked: Set<String>) {
        let result = try await (machine ?? a).sync()
        var looked: Set<String> = []
        for machine in others {
            let folder = "\(world.contentPath)/peers/\(try await machine.peer())"
            if fileSystem.lookedInto(folder) { looked.insert(machine.name) }
        }
        _ = fileSystem.taken()
        return (result, looked)
    }

    @Test("Nor does it where one of them has something new; that one is read")
    func oneActive() async throws {
        #expect(try await syncOnce().looked.isEmpty)
        try others[1].insert("news")
        try await others[1].sync()
        let (result, looked) = try await syncOnce()
        #expect(result.imported == 1 && looked == ["c"])
        #expect(try await syncOnce().looked.isEmpty)
        try others[0].execute("DELETE FROM note WHERE id = 'one'")
        try await others[0].sync()
        #expect(try await syncOnce().looked == ["b"])
        #expect(try a.ids() == ["news", "of b", "of c", "of d"])
    }

    @Test("What it says of the others is what it would say after reading everything")
    func sameReceipt() async throws {
        try a.insert("own")
        #expect(try await syncOnce().looked.isEmpty)
        let peer = try await a.peer()
        let path = "\(world.contentPath)/peers/\(peer)/receipt.json"
        let remembered = try Data(contentsOf: URL(fileURLWithPath: path))
        try a.execute("DELETE FROM logsync_look")
        #expect(try await syncOnce().looked == ["b", "c", "d"])
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == remembered, "there was nothing to correct")
    }

    @Test("Collection reads everybody's receipts nevertheless")
    func collection() async throws {
        _ = try await a.compact()
        for machine in others { try await machine.sync() }
        try await a.sync()
        let report = try await a.compact()
        #expect(report.blockedBy.isEmpty)
        #expect(try world.logs(try await a.peer()).isEmpty)
    }

    @Test(
        "A file that was still being written is read again, though its folder's time stands still",
        arguments: [false, true])
    func growing(isBlob: Bool) async throws {
        try others[0].insert("late", isBlob ? String(repeating: "long ", count: 1000) : "")
        try await others[0].sync()
        let folder = "\(world.contentPath)/peers/\(try await others[0].peer())/\(isBlob ? "blobs" : "logs")"
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: folder).sorted().last)
        let url = URL(fileURLWithPath: "\(folder)/\(name)")
        let bytes = try Data(contentsOf: url)
        let file = try FileHandle(forUpdating: url)
        try file.truncate(atOffset: UInt64(bytes.count / 2))
        for _ in 0..<2 {
            let result = try await syncOnce().result
            #expect(result.imported == 0 && result.held.map(\.reason) == [isBlob ? .missingBlob : .incomplete])
        }
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: bytes)
        try file.close()
        #expect(try await syncOnce().result.imported == 1)
        #expect(try a.ids().contains("late"))
    }

    @Test("It is gone by for a time only")
    func expiry() async throws {
        var later = a
        later.configuration.fileClock = { PassingTime.nanosecondsSince1970() + 3 * 3_600_000_000_000 }
        #expect(try await syncOnce(later).looked == ["b", "c", "d"])
        #expect(try await syncOnce(later).looked.isEmpty)
        // Nor from times to come.
        #expect(try await syncOnce().looked == ["b", "c", "d"])
    }

    @Test("A store that is another peer by now goes by nothing of what it found before")
    func successor() async throws {
        let copy = try world.machine("copy")
        try a.checkpoint()
        try FileManager.default.copyItem(atPath: a.path, toPath: copy.path)
        var configured = copy
        configured.configuration.fileSystem = fileSystem
        configured.configuration.fileClock = a.configuration.fileClock
        // Who it is shows when it has looked.
        #expect(try await syncOnce(configured).result.held.isEmpty)
        #expect(try await configured.peer() != a.peer())
        #expect(try await syncOnce(configured).looked == ["b", "c", "d"])
        #expect(try await syncOnce(configured).looked.isEmpty)
    }
}

extension CountingFileSystem {
    fileprivate func lookedInto(_ folder: String) -> Bool {
        peek().contains { $0 == folder || $0.hasPrefix(folder + "/") }
    }

    private func peek() -> [String] { noted.withLock { $0 } }
}
