import Foundation
import LogSyncModel
import Testing

@testable import InotifyEvents
@testable import LogSyncContainer

/// Waits for a hint that fits, and fails the test when ten seconds pass without one.
func hint(
    in stream: AsyncStream<FolderHint>, where fits: @escaping @Sendable (FolderHint) -> Bool
) async -> FolderHint? {
    await withTaskGroup(of: FolderHint?.self) { group in
        group.addTask {
            for await hint in stream where fits(hint) { return hint }
            return nil
        }
        group.addTask {
            try? await Task.sleep(for: .seconds(10))
            return nil
        }
        let first = await group.next() ?? nil
        group.cancelAll()
        return first
    }
}

/// All kinds of events, which promise the same.
enum EventSource: String, CaseIterable, Sendable {
    case inotify, kernel, polling

    var events: any FolderEvents {
        switch self {
        case .inotify: InotifyFolderEvents.shared
        case .kernel: KernelFolderEvents.shared
        case .polling: PollingFolderEvents(interval: .milliseconds(5))
        }
    }
}

/// One after the other, because all share the one thread that is told by the kernel.
@Suite(.serialized, .timeLimit(.minutes(1))) struct EventsTests {}

extension EventsTests {
    @Suite struct FolderEventsTests {
        let folder: TemporaryFolder

        init() throws { folder = try TemporaryFolder() }

        @Test(arguments: EventSource.allCases)
        func `A new file gives a hint with its directory and name`(source: EventSource) async throws {
            try folder.makeDirectory("a/b")
            let stream = try source.events.watch(directory: folder.path, recursive: true)
            try folder.write("x", to: "a/b/file")
            let expected = FolderHint.changed(directory: folder.path + "/a/b", name: "file")
            #expect(await hint(in: stream) { $0 == expected } == expected)
        }

        @Test(arguments: EventSource.allCases)
        func `A rename into place and a removal give hints`(source: EventSource) async throws {
            try folder.makeDirectory("logs")
            try folder.write("x", to: "staged")
            let stream = try source.events.watch(directory: folder.path + "/logs", recursive: true)
            try FileManager.default.moveItem(atPath: folder.path + "/staged", toPath: folder.path + "/logs/done")
            let expected = FolderHint.changed(directory: folder.path + "/logs", name: "done")
            #expect(await hint(in: stream) { $0 == expected } == expected)
            let again = try source.events.watch(directory: folder.path + "/logs", recursive: true)
            try FileManager.default.removeItem(atPath: folder.path + "/logs/done")
            #expect(await hint(in: again) { $0 == expected } == expected)
        }

        @Test(arguments: EventSource.allCases)
        func `Only what is below a directory that is watched with what is below it gives hints`(source: EventSource)
            async throws
        {
            try folder.makeDirectory("a")
            let stream = try source.events.watch(directory: folder.path, recursive: false)
            try folder.write("x", to: "a/deep")
            try folder.write("x", to: "last")
            let first = await hint(in: stream) {
                if case .changed(_, let name) = $0 { name != "a" } else { true }
            }
            #expect(first == .changed(directory: folder.path, name: "last"))
        }

        @Test(arguments: EventSource.allCases)
        func `Every write to a file asked for by name gives a hint, and no other file does`(source: EventSource)
            async throws
        {
            try folder.write("x", to: "app.db")
            try folder.write("x", to: "app.db-wal")
            let stream = try source.events.watch(directory: folder.path, recursive: false, only: ["app.db-wal"])
            let wal = try #require(FileHandle(forWritingAtPath: folder.path + "/app.db-wal"))
            let database = try #require(FileHandle(forWritingAtPath: folder.path + "/app.db"))
            try database.write(contentsOf: Data("page".utf8))
            try wal.write(contentsOf: Data("frame".utf8))
            let expected = FolderHint.changed(directory: folder.path, name: "app.db-wal")
            // Neither file is closed yet.
            #expect(await hint(in: stream) { _ in true } == expected)
            try wal.close()
            try database.close()
        }

        @Test(arguments: EventSource.allCases)
        func `A directory that is a symbolic link is watched, and hints speak of the link`(source: EventSource)
            async throws
        {
            try folder.makeDirectory("real/logs")
            try FileManager.default.createSymbolicLink(
                atPath: folder.path + "/link", withDestinationPath: folder.path + "/real")
            let stream = try source.events.watch(directory: folder.path + "/link", recursive: true)
            try folder.write("x", to: "real/logs/file")
            let expected = FolderHint.changed(directory: folder.path + "/link/logs", name: "file")
            #expect(await hint(in: stream) { $0 == expected } == expected)
        }

        @Test(arguments: EventSource.allCases)
        func `When the directory goes away the stream says overflow and ends, and it can be watched again`(
            source: EventSource
        ) async throws {
            try folder.makeDirectory("gone")
            let path = folder.path + "/gone"
            for _ in 0..<3 {
                let stream = try source.events.watch(directory: path, recursive: true)
                try folder.write("x", to: "gone/file")
                let expected = FolderHint.changed(directory: path, name: "file")
                #expect(await hint(in: stream) { $0 == expected } == expected)
                try FileManager.default.removeItem(atPath: path)
                var last: FolderHint?
                for await hint in stream { last = hint }
                #expect(last == .overflow)
                try folder.makeDirectory("gone")
            }
        }

        @Test(arguments: EventSource.allCases)
        func `When a directory above is moved away the watch ends, and what is made at the path can be watched`(
            source: EventSource
        ) async throws {
            let path = folder.path + "/above/content"
            for round in 0..<3 {
                try folder.makeDirectory("above/content/peers")
                let stream = try source.events.watch(directory: path, recursive: true)
                try folder.write("x", to: "above/content/peers/file")
                let expected = FolderHint.changed(directory: path + "/peers", name: "file")
                #expect(await hint(in: stream) { $0 == expected } == expected)
                try FileManager.default.moveItem(
                    atPath: folder.path + "/above", toPath: folder.path + "/away\(round)")
                // The suite's limit is that of this loop.
                var last: FolderHint?
                for await hint in stream { last = hint }
                #expect(last == .overflow)
            }
        }

        @Test(arguments: [EventSource.inotify, .kernel])
        func `What happens in a directory above the watched one gives no hint`(source: EventSource) async throws {
            try folder.makeDirectory("above/content")
            let path = folder.path + "/above/content"
            let upper = try source.events.watch(directory: folder.path + "/above", recursive: false)
            let stream = try source.events.watch(directory: path, recursive: true)
            try folder.write("x", to: "above/other")
            let beside = FolderHint.changed(directory: folder.path + "/above", name: "other")
            #expect(await hint(in: upper) { $0 == beside } == beside)
            try folder.write("x", to: "above/content/file")
            #expect(await hint(in: stream) { _ in true } == .changed(directory: path, name: "file"))
        }

        @Test func `A link on the way that leads elsewhere ends the watch`() async throws {
            try folder.makeDirectory("one/content")
            try folder.makeDirectory("two/content")
            let link = folder.path + "/link"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.path + "/one")
            let events = KernelFolderEvents(placeInterval: .milliseconds(20))
            let stream = try events.watch(directory: link + "/content", recursive: true)
            try FileManager.default.removeItem(atPath: link)
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.path + "/two")
            var last: FolderHint?
            for await hint in stream { last = hint }
            #expect(last == .overflow)
        }

        @Test(arguments: EventSource.allCases)
        func `A directory that is not there cannot be watched`(source: EventSource) throws {
            #expect { try source.events.watch(directory: folder.path + "/none", recursive: true) } throws: {
                ($0 as? LogSyncError)?.code == .containerUnavailable
            }
        }

        @Test func `Hints beyond what a stream holds become an overflow that comes last`() async {
            let (stream, sink) = HintSink.makeStream()
            for number in 0..<5000 { sink.send(.changed(directory: "d", name: "\(number)")) }
            sink.finish()
            var hints: [FolderHint] = []
            for await hint in stream { hints.append(hint) }
            #expect(hints.count == HintSink.capacity)
            #expect(hints.last == .overflow)
        }

        @Test func `File systems that other machines change are told from local ones`() throws {
            #expect(reportsRemoteChanges(folder.path))
            #expect(!reportsRemoteChanges(folder.path + "/none"))
            #expect(!FileSystemKind.nfs.reportsRemoteChanges)
            #expect(!FileSystemKind.fuse.reportsRemoteChanges)
            // statfs gives CIFS's number as a negative one where the word is 32 bits wide.
            #expect(FileSystemKind(magic: 0xFF53_4D42).remoteName == "CIFS")
            for local in [0xEF53, 0x0102_1994, 0x9123_683E, 0x5846_5342, 0x794C_7630] as [UInt64] {
                #expect(FileSystemKind(magic: local).reportsRemoteChanges)
            }
        }
    }
}
