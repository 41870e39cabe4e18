import Foundation
import Testing

/// What those need who run the daemon: limits, signals, a configuration that changes.
@Suite(.turn) struct OperatorTests {
    private func shell(_ tool: Tool, _ script: String) throws -> Tool.Process {
        try tool.start(program: "/bin/sh", ["-c", script])
    }

    private func stores(_ tool: Tool, _ count: Int) async throws -> [String] {
        var paths: [String] = []
        for index in 1...count {
            paths.append(try await tool.database("s\(index).db"))
            try await tool.succeed(
                "init", "s\(index).db", "--container", tool.path("shared"), "--content", "c\(index)", "--peer", "p")
        }
        return paths
    }

    // MARK: Descriptors

    @Test func `a soft limit on open files is raised to the hard one`() async throws {
        let tool = try Tool()
        let paths = try await stores(tool, 8)
        let daemon = try shell(tool, "ulimit -Sn 16; exec logsync watch \(paths.joined(separator: " "))")
        for path in paths { try await daemon.line { $0 == "\(path) is ready" } }
        daemon.signal(SIGTERM)
        let ended = await daemon.end()
        #expect(ended.code == 0 && ended.errors.isEmpty, "\(ended)")
    }

    @Test func `the command after imports has the limit that the daemon was started with`() async throws {
        let tool = try Tool()
        let (a, b) = (try await tool.store("a.db"), try await tool.clone("b.db"))
        let daemon = try shell(
            tool, "ulimit -Sn 77; exec logsync watch \(b) --on-import 'ulimit -Sn > limit.tmp; mv limit.tmp limit'")
        try await daemon.line { $0 == "\(b) is ready" }
        try await tool.sql("a.db", "INSERT INTO notes VALUES (2, 'two')")
        try await tool.succeed("sync", a)
        try await eventually("the command has run") { FileManager.default.fileExists(atPath: tool.path("limit")) }
        #expect(try String(contentsOfFile: tool.path("limit"), encoding: .utf8) == "77\n")
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }

    @Test func `stores beyond the hard limit are refused by name, and the others are watched`() async throws {
        let tool = try Tool()
        let paths = try await stores(tool, 4)
        let daemon = try shell(tool, "ulimit -n 64; exec logsync watch --json \(paths.joined(separator: " "))")
        for path in paths.prefix(2) {
            try await daemon.line { $0.contains("\"ready\"") && $0.contains(path) }
        }
        let refused = try JSON(try await daemon.line { $0.contains("\"error\"") && $0.contains(paths[3]) })
        #expect(refused["error"]?["code"]?.string == "io-error")
        #expect(refused["error"]?["message"]?.string?.contains("may open 64 files") == true, "\(daemon.output)")
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
        let none = await (try shell(tool, "ulimit -n 24; exec logsync watch \(paths[0])")).end()
        #expect(none.code == 74 && none.errors.contains("may open 24 files"), "\(none)")
    }

    @Test(arguments: [5, 6]) func `a process that may open next to no files says so`(count: Int) async throws {
        let tool = try Tool()
        let ended = await (try shell(tool, "ulimit -n \(count); exec logsync status")).end()
        #expect(ended.code == 74 && ended.errors.contains("may open \(count) files"), "\(ended)")
    }

    @Test func `a packaged database for whose copy there is no room is not at fault`() async throws {
        let tool = try Tool()
        let store = try await tool.store("a.db")
        try await tool.sql("seed.db", "CREATE TABLE notes(id, text); INSERT INTO notes VALUES(7, zeroblob(900000))")
        let script = "ulimit -f 200; exec logsync seed \(store) --from seed.db"
        let ended = await (try shell(tool, script)).end()
        #expect(ended.code == 74 && ended.errors.contains("could not be copied"), "\(ended)")
        #expect(ended.errors.contains("TMPDIR") && !ended.errors.contains("not an error"), "\(ended)")
    }

    // MARK: A log that is gone

    /// Stops a daemon in a moment in which it has the store's log open and does not write it: it closes what nobody uses.
    private func stop(_ daemon: Tool.Process, withLogOf name: String, _ tool: Tool) async throws {
        let log = tool.path(name) + "-wal"
        func hasLogOpen() throws -> Bool {
            let descriptors = "/proc/\(daemon.id)/fd"
            return try FileManager.default.contentsOfDirectory(atPath: descriptors).contains {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(descriptors)/\($0)")) == log
            }
        }
        try await eventually("the daemon has the log open") {
            // It opens what was written, and closes it when nothing more comes.
            try await tool.sql(name, "UPDATE notes SET text = text")
            try await Task.sleep(for: .milliseconds(50))
            daemon.signal(SIGSTOP)
            let look = ["sqlite3", "-bail", tool.path(name), "BEGIN IMMEDIATE; ROLLBACK"]
            if try await tool.program("/usr/bin/env", look).code == 0, try hasLogOpen() { return true }
            daemon.signal(SIGCONT)
            return false
        }
    }

    @Test func `a write-ahead log that was deleted is noticed with the next commit, and what comes then is published`()
        async throws
    {
        let tool = try Tool()
        let (a, b) = (try await tool.store("a.db"), try await tool.clone("b.db"))
        let daemon = try tool.start(["watch", a])
        try await daemon.line { $0 == "\(a) is ready" }
        try await tool.sql("a.db", "INSERT INTO notes(text) VALUES ('before')")
        func arrives(_ text: String) async throws {
            try await eventually("\(text) arrives") {
                try await tool.succeed("sync", b)
                return try await tool.sql("b.db", "SELECT count(*) FROM notes WHERE text = '\(text)'") == "1\n"
            }
        }
        try await arrives("before")
        try await stop(daemon, withLogOf: "a.db", tool)
        for suffix in ["-wal", "-shm"] { try FileManager.default.removeItem(atPath: a + suffix) }
        try await tool.sql("a.db", "INSERT INTO notes(text) VALUES ('after')")
        daemon.signal(SIGCONT)
        try await arrives("after")
        #expect(daemon.errors.contains("its -wal or -shm was"), "\(daemon.errors)")
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
        try await tool.succeed("sync", a)
        #expect(
            try await tool.sql("a.db", "SELECT text FROM notes ORDER BY text; PRAGMA integrity_check")
                == "after\nbefore\none\nok\n")
    }

    // MARK: Signals

    @Test func `SIGQUIT is an end like SIGTERM`() async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        let daemon = try tool.start(["watch", a])
        try await daemon.line { $0 == "\(a) is ready" }
        daemon.signal(SIGQUIT)
        let ended = await daemon.end()
        #expect(ended.code == 0 && ended.errors.isEmpty, "\(ended)")
    }

    @Test func `SIGHUP has the configuration read anew: its stores, its command, where metrics are`() async throws {
        let tool = try Tool()
        let paths = try await stores(tool, 2)
        let file = tool.path("config.toml")
        func configure(_ text: String) throws { try text.write(toFile: file, atomically: true, encoding: .utf8) }
        try configure("stores = [\"\(paths[0])\"]")
        let daemon = try tool.start(["watch", "--config", file])
        try await daemon.line { $0 == "\(paths[0]) is ready" }
        try configure(
            "stores = [\"\(paths[1])\"]\nmetrics = \"127.0.0.1:0\"\non-import = \"cat > \(tool.path("told"))\"")
        daemon.signal(SIGHUP)
        try await daemon.line { $0 == "\(paths[1]) is ready" }
        try await eventually("metrics are served") { daemon.errors.contains("metrics are served at") }
        let address = try #require(daemon.errors.firstMatch(of: #/http://127\.0\.0\.1:\d+/metrics/#)).output
        try await eventually("only the second store is watched") {
            let page = try await tool.program("/usr/bin/env", ["python3", "-c", Self.get, String(address)]).output
            return page.contains("logsync_store_open{store=\"\(paths[1])\"} 1") && !page.contains(paths[0])
        }
        try await tool.succeed(
            "clone", "--container", tool.path("shared"), "--content", "c2", tool.path("b.db"), "--peer", "q")
        try await tool.sql("b.db", "INSERT INTO notes VALUES (2, 'two')")
        try await tool.succeed("sync", tool.path("b.db"))
        try await eventually("the command runs") { FileManager.default.fileExists(atPath: tool.path("told")) }
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }

    @Test func `SIGHUP says which stores came and went, and what has ended where the file is gone`() async throws {
        let tool = try Tool()
        let paths = try await stores(tool, 2)
        let file = tool.path("home/.config/logsync/config.toml")
        try FileManager.default.createDirectory(
            atPath: (file as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        func configure(_ text: String) throws { try text.write(toFile: file, atomically: true, encoding: .utf8) }
        try configure("stores = [\"\(paths[0])\"]\non-import = \"true\"")
        let daemon = try tool.start(["watch"], environment: ["LOGSYNC_STORES": ""])
        try await daemon.line { $0 == "\(paths[0]) is ready" }
        try configure("stores = [\"\(paths[1])\"]\non-import = \"true\"")
        daemon.signal(SIGHUP)
        try await eventually("they are named") {
            daemon.errors.contains("1 store is watched; from now on \(paths[1]); no more \(paths[0])\n")
        }
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
        let other = try tool.start(["watch", paths[0]])
        try await other.line { $0 == "\(paths[0]) is ready" }
        try FileManager.default.removeItem(atPath: file)
        other.signal(SIGHUP)
        try await eventually("what has ended is said") {
            other.errors.contains("the configuration file \(file) is gone")
                && other.errors.contains("1 store is watched; on-import is run no more\n")
        }
        other.signal(SIGTERM)
        #expect(await other.end().code == 0)
    }

    @Test(arguments: ["stores = 3", "\0\0\0\0"])
    func `SIGHUP with a configuration that is wrong leaves everything as it is`(wrong: String) async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        let file = tool.path("config.toml")
        try "".write(toFile: file, atomically: true, encoding: .utf8)
        let daemon = try tool.start(["watch", a, "--config", file])
        try await daemon.line { $0 == "\(a) is ready" }
        try wrong.write(toFile: file, atomically: true, encoding: .utf8)
        daemon.signal(SIGHUP)
        try await eventually("it is said") { daemon.errors.contains("was not read anew") }
        try await tool.clone("b.db")
        try await tool.sql("b.db", "INSERT INTO notes VALUES (2, 'two')")
        try await tool.succeed("sync", tool.path("b.db"))
        try await daemon.line { $0.hasPrefix("\(a): imported") }
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }

    @Test(arguments: [SIGTERM, SIGINT, SIGQUIT, SIGHUP])
    func `a signal that comes while the daemon starts is heard`(signal: Int32) async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        // Reading it takes a while.
        let file = tool.path("config.toml")
        try String(repeating: "# nothing\n", count: 1_000_000).write(toFile: file, atomically: true, encoding: .utf8)
        let daemon = try tool.start(["watch", a, "--config", file])
        let descriptors = "/proc/\(daemon.id)/fd"
        try await eventually("it has begun", within: 60) {
            let open = (try? FileManager.default.contentsOfDirectory(atPath: descriptors)) ?? []
            let files = open.compactMap {
                try? FileManager.default.destinationOfSymbolicLink(atPath: "\(descriptors)/\($0)")
            }
            return files.contains { $0.contains("inotify") }
        }
        daemon.signal(signal)
        if signal == SIGHUP {
            try await eventually("it is read anew", within: 60) { daemon.errors.contains("was read anew") }
            daemon.signal(SIGTERM)
        }
        let ended = await daemon.end(within: 60)
        #expect(ended.code == 0, "\(ended)")
    }

    @Test func `a store by its path and by a link is one`() async throws {
        let tool = try Tool()
        let (a, b) = (try await tool.store("a.db"), try await tool.clone("b.db"))
        try FileManager.default.createSymbolicLink(atPath: tool.path("link.db"), withDestinationPath: b)
        let file = tool.path("config.toml")
        try "stores = [\"\(b)\", \"\(tool.path("link.db"))\"]".write(toFile: file, atomically: true, encoding: .utf8)
        let daemon = try tool.start(["watch", "--config", file])
        try await daemon.line { $0 == "\(b) is ready" }
        daemon.signal(SIGHUP)
        try await eventually("it is read anew") { daemon.errors.contains("read anew: 1 store is watched") }
        try await tool.sql("a.db", "INSERT INTO notes VALUES (2, 'two')")
        try await tool.succeed("sync", a)
        try await daemon.line { $0.hasPrefix("\(b): imported 1") }
        daemon.signal(SIGTERM)
        let ended = await daemon.end()
        #expect(ended.code == 0 && !ended.output.contains("link.db"), "\(ended)")
    }

    @Test func `a store by a second name of its folder or of its file is one`() async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        let hard = tool.path("hard.db")
        try FileManager.default.linkItem(atPath: a, toPath: hard)
        let linked = try tool.start(["watch", a, hard])
        try await linked.line { $0 == "\(a) is ready" }
        linked.signal(SIGTERM)
        var ended = await linked.end()
        #expect(ended.code == 0 && !ended.output.contains(hard), "\(ended)")
        #expect(ended.errors.contains("\(hard) is a hard link to \(a)"), "\(ended)")
        try FileManager.default.removeItem(atPath: hard)
        // Where no namespace may be made this shows nothing.
        let script = "mkdir twice && mount --bind . twice || exit 99; exec logsync watch a.db twice/a.db"
        let daemon = try tool.start(program: "/usr/bin/env", ["unshare", "-m", "sh", "-c", script])
        do { try await daemon.line { $0 == "\(a) is ready" } } catch {
            ended = await daemon.end()
            guard ended.code == 99 || ended.errors.hasPrefix("unshare") else { throw error }
            return
        }
        daemon.signal(SIGTERM)
        ended = await daemon.end()
        #expect(ended.code == 0 && !ended.output.contains("twice") && ended.errors.isEmpty, "\(ended)")
    }

    @Test func `a disk without a file left is not said to be full of bytes`() async throws {
        let tool = try Tool()
        // Where no namespace may be made this shows nothing.
        let script = """
            mkdir small && mount -t tmpfs -o size=8m,nr_inodes=60 none small || exit 99
            mkdir small/shared
            for place in . small; do
              sqlite3 $place/$1.db 'CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)'
              logsync init $place/$1.db --container $2 --content notes --peer here || exit 98
              sqlite3 $place/$1.db "INSERT INTO notes VALUES (2, 'two')"
              n=0; while touch small/fill$n 2> /dev/null; do n=$((n + 1)); done
              logsync sync $place/$1.db; echo "code $?"
              rm -f small/fill*
              set -- b shared
            done
            """
        let ended = try await tool.program(
            "/usr/bin/env", ["unshare", "-m", "sh", "-c", script, "sh", "a", "small/shared"])
        guard ended.code != 99, !ended.errors.hasPrefix("unshare") else { return }
        let lines = ended.errors.split(separator: "\n").filter { $0.contains("no inodes left") }
        #expect(lines.count == 2 && !ended.errors.contains("Free some space"), "\(ended)")
        #expect(ended.output.split(separator: "\n").filter { $0 == "code 74" }.count == 2, "\(ended)")
    }

    @Test func `a full disk is said to be full, also where SQLite cannot begin`() async throws {
        let tool = try Tool()
        // Where no namespace may be made this shows nothing.
        let script = """
            mkdir small && mount -t tmpfs -o size=1m none small || exit 99
            sqlite3 small/a.db 'CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)'
            logsync init small/a.db --container shared --content notes --peer here || exit 98
            dd if=/dev/zero of=small/fill bs=4096 2> /dev/null
            logsync sync small/a.db
            """
        let ended = try await tool.program("/usr/bin/env", ["unshare", "-m", "sh", "-c", script])
        guard ended.code != 99, !ended.errors.hasPrefix("unshare") else { return }
        #expect(ended.code == 74 && ended.errors.contains("the disk that holds"), "\(ended)")
        #expect(ended.errors.contains("is full"), "\(ended)")
    }

    @Test func `the doctor says that a disk has no room for what waits to be imported`() async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        let script = """
            mkdir small && mount -t tmpfs -o size=1500k none small || exit 99
            logsync clone --container shared --content notes small/b.db --peer b || exit 98
            sqlite3 a.db "WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 20) \
                INSERT INTO notes (text) SELECT hex(randomblob(50000)) FROM n"
            logsync sync "$1" || exit 97
            logsync sync small/b.db; echo "sync $?"
            logsync doctor small/b.db; echo "doctor $?"
            """
        let ended = try await tool.program("/usr/bin/env", ["unshare", "-m", "sh", "-c", script, "sh", a])
        // Where no namespace may be made this shows nothing.
        guard ended.code != 99, !ended.errors.hasPrefix("unshare") else { return }
        #expect(ended.lines.contains("sync 74") && ended.lines.contains("doctor 3"), "\(ended)")
        #expect(ended.output.contains("there may be no room for what waits to be imported"), "\(ended)")
    }

    @Test(.enabled(if: geteuid() == 0))
    func `the doctor says how what is immutable can be written again`() async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        let peers = tool.path("shared/notes/peers")
        let peer = try #require(try FileManager.default.contentsOfDirectory(atPath: peers).first)
        for place in [a, "\(peers)/\(peer)/logs"] {
            // Where the file system has no such attribute this shows nothing.
            guard try await tool.program("/usr/bin/env", ["chattr", "+i", place]).code == 0 else { return }
            let ended = try await tool.run("doctor", a)
            let mended = try await tool.program("/usr/bin/env", ["chattr", "-i", place])
            #expect(mended.code == 0 && ended.code == 3, "\(ended)")
            #expect(ended.output.contains("sudo chattr -i \(place)\n"), "\(ended)")
        }
    }

    @Test func `a watch without stores is 64, and says where they may stand`() async throws {
        let tool = try Tool()
        let ended = try await tool.run("watch")
        #expect(ended.code == 64 && ended.errors.contains("stores = ["), "\(ended)")
        let empty = try await tool.run("watch", "")
        #expect(empty.code == 64 && empty.errors.contains("the path of a store is empty"), "\(empty)")
    }

    // MARK: Metrics

    /// Prints the page at an address, asked for by another host's name where there is a second argument.
    private static let get = """
        import sys, urllib.request
        request = urllib.request.Request(sys.argv[1])
        if len(sys.argv) > 2: request.add_header("Host", sys.argv[2])
        try: print(urllib.request.urlopen(request, timeout=20).read().decode())
        except urllib.error.HTTPError as error: print(error.code)
        """

    @Test func `metrics are told to those who ask for an address, and not to a page that gave its name this address`()
        async throws
    {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        let daemon = try tool.start(["watch", a, "--metrics", "127.0.0.1:0"])
        try await daemon.line { $0 == "\(a) is ready" }
        let address = String(try #require(daemon.errors.firstMatch(of: #/http://127\.0\.0\.1:\d+/metrics/#)).output)
        func page(_ host: String) async throws -> String {
            try await tool.program("/usr/bin/env", ["python3", "-c", Self.get, address, host]).output
        }
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1:9090", "192.168.1.4", "[::1]:9090", "[fe80::1]"] {
            #expect(try await page(host).contains("logsync_store_open"), "\(host)")
        }
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "::1", "[evil]", "a:1:2"] {
            #expect(try await page(host) == "403\n", "\(host)")
        }
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }

    // MARK: All stores

    @Test func `all stores of a user are listed, and how they are`() async throws {
        let tool = try Tool()
        #expect(try await tool.succeed("list").output.contains("knows of no store"))
        #expect(try await tool.succeed("list", "--json").output == "{\"format\":1,\"stores\":[]}\n")
        let (a, b) = (try await tool.store("a.db"), try await tool.clone("b.db"))
        let other = try await tool.database("other.db")
        try await tool.succeed("init", other, "--container", tool.path("shared"), "--content", "music", "--peer", "x")
        try await tool.succeed("sync", a)
        func stores() async throws -> [String: JSON] {
            let listed = try JSON(try await tool.succeed("list", "--json").output)["stores"]?.array ?? []
            return Dictionary(listed.compactMap { store in store["store"]?.string.map { ($0, store) } }) { $1 }
        }
        var now = try await stores()
        #expect(now.keys.sorted() == [a, b, other].sorted() && now.values.allSatisfy { $0["state"]?.string == "ok" })
        #expect(now[a]?["peer"]?["name"]?.string == "here" && now[a]?["content"]?.string == "notes")
        #expect(now[a]?["container"]?.string == tool.path("shared") && now[a]?["conflicts"]?.int == 0)
        #expect(now[a]?["parked"]?.int == 0 && now[other]?["lastImport"]?.string == nil)
        #expect(now[b]?["lastImport"]?.string?.hasSuffix("Z") == true, "the clone has imported")

        try await tool.sql("b.db", "INSERT INTO notes VALUES (2, 'two')")
        try await tool.succeed("sync", b)
        now = try await stores()
        #expect(now[a]?["state"]?.string == "behind" && now[a]?["behind"]?.int == 1, "\(now)")
        try await tool.succeed("sync", a)
        now = try await stores()
        #expect(now[a]?["state"]?.string == "ok" && now[a]?["lastImport"]?.string != nil, "\(now)")

        try FileManager.default.moveItem(atPath: tool.path("shared/music"), toPath: tool.path("away"))
        try FileManager.default.removeItem(atPath: b)
        now = try await stores()
        #expect(now[other]?["state"]?.string == "unavailable" && now[other]?["lastImport"]?.string == nil)
        #expect(now[b]?["state"]?.string == "missing" && now[b]?["behind"]?.int == nil, "\(now)")
        try await tool.succeed("leave", a)
        #expect(try await stores()[a] == nil)
        let lines = try await tool.succeed("list").lines
        #expect(lines.count == 3 && lines[0].hasPrefix("STORE"), "\(lines)")
    }

    // MARK: Repairing

    @Test func `the doctor does what it advises, tells it first, and looks again`() async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        let peer = try JSON(try await tool.succeed("status", a, "--json").output)["peer"]?["id"]?.string ?? ""
        let copy = tool.path("shared/notes/peers/\(peer)/receipt.sync-conflict-20250101-120000-ABC.json")
        try Data([1]).write(to: URL(fileURLWithPath: copy))
        // What a program does that turns triggers off.
        let triggers = try await tool.sql(
            "a.db", "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'notes'")
        for trigger in triggers.split(separator: "\n") { try await tool.sql("a.db", "DROP TRIGGER \"\(trigger)\"") }
        try await tool.sql("a.db", "INSERT INTO notes VALUES (2, 'two')")

        let dry = try await tool.run("doctor", a, "--repair", "--dry-run", "--json")
        #expect(dry.code == 3, "\(dry)")
        let planned = try JSON(dry.output)["repairs"]?.array ?? []
        #expect(planned.compactMap { $0["action"]?.string } == ["rescan", "sync", "remove"], "\(dry)")
        #expect(planned.allSatisfy { $0["done"]?.bool == false } && FileManager.default.fileExists(atPath: copy))

        let done = try await tool.run("doctor", a, "--repair")
        #expect(done.code == 0 && done.lines.last?.hasSuffix("nothing is wrong.") == true, "\(done)")
        #expect(done.lines.first == "repair: logsync rescan \(a) (no-triggers)", "\(done)")
        #expect(done.lines.contains("repair: delete \(copy) (conflict-copy)"), "\(done)")
        #expect(!FileManager.default.fileExists(atPath: copy))
        try await tool.clone("b.db")
        #expect(try await tool.sql("b.db", "SELECT group_concat(text) FROM notes") == "one,two\n")
        #expect(try await tool.run("doctor", a, "--dry-run").code == 64)
    }

    // MARK: What is not there, or not meant

    @Test func `a store that stays missing is said to be, as an event and in the log`() async throws {
        let tool = try Tool()
        let daemon = try tool.start(["watch", "--json", tool.path("typo.db")])
        try await daemon.line { $0.contains("\"event\":\"error\"") && $0.contains("no-store") }
        let missing = try JSON(try await daemon.line { $0.contains("\"event\":\"unavailable\"") })
        #expect(missing["store"]?.string?.hasSuffix("typo.db") == true)
        #expect(missing["error"]?["code"]?.string == "no-store")
        #expect(daemon.errors.contains("there has been no store at"), "\(daemon.errors)")
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }

    @Test func `a program that keeps a store locked is named in the log, and so is its end`() async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        let daemon = try tool.start(["watch", a])
        try await daemon.line { $0 == "\(a) is ready" }
        let writer = try tool.start(
            program: "/usr/bin/env",
            [
                "python3", "-c",
                """
                import sqlite3, sys, time
                c = sqlite3.connect(sys.argv[1], isolation_level=None)
                c.execute("BEGIN IMMEDIATE"); print("holding", flush=True); time.sleep(300)
                """, a,
            ])
        try await writer.line { $0 == "holding" }
        try await eventually("it is said") { daemon.errors.contains("has been locked by another program (process") }
        writer.signal(SIGKILL)
        _ = await writer.end()
        try await eventually("its end is said") { daemon.errors.contains("is locked no more") }
        daemon.signal(SIGTERM)
        let ended = await daemon.end()
        #expect(ended.errors.components(separatedBy: "has been locked").count == 2, "\(ended)")
    }

    @Test func `a content that is not there is told from those that are`() async throws {
        let tool = try Tool()
        try await tool.store("a.db")
        let shared = tool.path("shared")
        let misspelt = try await tool.run("clone", "--container", shared, "--content", "ntoes", "b.db")
        #expect(misspelt.code == 69 && misspelt.errors.contains("did you mean \"notes\"?"), "\(misspelt)")
        let unlike = try await tool.run("clone", "--container", shared, "--content", "recipes", "b.db")
        #expect(unlike.code == 69 && unlike.errors.contains("The contents in \(shared) are notes."), "\(unlike)")
        let upper = try await tool.run("clone", "--container", shared, "--content", "Notes", "b.db")
        #expect(upper.code == 64 && upper.errors.contains("Did you mean \"notes\"?"), "\(upper)")
        let moved = try await tool.run("move", "a.db", "--container", tool.path("nope"))
        #expect(moved.code == 69 && !moved.errors.contains("logsync attach"), "\(moved)")
    }

    @Test(arguments: [
        ("int", "'logsync init'"), ("syn", "'logsync sync'"), ("conflict", "'logsync conflicts'"),
        ("version", "'logsync --version'"),
    ])
    func `a subcommand that is misspelt is told which was meant`(given: String, meant: String) async throws {
        let ended = try await Tool().run(given, "a.db")
        #expect(ended.code == 64 && ended.errors.contains("Did you mean \(meant)?"), "\(ended)")
    }

    @Test func `what is given without its option is told which options there are`() async throws {
        let ended = try await Tool().run("clone", "Sync", "notes", "c.db")
        #expect(ended.code == 64 && ended.errors.contains("--container DIR"), "\(ended)")
    }

    @Test func `a filter that nothing passes says so`() async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        let ended = try await tool.run("log", a, "--author", "nobody")
        #expect(ended.code == 0 && ended.output.isEmpty, "\(ended)")
        #expect(ended.errors.contains("has no transaction by the author \"nobody\""), "\(ended)")
    }

    @Test(arguments: [true, false])
    func `a database is not joined with a content of other tables`(dryRun: Bool) async throws {
        let tool = try Tool()
        try await tool.store("a.db")
        // One has another table, one a table of that name that has little else in common.
        try await tool.sql("b.db", "CREATE TABLE recipe (id INTEGER PRIMARY KEY)")
        try await tool.sql("d.db", "CREATE TABLE notes (id INTEGER PRIMARY KEY, pitch, length)")
        for store in ["b.db", "d.db"] {
            let arguments = [
                "init", store, "--container", tool.path("shared"), "--content", "notes", "--peer", "b",
            ]
            let ended = try await tool.run(arguments + (dryRun ? ["--dry-run"] : []))
            #expect(ended.code == 78 && ended.errors.contains("none of the tables of notes (notes)"), "\(ended)")
            let status = try await tool.run("status", store)
            #expect(status.code == 66, "\(status)")
        }
        try await tool.database("c.db")
        let related = try await tool.run(
            "init", "c.db", "--container", tool.path("shared"), "--content", "notes", "--peer", "c")
        #expect(related.code == 0 && related.errors.isEmpty, "\(related)")
    }

    @Test func `without proc the command line is read all the same`() async throws {
        let tool = try Tool()
        // Where no namespace may be made this shows nothing; where one may be, it is bound to show it.
        let script = "mount -t tmpfs none /proc || exit 99; exec \(Tool.path) sync /nope"
        // Dispatch counts its threads in /proc every second, and traps where that is not there: a command that has not ended
        // by then is run again.
        let trapped: Int32 = 128 + SIGILL
        var ended = try await tool.program("/usr/bin/env", ["unshare", "-m", "sh", "-c", script])
        for _ in 0..<10 where ended.code == trapped {
            ended = try await tool.program("/usr/bin/env", ["unshare", "-m", "sh", "-c", script])
        }
        guard ended.code != 99, !ended.errors.hasPrefix("unshare") else { return }
        #expect(ended.code == 66 && ended.errors.contains("/nope"), "\(ended)")
    }

    // MARK: Waiting

    @Test(arguments: [["sync"], ["import"], ["export"], ["snapshot"], ["compact"], ["rescan"]])
    func `every subcommand waits for a lock as long as it is told`(subcommand: [String]) async throws {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        try await tool.sql("a.db", "INSERT INTO notes VALUES (2, 'two')")
        let writer = try tool.start(
            program: "/usr/bin/env",
            [
                "python3", "-c",
                """
                import sqlite3, sys, time
                c = sqlite3.connect(sys.argv[1], isolation_level=None)
                c.execute("BEGIN IMMEDIATE"); print("holding", flush=True); time.sleep(300)
                """, a,
            ])
        try await writer.line { $0 == "holding" }
        let start = ContinuousClock.now
        let ended = try await tool.run(subcommand + [a, "--wait", "0.2"])
        #expect(ended.code == 75, "\(ended)")
        #expect(start.duration(to: .now) < .seconds(9), "the usual ten seconds were not waited for")
        writer.signal(SIGKILL)
        _ = await writer.end()
        #expect(try await tool.run(subcommand + [a, "--wait", "30"]).code == 0)
    }
}
