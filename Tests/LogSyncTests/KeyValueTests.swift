import Foundation
import GRDB
import LogSync
@testable import LogSyncKeyValue
import LogSyncModel
import Testing

@Suite("The key-value store") struct KeyValueTests {
    private let world: World

    init() throws { world = try World() }

    private func open(_ name: String, _ limits: KeyValueLimits = .default, runs: Bool = false) async throws
        -> KeyValueStore
    {
        let machine = try world.machine(name)
        return try await KeyValueStore.open(
            machine.path, container: world.container, content: "settings", peer: name, limits: limits, runs: runs,
            configuration: machine.configuration)
    }

    private func settle(_ stores: KeyValueStore...) async throws {
        for store in stores + stores { #expect(try await store.synchronize()) }
    }

    private struct Window: Codable, Equatable {
        var width: Int
        var title: String
    }

    @Test("Values of every type arrive as they were set, and keys are removed everywhere")
    func values() async throws {
        let (a, b) = (try await open("a"), try await open("b"))
        try await a.set(12, for: "pageNumber")
        try await a.set("Ann", for: "name")
        try await a.set(1.5, for: "zoom")
        try await a.set(Data([0, 1]), for: "blob")
        try await a.encode(Window(width: 3, title: "x"), for: "window")
        try await settle(a, b)
        #expect(try b.value(Int.self, for: "pageNumber") == 12 && b.value(for: "name") == "Ann")
        #expect(try b.value(for: "zoom") == 1.5 && b.value(for: "blob") == Data([0, 1]))
        #expect(try b.decode(Window.self, for: "window") == Window(width: 3, title: "x"))
        #expect(try b.value(String.self, for: "nothing") == nil)
        try await b.set(Int?.none, for: "zoom")
        #expect(try await b.remove("name"))
        #expect(try await !b.remove("name"))
        try await settle(b, a)
        #expect(try Set(a.dictionaryRepresentation.keys) == ["pageNumber", "blob", "window"])
        await a.close()
        await b.close()
    }

    @Test("Keys and values with a NUL in them are whole, and no other ones")
    func nul() async throws {
        let (a, b) = (try await open("a"), try await open("b"))
        try await a.set(1, for: "page")
        try await a.set(2, for: "page\0x")
        try await a.set("one\0two", for: "text")
        try await settle(a, b)
        for store in [a, b] {
            #expect(try store.value(for: "page") == 1 && store.value(for: "page\0x") == 2)
            #expect(try store.value(for: "text") == "one\0two" && store.dictionaryRepresentation.count == 3)
        }
        #expect(try await !a.remove("page\0y"))
        #expect(try await a.remove("page\0x"))
        try await settle(a, b)
        #expect(try Set(b.dictionaryRepresentation.keys) == ["page", "text"])
        await a.close()
        await b.close()
    }

    @Test("Keys of the same letters in other bytes are two")
    func letters() async throws {
        let (a, b) = (try await open("a"), try await open("b"))
        try await a.set("composed", for: "\u{E9}")
        try await a.set("decomposed", for: "e\u{301}")
        try await settle(a, b)
        #expect(try b.value(for: "\u{E9}") == "composed" && b.value(for: "e\u{301}") == "decomposed")
        #expect(try b.entries.map { $0.value } == ["decomposed".databaseValue, "composed".databaseValue])
        await a.close()
        await b.close()
    }

    @Test("The last writer's value shows on both, and the same call opens it again")
    func concurrent() async throws {
        let (a, b) = (try await open("a"), try await open("b"))
        try await a.set("a", for: "k")
        try await b.set("b", for: "k")
        try await settle(a, b)
        #expect(try a.value(String.self, for: "k") == b.value(for: "k"))
        await a.close()
        let again = try await open("a")
        #expect(try again.value(String.self, for: "k") == b.value(for: "k"))
        await again.close()
        await b.close()
    }

    @Test("Changes tell the keys that others set, at first as the initial ones")
    func changes() async throws {
        let a = try await open("a")
        try await a.set(1, for: "x")
        try await a.set(2, for: "y")
        #expect(try await a.synchronize())
        let b = try await open("b")
        var changes = b.changes.makeAsyncIterator()
        #expect(await changes.next() == KeyValueChange(reason: .initialSyncChange, keys: ["x", "y"]))
        try await a.set(3, for: "y")
        try await a.remove("x")
        try await b.set(1, for: "own")
        try await settle(a, b)
        #expect(await changes.next() == KeyValueChange(reason: .serverChange, keys: ["x", "y"]))
        await a.close()
        await b.close()
    }

    @Test("Keys that come after others have come to a store to which nobody listened are not the first")
    func heardLate() async throws {
        let a = try await open("a")
        try await a.set(1, for: "first")
        _ = try await a.synchronize()
        await (try await open("b")).close()
        let b = try await open("b")
        var changes = b.changes.makeAsyncIterator()
        try await a.set(2, for: "second")
        try await settle(a, b)
        #expect(await changes.next() == KeyValueChange(reason: .serverChange, keys: ["second"]))
        await a.close()
        await b.close()
    }

    @Test("Each loop is told the same, from when the store was opened")
    func twoLoops() async throws {
        let a = try await open("a")
        try await a.set(1, for: "x")
        #expect(try await a.synchronize())
        let b = try await open("b")
        for _ in 0..<2 {
            var changes = b.changes.makeAsyncIterator()
            #expect(await changes.next() == KeyValueChange(reason: .initialSyncChange, keys: ["x"]))
        }
        try await a.set(2, for: "x")
        try await settle(a, b)
        await b.close()
        let again = try await open("b")
        var changes = again.changes.makeAsyncIterator()
        try await a.set(3, for: "x")
        try await settle(a, again)
        #expect(await changes.next() == KeyValueChange(reason: .serverChange, keys: ["x"]))
        await a.close()
        await again.close()
    }

    @Test("A store that becomes another peer says so")
    func account() async throws {
        let a = try await open("a")
        try await a.set(1, for: "x")
        #expect(try await a.synchronize())
        var changes = a.changes.makeAsyncIterator()
        try await a.set(2, for: "x")
        let b = try await open("b")
        try await b.set(1, for: "y")
        try await settle(b, a)
        #expect(await changes.next()?.reason == .initialSyncChange)
        await a.close()
        await b.close()
        // A copy of it, elsewhere.
        try world.machine("a").checkpoint()
        let machine = try world.machine("c")
        try FileManager.default.copyItem(atPath: a.path, toPath: machine.path)
        let copy = try await KeyValueStore.open(machine.path, configuration: machine.configuration)
        #expect(try await copy.synchronize())
        var told = copy.changes.makeAsyncIterator()
        #expect(await told.next() == KeyValueChange(reason: .accountChange, keys: ["x", "y"]))
        var others = copy.changes.makeAsyncIterator()
        #expect(await others.next() == KeyValueChange(reason: .accountChange, keys: ["x", "y"]))
        await copy.close()
    }

    @Test("A number that is none is refused, and what the key had stays")
    func notANumber() async throws {
        let store = try await open("a")
        try await store.set(1.5, for: "size")
        let error = await #expect(throws: LogSyncError.self) { try await store.set(Double.nan, for: "size") }
        #expect(error?.code == .usage && error?.message.contains("size") == true)
        #expect(try store.value(Double.self, for: "size") == 1.5)
        try await store.set(Double.infinity, for: "size")
        #expect(try store.value(Double.self, for: "size") == .infinity)
    }

    @Test("What exceeds the limits is refused, and what does not grow is taken")
    func quota() async throws {
        let a = try await open("a", KeyValueLimits(keys: 2, keyBytes: 4, bytes: 20))
        try await a.set("1", for: "a")
        try await a.set("1", for: "b")
        for (value, key) in [("1", "c"), ("1", "longer"), (String(repeating: "x", count: 30), "a")] {
            let error = await #expect(throws: LogSyncError.self) { try await a.set(value, for: key) }
            #expect(error?.code == .quota && error?.message.contains(key) == true)
        }
        #expect(try a.dictionaryRepresentation == ["a": "1".databaseValue, "b": "1".databaseValue])
        try await a.set("2", for: "a")
        try await a.remove("b")
        try await a.set("1", for: "c")
        #expect(try a.usage.keys == 2 && a.usage.bytes == 4 && a.usage.excess.isEmpty)
        await a.close()
    }

    @Test("What two machines set within the limits stays where it exceeds them together, and is told")
    func exceeded() async throws {
        let limits = KeyValueLimits(keys: 2)
        let (a, b) = (try await open("a", limits), try await open("b", limits))
        var changes = a.changes.makeAsyncIterator()
        for (store, keys) in [(a, ["a1", "a2"]), (b, ["b1", "b2"])] {
            for key in keys { try await store.set(1, for: key) }
        }
        try await settle(a, b, a)
        #expect(try a.usage.excess == ["b1", "b2"] && b.usage.excess == ["b1", "b2"] && a.usage.keys == 4)
        #expect(await changes.next()?.reason == .initialSyncChange)
        #expect(await changes.next() == KeyValueChange(reason: .quotaViolationChange, keys: ["b1", "b2"]))
        // A key that is there can be changed, and another one cannot come.
        try await a.set(2, for: "a1")
        await #expect(throws: LogSyncError.self) { try await a.set(1, for: "a3") }
        await a.close()
        await b.close()
    }

    @Test("Another program's database is refused, and left as it was")
    func otherDatabase() async throws {
        let machine = try world.machine("a")
        try machine.makeDatabase()
        let error = await #expect(throws: LogSyncError.self) { try await open("a") }
        #expect(error?.code == .invalidStore)
        #expect(try machine.count("SELECT count(*) FROM sqlite_master WHERE type = 'table'") == 1)
    }

    @Test("Without its folder it takes values, and publishes them when the folder is there")
    func away() async throws {
        let machine = try world.machine("a")
        let store = try await KeyValueStore.open(
            machine.path, container: world.root + "/away", content: "settings", runs: false,
            configuration: machine.configuration)
        try await store.set(1, for: "x")
        #expect(try await !store.synchronize())
        try FileManager.default.createDirectory(atPath: world.root + "/away", withIntermediateDirectories: true)
        #expect(try await store.synchronize())
        #expect(try store.value(for: "x") == 1)
        #expect(try await store.replicator.status().outbox == 0)
        await store.close()
    }

    @Test("Processes that open it at once at the first start have one store, and all that they set", arguments: 1...6)
    func firstStarts(round: Int) async throws {
        let keys = try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...3 {
                group.addTask {
                    let store = try await self.open("a")
                    try await store.set(number, for: "key\(number)")
                    await store.close()
                }
            }
            try await group.waitForAll()
            let store = try await self.open("a")
            #expect(try await store.replicator.status().peers.isEmpty)
            let keys = try store.entries.map(\.key)
            await store.close()
            return keys
        }
        #expect(keys == ["key1", "key2", "key3"])
    }

    @Test(
        "A database that was made for nothing goes, but not while another process has it open, or once it has been used"
    )
    func madeForNothing() async throws {
        let machine = try world.machine("a")
        func exists() -> Bool { FileManager.default.fileExists(atPath: machine.path) }
        await #expect(throws: LogSyncError.self) {
            _ = try await KeyValueStore.open(
                machine.path, container: world.container, content: "No such name", runs: false,
                configuration: machine.configuration)
        }
        #expect(!exists())
        let (made, other) = (
            try KeyValueDatabase(machine.path, machine.configuration),
            try KeyValueDatabase(machine.path, machine.configuration)
        )
        try await made.makeTables()
        #expect(try other.read { try $0.tableExists("entry") })
        try made.remove()
        #expect(exists())
        try other.remove()
        #expect(!exists())
        let used = try KeyValueDatabase(machine.path, machine.configuration)
        try await used.makeTables()
        try await used.write { try $0.execute(sql: "INSERT INTO entry VALUES('x', 1)") }
        try used.remove()
        #expect(exists())
    }

    @Test("What is asked of a store that is closed says so; a value that is no JSON is a DecodingError")
    func closed() async throws {
        let store = try await open("a")
        try await store.set(12, for: "number")
        try await store.set(Data([1]), for: "blob")
        #expect(throws: DecodingError.self) { try store.decode(Window.self, for: "number") }
        #expect(throws: DecodingError.self) { try store.decode(Window.self, for: "blob") }
        #expect(try store.decode(Window.self, for: "none") == nil)
        await store.close()
        let error = await #expect(throws: LogSyncError.self) { try await store.set(1, for: "x") }
        #expect(error?.code == .usage && error?.message.contains("closed") == true)
        #expect(throws: LogSyncError.self) { try store.value(Int.self, for: "number") }
    }

    @Test("Beside another program's transaction, values are read at once, and set when it has ended or not at all")
    func otherWriter() async throws {
        let machine = try world.machine("a")
        let made = try await open("a")
        try await made.set("before", for: "x")
        await made.close()
        var configuration = machine.configuration
        configuration.wait = .milliseconds(200)
        // As any program that is the last to close the database does.
        #expect(try machine.count("SELECT count(*) FROM entry") == 1)
        let other = try machine.database()
        let (begins, begin) = AsyncStream.makeStream(of: Void.self)
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        async let ended: Void = other.writeWithoutTransaction { db in
            try db.inTransaction(.immediate) {
                begin.finish()
                let isOver = DispatchSemaphore(value: 0)
                Task {
                    for await _ in ends {}
                    isOver.signal()
                }
                isOver.wait()
                return .rollback
            }
        }
        for await _ in begins {}
        let store = try await KeyValueStore.open(machine.path, configuration: configuration)
        #expect(try store.value(for: "x") == "before")
        let error = await #expect(throws: LogSyncError.self) { try await store.set("after", for: "x") }
        #expect(error?.code == .locked && error?.message.contains(machine.path) == true)
        await #expect(throws: LogSyncError.self) { try await store.remove("x") }
        #expect(try store.value(for: "x") == "before")
        configuration.wait = .seconds(60)
        let patient = try await KeyValueStore.open(machine.path, configuration: configuration)
        async let isSet: Void = patient.set("after", for: "x")
        end.finish()
        try await ended
        try await isSet
        #expect(try store.value(for: "x") == "after")
        await patient.close()
        await store.close()
    }
}
