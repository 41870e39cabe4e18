import Foundation
import LogSyncModel
import Testing

@testable import LogSync

@Suite("What a daemon was working on when it ended")
struct WorkNotesTests {
    private let world: World
    private let directory: String
    private let stores: [String]

    init() throws {
        world = try World()
        directory = world.root + "/state"
        stores = ["a", "b", "c"].map { [root = world.root] in "\(root)/\($0).db" }
    }

    private func notes(_ seconds: Int64 = 0, process: String? = nil) -> WorkNotes {
        let clock = FixedClock(1_700_000_000_000 + seconds * 1000)
        guard let process else { return WorkNotes(stateDirectory: directory, clock: clock) }
        return WorkNotes(stateDirectory: directory, clock: clock, process: process)
    }

    private func boot() throws -> String {
        try String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// A process of this machine that is no more: no process began at the first tick and has this one's id.
    private func dead() throws -> String { "\(getpid()) 1 \(try boot())" }

    private func pause(_ notes: WorkNotes, _ store: String, at seconds: Int64) -> Int64? {
        notes.takeUp(stores)[store].map { $0.until.milliseconds / 1000 - 1_700_000_000 - seconds }
    }

    @Test("is left alone by the next, for ever longer, and what it was not working on goes on")
    func pauses() throws {
        var now: Int64 = 0
        notes(now, process: try dead()).note(stores[1], isAtWork: true)
        #expect(notes(now).takeUp(stores).isEmpty, "it may have been killed by anybody")
        for expected: Int64 in [10, 40, 160, 640, 2560, 10_240, 21_600, 21_600] {
            notes(now, process: try dead()).note(stores[1], isAtWork: true)
            let next = notes(now)
            #expect(pause(next, stores[1], at: now) == expected)
            #expect(Set(next.takeUp(stores).keys) == [stores[1]])
            now += expected
            #expect(notes(now).takeUp(stores).isEmpty, "its time has come")
        }
        notes(now).clear(stores[1])
        for expected: Int64? in [nil, 10] {
            notes(now, process: try dead()).note(stores[1], isAtWork: true)
            #expect(pause(notes(now), stores[1], at: now) == expected)
        }
    }

    @Test("comes back one after the other, where it was several, those first that it seldom ended on")
    func several() throws {
        notes(process: try dead()).note(stores[0], isAtWork: true)
        _ = notes().takeUp(stores)
        for store in stores { notes(20, process: try dead()).note(store, isAtWork: true) }
        let second = notes(20)
        #expect(stores.map { pause(second, $0, at: 20) } == [10, nil, nil])
        for store in stores { notes(40, process: try dead()).note(store, isAtWork: true) }
        let next = notes(40)
        #expect(stores.map { pause(next, $0, at: 40) } == [44, 10, 12])
    }

    @Test("comes back within half a minute where it was a hundred stores, as of a daemon that is killed twice in a row")
    func many() throws {
        let stores = (0..<100).map { "\(world.root)/\($0).db" }
        for seconds: Int64 in [0, 5] {
            for store in stores { notes(seconds, process: try dead()).note(store, isAtWork: true) }
            _ = notes(seconds).takeUp(stores)
        }
        let times = Set(notes(5).takeUp(stores).values.map { $0.until.milliseconds - 1_700_000_005_000 })
        #expect(times.count == 100 && times.min() == 10_000 && times.max().map { $0 < 40_000 } == true)
    }

    @Test("is nothing where it had done, where it still runs, or where the machine was started anew")
    func nothing() throws {
        let gone = notes(process: try dead())
        gone.note(stores[0], isAtWork: true)
        gone.note(stores[0], isAtWork: false)
        notes().note(stores[1], isAtWork: true)
        notes(process: "\(getpid()) 1 another-boot").note(stores[2], isAtWork: true)
        #expect(notes().takeUp(stores).isEmpty)
        // The one that runs has ended by now, as far as the next can tell.
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory + "/work").count == 1)
        // What is no note, or no account, says nothing.
        let names = try FileManager.default.contentsOfDirectory(atPath: directory + "/work")
        for name in names {
            try "x y".write(toFile: "\(directory)/work/\(name)", atomically: true, encoding: .utf8)
            try "{}".write(
                toFile: "\(directory)/work/\(name.replacing(".at", with: ".json"))", atomically: true, encoding: .utf8)
        }
        #expect(notes().takeUp(stores).isEmpty)
    }

    @Test("is said by status and doctor")
    func said() async throws {
        let a = try await world.founder("a", rows: ["one"])
        let clock = SystemClock()
        let dead = try dead()
        let notes = WorkNotes(stateDirectory: a.configuration.stateDirectory)
        // For longer than the test takes on any machine.
        for ends in 1...6 {
            WorkNotes(stateDirectory: a.configuration.stateDirectory, clock: clock, process: dead).note(
                a.path, isAtWork: true)
            #expect(notes.takeUp([a.path]).count == min(ends - 1, 1))
        }
        #expect(try await a.status().setBack?.ends == 6)
        let report = try await Replicator.doctor(a.path, configuration: a.configuration)
        #expect(report.findings.contains { $0.code == "set-back" })
        notes.clear(a.path)
        #expect(try await a.status().setBack == nil)
    }

    @Test("is noted for as long as a running replicator works, and not when it waits")
    func running() async throws {
        var a = try await world.founder("a", rows: ["one"])
        let notes = WorkNotes(stateDirectory: a.configuration.stateDirectory)
        let path = a.path
        a.configuration.didChangeWork = { notes.note(path, isAtWork: $0) }
        let work = a.configuration.stateDirectory + "/work"
        func isAtWork() -> Bool {
            (try? FileManager.default.contentsOfDirectory(atPath: work))?.contains { $0.hasSuffix(".at") } ?? false
        }
        let replicator = try a.replicator()
        await replicator.start()
        try await eventually("it was at work, and waits") {
            FileManager.default.fileExists(atPath: work) && !isAtWork()
        }
        // Another process is at the store, so that it cannot finish a round.
        let locks = try FileManager.default.contentsOfDirectory(atPath: a.configuration.stateDirectory + "/locks")
        let step = try #require(locks.first { $0.hasSuffix(".step") })
        let descriptor = open("\(a.configuration.stateDirectory)/locks/\(step)", O_RDWR | O_CLOEXEC)
        #expect(descriptor >= 0 && flock(descriptor, LOCK_EX) == 0)
        try a.insert("two")
        try await eventually("it is at work") { isAtWork() }
        close(descriptor)
        try await eventually("it has done") { !isAtWork() }
        await replicator.stop()
        await replicator.close()
        #expect(!isAtWork())
    }
}
