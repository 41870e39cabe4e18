import Foundation
import LogSyncModel
import Testing

@testable import InotifyEvents
@testable import LogSyncContainer

extension EventsTests {
    @Suite struct InotifyEventsTests {
        let folder: TemporaryFolder
        let events = InotifyFolderEvents.shared

        init() throws { folder = try TemporaryFolder() }

        /// Follows hints as an importer does, looking for itself at what each names, until `count` files are known.
        private func follow(_ stream: AsyncStream<FolderHint>, until count: Int) async -> Set<String> {
            let root = folder.path
            let follower = Task.detached {
                var found: Set<String> = []
                func list(_ directory: String, below: Bool) {
                    for entry in (try? PosixFileSystem().list(directory, statuses: true)) ?? [] {
                        let path = "\(directory)/\(entry.name)"
                        if entry.status?.isFile ?? false { found.insert(path) }
                        if below, entry.status?.isDirectory ?? false { list(path, below: true) }
                    }
                }
                for await hint in stream {
                    switch hint {
                    case .overflow: list(root, below: true)
                    case .changed(let directory, nil): list(directory, below: false)
                    case .changed(let directory, .some(let name)):
                        let status = try? PosixFileSystem().status("\(directory)/\(name)", followingLinks: false)
                        if status?.isFile ?? false { found.insert("\(directory)/\(name)") }
                    }
                    if found.count >= count { break }
                }
                return found
            }
            let watchdog = Task {
                try await Task.sleep(for: .seconds(60))
                follower.cancel()
            }
            defer { watchdog.cancel() }
            return await follower.value
        }

        @Test func `Of six thousand files in fresh nested directories none is lost`() async throws {
            let stream = try events.watch(directory: folder.path, recursive: true)
            let root = folder.path
            let writer = Task.detached {
                var made: Set<String> = []
                for peer in 0..<60 {
                    for kind in 0..<2 {
                        let directory = "\(root)/peer\(peer)/logs\(kind)/deep"
                        try FileManager.default.createDirectory(
                            atPath: directory, withIntermediateDirectories: true)
                        for number in 0..<50 {
                            let path = "\(directory)/\(number)"
                            close(open(path, O_CREAT | O_WRONLY, 0o600))
                            made.insert(path)
                        }
                    }
                }
                return made
            }
            let found = await follow(stream, until: 6000)
            let made = try await writer.value
            #expect(made.count == 6000)
            #expect(found == made)
        }

        @Test func `A directory that is renamed gives hints under its new path`() async throws {
            try folder.makeDirectory("old/deep")
            let stream = try events.watch(directory: folder.path, recursive: true)
            try FileManager.default.moveItem(atPath: folder.path + "/old", toPath: folder.path + "/new")
            try folder.write("x", to: "new/deep/file")
            let deep = folder.path + "/new/deep"
            // Either the file's own hint, or that the directory was listed when it was watched anew.
            let found = await hint(in: stream) {
                $0 == .changed(directory: deep, name: "file") || $0 == .changed(directory: deep, name: nil)
            }
            #expect(found != nil)
        }

        @Test func `A directory removed and made again is watched again`() async throws {
            let path = folder.path
            let stream = try events.watch(directory: path, recursive: true)
            var iterator = stream.makeAsyncIterator()
            for round in 0..<5 {
                try folder.makeDirectory("again")
                // Once a hint names the new directory's inside, it is watched.
                while let hint = await iterator.next(), hint != .changed(directory: path + "/again", name: nil) {}
                try folder.write("x", to: "again/file\(round)")
                while let hint = await iterator.next(),
                    hint != .changed(directory: path + "/again", name: "file\(round)")
                {}
                try FileManager.default.removeItem(atPath: path + "/again")
            }
        }

        @Test func `Two watches of one directory each get their own`() async throws {
            let path = folder.path
            let all = try events.watch(directory: path, recursive: true)
            let some = try events.watch(directory: path, recursive: false, only: ["b"])
            try folder.write("x", to: "a")
            try folder.write("x", to: "b")
            #expect(await hint(in: some) { _ in true } == .changed(directory: path, name: "b"))
            #expect(await hint(in: all) { _ in true } == .changed(directory: path, name: "a"))
        }

        @Test func `Letting go of a stream ends its watch, and the others go on`() async throws {
            let path = folder.path
            let kept = try events.watch(directory: path, recursive: true)
            let task = Task { [events] in
                for await _ in try events.watch(directory: path, recursive: true) {}
            }
            task.cancel()
            _ = try await task.value
            try folder.write("x", to: "file")
            #expect(await hint(in: kept) { _ in true } == .changed(directory: path, name: "file"))
            await onThread { _ in }
        }

        @Test func `Watches that ended leave nothing watched`() async throws {
            let before = await onThread { $0.directoryCount }
            for _ in 0..<20 {
                try folder.makeDirectory("a/b/c")
                do { _ = try events.watch(directory: folder.path, recursive: true) }
            }
            // Letting go is a command that stands before this one.
            #expect(await onThread { $0.directoryCount } == before)
        }

        @discardableResult
        private func onThread<Value: Sendable>(_ body: @escaping @Sendable (WatchTable) -> Value) async -> Value {
            try? events.inbox.start()
            return await withCheckedContinuation { continuation in
                events.inbox.send { continuation.resume(returning: body($0)) }
            }
        }

        @Test func `A queue that overflows gives an overflow hint, and nothing made meanwhile is lost`() async throws {
            let stream = try events.watch(directory: folder.path, recursive: true)
            let hold = DispatchSemaphore(value: 0)
            events.inbox.send { _ in hold.wait() }
            let limit =
                Int(
                    try String(contentsOfFile: "/proc/sys/fs/inotify/max_queued_events", encoding: .utf8)
                        .trimmingCharacters(in: .whitespacesAndNewlines)) ?? 16_384
            // Two events each, so that the queue is full long before the directory comes.
            for number in 0..<limit { close(open("\(folder.path)/\(number)", O_CREAT | O_WRONLY, 0o600)) }
            try folder.write("x", to: "unseen/deep/file")
            hold.signal()
            // No event told of the directory; that it is named says that it was looked for after the overflow.
            let unseen = FolderHint.changed(directory: folder.path + "/unseen/deep", name: nil)
            #expect(await hint(in: stream) { $0 == unseen } == unseen)
            #expect(await hint(in: stream) { _ in true } == .overflow)
            try folder.write("x", to: "unseen/deep/later")
            let expected = FolderHint.changed(directory: folder.path + "/unseen/deep", name: "later")
            #expect(await hint(in: stream) { $0 == expected } == expected)
        }

        @Test func `A hint comes within milliseconds of a rename`() async throws {
            try folder.makeDirectory("logs")
            let path = folder.path
            let stream = try events.watch(directory: path + "/logs", recursive: true)
            var iterator = stream.makeAsyncIterator()
            var times: [Duration] = []
            for number in 0..<200 {
                try folder.write("x", to: "staged")
                let start = ContinuousClock.now
                rename("\(path)/staged", "\(path)/logs/\(number)")
                _ = await iterator.next()
                times.append(start.duration(to: .now))
            }
            times.sort()
            print("rename to hint: median \(times[100]), 95th percentile \(times[190]), worst \(times[199])")
            #expect(times[100] < .milliseconds(2))
        }

        @Test func `The thread takes no time while nothing happens`() async throws {
            try folder.makeDirectory("a/b/c")
            let stream = try events.watch(directory: folder.path, recursive: true)
            await onThread { _ in }
            let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
            let thread = try #require(
                threads.first {
                    (try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8)) == "logsync-inotify\n"
                })
            func ticks() throws -> Int {
                let text = try String(contentsOfFile: "/proc/self/task/\(thread)/stat", encoding: .utf8)
                let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
                return (Int(fields[11]) ?? 0) + (Int(fields[12]) ?? 0)
            }
            func switches() throws -> Int {
                let text = try String(contentsOfFile: "/proc/self/task/\(thread)/status", encoding: .utf8)
                let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches") })
                return try #require(line.split(separator: "\t").last.flatMap { Int($0) })
            }
            let before = (try ticks(), try switches())
            // Nothing can be awaited here: that nothing happens is what is measured.
            try await Task.sleep(for: .seconds(2))
            let after = (try ticks(), try switches())
            #expect(after.0 == before.0)
            // One for falling asleep after what woke it last.
            #expect(after.1 - before.1 <= 1)
            _ = stream
        }
    }
}
