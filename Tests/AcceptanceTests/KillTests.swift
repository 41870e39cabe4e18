import Foundation
import Testing

/// SIGKILL before the n-th system call of a kind, for every kind that changes something on disk.
///
/// strace counts by thread; the places are taken from a run that was only watched.
struct KillPoint: Sendable, CustomStringConvertible {
    var call: String
    var number: Int

    var description: String { "\(call) number \(number)" }

    static let calls =
        "write,pwrite64,writev,pwritev,fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat,ftruncate,mkdir,mkdirat"

    static let isPossible: Bool = {
        guard Program.isInstalled(Program.strace) else { return false }
        // Tracing may be forbidden.
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Program.strace)
        process.arguments = ["-qq", "-o", "/dev/null", "/bin/true"]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    /// The points that a call passes, evenly chosen when there are more than `limit`.
    static func watching(_ arguments: [String], of peer: Peer, limit: Int) async throws -> [KillPoint] {
        let trace = peer.sandbox.folder("output").appendingPathComponent("trace").path
        let finished = try await peer.sandbox.run(
            Program.strace,
            ["-f", "-qq", "-e", "trace=\(calls)", "-e", "signal=none", "-o", trace, Program.logsync] + arguments,
            environment: peer.environment)
        guard finished.code == 0 else { throw Failure("\(arguments) ended with \(finished.code): \(finished.errors)") }
        var counts: [String: [Substring: Int]] = [:]
        for line in String(decoding: try Data(contentsOf: URL(fileURLWithPath: trace)), as: UTF8.self).split(
            separator: "\n")
        {
            let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
            guard parts.count == 2, let end = parts[1].firstIndex(of: "(") else { continue }
            counts[String(parts[1][..<end].drop { $0 == " " }), default: [:]][parts[0], default: 0] += 1
        }
        var points: [KillPoint] = []
        for (call, threads) in counts.sorted(by: { $0.key < $1.key }) {
            for number in 1...(threads.values.max() ?? 1) { points.append(KillPoint(call: call, number: number)) }
        }
        guard points.count > limit else { return points }
        // At least the first of each kind, then evenly.
        let firsts = points.filter { $0.number == 1 }
        let others = points.filter { $0.number > 1 }
        let wanted = max(0, limit - firsts.count)
        let chosen = (0..<wanted).map { others[$0 * others.count / max(wanted, 1)] }
        return firsts + chosen
    }

    /// Runs the tool and kills it here. Returns whether it got this far.
    func strike(_ arguments: [String], of peer: Peer) async throws -> Bool {
        let finished = try await peer.sandbox.run(
            Program.strace,
            [
                "-f", "-qq", "-e", "trace=\(call)", "-e", "inject=\(call):signal=KILL:when=\(number)", "-o",
                "/dev/null",
                Program.logsync,
            ] + arguments, environment: peer.environment)
        guard finished.wasKilled || finished.code == 0 else {
            throw Failure("\(self): ended with \(finished.code): \(finished.errors)")
        }
        return finished.wasKilled
    }
}

@Suite(.turn, .enabled(if: KillPoint.isPossible, "strace is not installed or not permitted here"))
struct KillTests {
    private static let limit = Scale.choose(24, long: 2000)

    @Test func `sync killed anywhere while it records and publishes is completed by the next`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: "music", rows: 5)
            let points = try await points(["sync", one.path], of: one) { try await one.add(rows: 2, tag: "watched") }
            try await two.sync()
            var struck = 0
            for (round, point) in points.enumerated() {
                try await one.add(rows: 2, tag: "r\(round)")
                if try await point.strike(["sync", one.path], of: one) { struck += 1 }
                // Before anything else runs: the app's own rows are there, and the file is sound.
                #expect(try await one.count("Artist", where: "Name LIKE '%r\(round)%' OR Name IS NULL") >= 0)
                #expect(try await one.value("PRAGMA integrity_check;") == "ok", "\(point)")
                try await one.sync()
                try await two.sync()
                try await sandbox.expect(.meaning, [one, two], "killed before \(point)")
            }
            try await expectTidy(one, two)
            print("sync killed at \(struck) of \(points.count) places while recording and publishing")
            #expect(struck > points.count / 2)
        }
    }

    @Test func `sync killed anywhere while it imports shows whole transactions only, and is completed by the next`()
        async throws
    {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: "music", rows: 5)
            let points = try await points(["sync", two.path], of: two) {
                try await one.add(rows: 2, tag: "watched")
                try await one.sync()
            }
            var struck = 0
            for (round, point) in points.enumerated() {
                let before = try await two.count("InvoiceLine")
                try await one.add(rows: 20, tag: "r\(round)")
                try await one.sync()
                let whole = try await one.count("InvoiceLine")
                try await two.write("UPDATE Genre SET Name = 'mine \(round)' WHERE GenreId = 1;")
                if try await point.strike(["sync", two.path], of: two) { struck += 1 }
                let now = try await two.count("InvoiceLine")
                #expect(now == before || now == whole, "killed before \(point): \(now) rows, not \(before) or \(whole)")
                #expect(try await two.value("PRAGMA integrity_check;") == "ok", "\(point)")
                try await two.sync()
                try await one.sync()
                try await sandbox.expect(.meaning, [one, two], "killed before \(point)")
            }
            try await expectTidy(one, two)
            print("sync killed at \(struck) of \(points.count) places while importing")
            #expect(struck > points.count / 2)
        }
    }

    @Test func `init killed anywhere is completed by the next, and leaves a database that its app can use`()
        async throws
    {
        try await withSandbox { sandbox in
            let database = try await sandbox.database("database", schema: "music", rows: 5)
            func arguments(_ name: String) -> [String] {
                [
                    "init", sandbox.peer(name).path, "--container", sandbox.container.path, "--content", name, "--peer",
                    name,
                ]
            }
            try FileManager.default.copyItem(atPath: database.path, toPath: sandbox.peer("watched").path)
            let points = try await KillPoint.watching(
                arguments("watched"), of: sandbox.peer("watched"), limit: Scale.choose(12, long: 2000))
            for (round, point) in points.enumerated() {
                let peer = sandbox.peer("n\(round)")
                try FileManager.default.copyItem(atPath: database.path, toPath: peer.path)
                _ = try await point.strike(arguments(peer.name), of: peer)
                try await peer.write("INSERT INTO Artist (Name) VALUES ('meanwhile');")
                try await peer.logsync(arguments(peer.name))
                try await peer.sync()
                let other = sandbox.peer("other\(round)")
                try await other.logsync(
                    [
                        "clone", "--container", sandbox.container.path, "--content", peer.name, other.path, "--peer",
                        "other",
                    ])
                try await sandbox.expect(.equal, [peer, other], "killed before \(point)")
                #expect(try await other.count("Artist", where: "Name = 'meanwhile'") == 1)
            }
        }
    }

    @Test func `clone killed anywhere can be done again or carried on, with nothing to repair by hand`() async throws {
        try await withSandbox { sandbox in
            let (one, _) = try await sandbox.pair(schema: "music", rows: 5)
            func arguments(_ peer: Peer) -> [String] {
                [
                    "clone", "--container", sandbox.container.path, "--content", sandbox.content, peer.path, "--peer",
                    peer.name,
                ]
            }
            let points = try await KillPoint.watching(
                arguments(sandbox.peer("watched")), of: sandbox.peer("watched"), limit: Scale.choose(12, long: 2000))
            for (round, point) in points.enumerated() {
                let peer = sandbox.peer("n\(round)")
                guard try await point.strike(arguments(peer), of: peer) else { continue }
                let again = try await sandbox.run(Program.logsync, arguments(peer), environment: peer.environment)
                // Where the first run had come as far as making the store, it is one, and carries on.
                if again.code != 0 { #expect(again.code == 73, "\(point): \(again.errors)") }
                let synced = try await sandbox.run(Program.logsync, ["sync", peer.path], environment: peer.environment)
                guard synced.code == 0 else {
                    Issue.record(
                        "killed before \(point): clone again ended with \(again.code) (\(again.errors)), sync with \(synced.code) (\(synced.errors))"
                    )
                    continue
                }
                try await sandbox.expect(.equal, [one, peer], "killed before \(point)")
            }
            try await one.sync()
        }
    }

    @Test(.subcommand("watch"))
    func `a watching daemon that is killed loses nothing`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: "music", rows: 3)
            for round in 1...Scale.choose(3, long: 30) {
                let daemon = try await Daemon(watching: one)
                let writer = try sandbox.start(
                    Program.python,
                    [
                        "-c",
                        """
                        import sqlite3, sys, time
                        db = sqlite3.connect(sys.argv[1], timeout=20, isolation_level=None)
                        for n in range(60):
                            db.execute("INSERT INTO Artist (Name) VALUES (?)", (f"{sys.argv[2]}-{n}",))
                            time.sleep(0.005)
                        """, one.path, "round \(round)",
                    ])
                try await Task.sleep(for: .milliseconds(60 + 37 * round % 200))
                daemon.program.signal(SIGKILL)
                _ = await daemon.program.finish(within: 10)
                let wrote = await writer.finish(within: 60)
                #expect(wrote.code == 0, "\(wrote.errors)")
                try await exchange(one, two)
                #expect(try await two.count("Artist", where: "Name LIKE 'round \(round)-%'") == 60)
                try await sandbox.expect(.meaning, [one, two])
            }
        }
    }

    private func points(_ arguments: [String], of peer: Peer, after prepare: () async throws -> Void) async throws
        -> [KillPoint]
    {
        try await prepare()
        return try await KillPoint.watching(arguments, of: peer, limit: Self.limit)
    }

    /// Nothing is left over of what was killed.
    private func expectTidy(_ peers: Peer...) async throws {
        for _ in 0..<2 { for peer in peers { try await peer.sync() } }
        for peer in peers {
            let status = try await peer.status()
            #expect(
                status["outbox"].int == 0 && status["pending"].int == 0 && status["held"].array.isEmpty, "\(status)")
            let files = try await peer.sandbox.logFiles(of: peer).map(\.lastPathComponent)
            #expect(!files.isEmpty)
        }
        if let sandbox = peers.first?.sandbox {
            let leftovers = sandbox.listing(sandbox.contentFolder).keys.filter { path in
                let name = path.split(separator: "/").last ?? ""
                return name.hasPrefix(".") || name.hasSuffix(".tmp")
            }
            #expect(leftovers.count <= 1, "staged files that nobody removes: \(leftovers)")
        }
    }
}
