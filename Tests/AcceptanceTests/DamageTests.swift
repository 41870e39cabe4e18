import Crypto
import Foundation
import Testing

/// A carrier delivers a log file that is not what its author published.
@Suite(.turn) struct DamageTests {
    enum Damage: String, CaseIterable, Sendable {
        case truncated, emptied, grown, flippedAtStart, flippedInside, flippedAtEnd, foreign, missing
    }

    private func damage(_ file: URL, _ damage: Damage) throws {
        var bytes = [UInt8](try Data(contentsOf: file))
        switch damage {
        case .truncated: bytes.removeLast(bytes.count / 2)
        case .emptied: bytes = []
        case .grown: bytes += [UInt8](repeating: 0, count: 100)
        case .flippedAtStart: bytes[0] ^= 1
        case .flippedInside: bytes[bytes.count / 2] ^= 0x40
        case .flippedAtEnd: bytes[bytes.count - 1] ^= 0x80
        case .foreign: bytes = (0..<bytes.count).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ 13) }
        case .missing:
            try FileManager.default.removeItem(at: file)
            return
        }
        try Data(bytes).write(to: file)
    }

    @Test(arguments: Damage.allCases)
    func `a damaged log file holds what depends on it and nothing else, says so, and mends when it is right again`(
        kind: Damage
    ) async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(sql: "CREATE TABLE word (word TEXT PRIMARY KEY, meaning TEXT);")
            let three = try await sandbox.clone("three")
            try await exchange(one, two, three)
            let earlier = Set(try await sandbox.logFiles(of: one))
            // Two transactions of one, in files of their own: the first is the one that gets damaged.
            try await one.write("INSERT INTO word VALUES ('first', 'of one');")
            try await one.logsync(["export", one.path])
            let fresh = Set(try await sandbox.logFiles(of: one)).subtracting(earlier)
            guard let file = fresh.first, fresh.count == 1 else { throw Failure("one export, one file: \(fresh)") }
            let right = try Data(contentsOf: file)
            try await one.write("INSERT INTO word VALUES ('second', 'of one');")
            try await one.logsync(["export", one.path])
            try damage(file, kind)

            // Others go on, as long as they have not seen it.
            try await three.write("INSERT INTO word VALUES ('first', 'of three'), ('third', 'of three');")
            try await three.logsync(["export", three.path])
            let expected: Set<Int32>
            let reasons: Set<String>
            switch kind {
            case .truncated, .emptied: (expected, reasons) = ([3], ["incomplete", "gap"])
            case .missing: (expected, reasons) = ([3], ["gap"])
            case .grown: (expected, reasons) = ([3, 4], ["damaged", "incomplete", "gap"])
            default: (expected, reasons) = ([4], ["damaged", "gap"])
            }
            try await two.sync(exits: expected)
            #expect(try await two.rows("SELECT * FROM word ORDER BY 1;") == ["first|of three", "third|of three"])
            let author = try await one.identifier()
            let held = try await two.held()
            #expect(!held.isEmpty)
            for entry in held {
                #expect(entry.peer == author && reasons.contains(entry.reason), "\(entry)")
            }
            #expect(
                kind == .missing || held.contains { $0.file.contains(file.lastPathComponent) && $0.reason != "gap" },
                "\(held)")
            // Asking again changes nothing.
            try await two.sync(exits: expected)

            try right.write(to: file)
            try await two.sync()
            try await exchange(three, one, two)
            #expect(try await two.held().isEmpty)
            try await sandbox.expect(.equal, [one, two, three])
            #expect(try await two.count("word") == 3)
        }
    }

    @Test(arguments: [Damage.truncated, .flippedInside, .missing])
    func `the owner puts back what is damaged or missing in its folder`(kind: Damage) async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(sql: "CREATE TABLE word (word TEXT PRIMARY KEY, meaning TEXT);")
            let earlier = Set(try await sandbox.logFiles(of: one))
            try await one.write("INSERT INTO word VALUES ('first', 'of one');")
            try await one.sync()
            guard let file = Set(try await sandbox.logFiles(of: one)).subtracting(earlier).first else {
                throw Failure("no file")
            }
            try damage(file, kind)
            try await two.sync(exits: [0, 3, 4])
            #expect(try await two.count("word") == 0)
            for _ in 1...2 {
                try await one.sync(exits: [0, 3, 4])
                try await two.sync(exits: [0, 3, 4])
            }
            try await exchange(one, two)
            try await sandbox.expect(.equal, [one, two])
            #expect(try await two.count("word") == 1)
        }
    }

    @Test(arguments: Array(0..<Scale.choose(6, long: 200)))
    func `any one bit that flips is noticed`(place: Int) async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(sql: "CREATE TABLE word (word TEXT PRIMARY KEY, meaning TEXT);")
            let earlier = Set(try await sandbox.logFiles(of: one))
            try await one.write("INSERT INTO word VALUES ('first', 'of one');")
            try await one.sync()
            guard let file = Set(try await sandbox.logFiles(of: one)).subtracting(earlier).first else {
                throw Failure("no file")
            }
            let right = try Data(contentsOf: file)
            var bytes = [UInt8](right)
            var random = SeededGenerator(seed: place + 1)
            let position = Int.random(in: 0..<bytes.count, using: &random)
            bytes[position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            try Data(bytes).write(to: file)
            try await two.sync(exits: [4])
            #expect(try await two.count("word") == 0, "byte \(position)")
            try right.write(to: file)
            try await exchange(two, one)
            try await sandbox.expect(.equal, [one, two])
        }
    }

    @Test func `what has seen a missing transaction waits for it, and comes with it`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(sql: "CREATE TABLE word (word TEXT PRIMARY KEY, meaning TEXT);")
            let three = try await sandbox.clone("three")
            try await exchange(one, two, three)
            let earlier = Set(try await sandbox.logFiles(of: one))
            try await one.write("INSERT INTO word VALUES ('first', 'of one');")
            try await one.sync()
            try await two.sync()
            try await two.write(
                "UPDATE word SET meaning = 'seen by two'; INSERT INTO word VALUES ('second', 'of two');")
            try await two.sync()
            guard let file = Set(try await sandbox.logFiles(of: one)).subtracting(earlier).first else {
                throw Failure("no file")
            }
            let bytes = try Data(contentsOf: file)
            try FileManager.default.removeItem(at: file)
            try await three.sync(exits: [3])
            #expect(try await three.count("word") == 0)
            let (author, held) = (try await two.identifier(), try await three.held())
            #expect(held.contains { $0.peer == author && $0.reason == "dependency" }, "\(held)")
            try bytes.write(to: file)
            try await three.sync()
            #expect(try await three.rows("SELECT * FROM word ORDER BY 1;") == ["first|seen by two", "second|of two"])
            try await exchange(one, two, three)
            try await sandbox.expect(.equal, [one, two, three])
        }
    }

    @Test func `a file of a newer format is held as such, and holds nothing else up`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(sql: "CREATE TABLE word (word TEXT PRIMARY KEY, meaning TEXT);")
            let earlier = Set(try await sandbox.logFiles(of: one))
            try await one.write("INSERT INTO word VALUES ('first', 'of one');")
            try await one.sync()
            guard let file = Set(try await sandbox.logFiles(of: one)).subtracting(earlier).first else {
                throw Failure("no file")
            }
            let newer = try NewerFormat.rewriting(file)
            try await two.write("INSERT INTO word VALUES ('second', 'of two');")
            try await two.sync(exits: [3])
            let held = try await two.held()
            #expect(held.contains { $0.reason == "newer-format" }, "\(held)")
            #expect(try await two.status()["outbox"].int == 0, "what two had to say is published all the same")
            try FileManager.default.removeItem(at: newer)
            for _ in 1...2 {
                try await one.sync()
                try await two.sync(exits: [0, 3])
            }
            try await sandbox.expect(.equal, [one, two])
        }
    }

    @Test
    func
        `a log file of another peer in the wrong folder, and one whose name promises what it does not hold, are not imported`()
        async throws
    {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(sql: "CREATE TABLE word (word TEXT PRIMARY KEY, meaning TEXT);")
            try await two.write("INSERT INTO word VALUES ('of two', 'x');")
            try await exchange(one, two)
            let three = try await sandbox.clone("three")
            let (first, second) = (try await one.identifier(), try await two.identifier())
            let logs = sandbox.contentFolder.appendingPathComponent("peers/\(first)/logs")
            for file in try sandbox.logFiles(of: second) {
                let target = logs.appendingPathComponent(file.lastPathComponent)
                if !FileManager.default.fileExists(atPath: target.path) {
                    try FileManager.default.copyItem(at: file, to: target)
                }
            }
            let bytes = Data("not a log at all, whatever it is called".utf8)
            let hash = SHA256.hash(data: bytes).prefix(16).map { String(format: "%02x", $0) }.joined()
            try bytes.write(to: logs.appendingPathComponent("000000000900-000000000901-\(hash).tlog"))
            try await three.sync(exits: [3, 4])
            try await two.write("INSERT INTO word VALUES ('afterwards', 'y');")
            try await two.sync(exits: [0, 3, 4])
            try await three.sync(exits: [3, 4])
            #expect(try await three.rows("SELECT word FROM word ORDER BY 1;") == ["afterwards", "of two"])
            let held = try await three.held()
            #expect(held.contains { $0.peer == first }, "\(held)")
        }
    }

    @Test func `what carriers leave in the folder is ignored, and doctor lists it`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(sql: "CREATE TABLE word (word TEXT PRIMARY KEY, meaning TEXT);")
            try await one.write("INSERT INTO word VALUES ('first', 'of one');")
            try await exchange(one, two)
            let identifier = try await one.identifier()
            guard let file = try await sandbox.logFiles(of: one).last else { throw Failure("no log file") }
            let name = file.deletingPathExtension().lastPathComponent
            let content = try Data(contentsOf: file)
            let half = content.prefix(content.count / 2)
            let folder = "peers/\(identifier)"
            let junk: [(String, Data)] = [
                ("\(folder)/logs/.syncthing.\(name).tlog.tmp", half),
                ("\(folder)/logs/\(name).sync-conflict-20240101-120000-ABCDEFG.tlog", half),
                ("\(folder)/logs/\(name) (conflicted copy 2024-01-01).tlog", half),
                ("\(folder)/logs/\(name) (1).tlog", content),
                ("\(folder)/logs/\(name).tlog.part", half),
                ("\(folder)/logs/\(name).tlog~", half),
                ("\(folder)/logs/\(name.uppercased()).TLOG", half),
                ("\(folder)/logs/000000000001-\(name).tlog", half),
                ("\(folder)/logs/desktop.ini", half),
                ("\(folder)/receipt.sync-conflict-20240101-120000-ABCDEFG.json", Data("{}".utf8)),
                ("\(folder)/receipt (1).json", Data("{\"counter\": 99999}".utf8)),
                ("\(folder)/.DS_Store", half),
                ("peers/not-a-peer/logs/\(name).tlog", content),
                ("peers/\(identifier.uppercased())/logs/\(name).tlog", content),
                ("peers/\(identifier) (conflicted copy)/logs/\(name).tlog", content),
                (".stversions/peers/\(identifier)/logs/\(name).tlog", half),
                (".stfolder/marker", Data()),
                ("logsync.sync-conflict-20240101-120000-ABCDEFG.json", Data("{}".utf8)),
                ("Thumbs.db", half),
            ]
            for (path, bytes) in junk {
                let target = sandbox.contentFolder.appendingPathComponent(path)
                try FileManager.default.createDirectory(
                    at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
                try bytes.write(to: target)
            }
            try FileManager.default.createDirectory(
                at: sandbox.contentFolder.appendingPathComponent(
                    "\(folder)/logs/\(name.replacing("0", with: "9")).tlog"),
                withIntermediateDirectories: true)
            mkfifo(sandbox.contentFolder.appendingPathComponent("\(folder)/logs/pipe").path, 0o600)
            try await two.write("INSERT INTO word VALUES ('second', 'of two');")
            try await exchange(one, two)
            let three = try await sandbox.clone("three")
            try await sandbox.expect(.equal, [one, two, three])
            if Subcommand.exists("doctor") {
                let told = try await one.logsync(["doctor", one.path], exits: [0, 3, 4])
                #expect(told.output.contains("sync-conflict"), "\(told.output)")
            }
            for (path, bytes) in junk {
                #expect(
                    try Data(contentsOf: sandbox.contentFolder.appendingPathComponent(path)) == bytes,
                    "\(path) is not ours to change")
            }
        }
    }

    @Test(arguments: Array(1...Scale.choose(3, long: 30)))
    func `files that come late, in any order and more than once, arrive all the same`(seed: Int) async throws {
        try await withSandbox { sandbox in
            var random = SeededGenerator(seed: seed)
            let (one, two) = try await sandbox.pair(schema: "music", rows: 2)
            let earlier = Set(try await sandbox.logFiles(of: one))
            for step in 1...6 {
                try await one.add(rows: 1, tag: "step \(step)")
                try await one.logsync(["export", one.path])
            }
            var late = try await sandbox.logFiles(of: one).filter { !earlier.contains($0) }.map {
                ($0, try Data(contentsOf: $0))
            }
            for (file, _) in late { try FileManager.default.removeItem(at: file) }
            late.shuffle(using: &random)
            for (number, (file, bytes)) in late.enumerated() {
                // First a part of it, as carriers do.
                try bytes.prefix(bytes.count / 3).write(to: file)
                try await two.sync(exits: [0, 3, 4])
                try bytes.write(to: file)
                try await two.sync(exits: number == late.count - 1 ? [0] : [0, 3])
                #expect(try await two.value("PRAGMA integrity_check;") == "ok")
            }
            try await exchange(two, one)
            try await sandbox.expect(.meaning, [one, two])
        }
    }
}

/// A log file of a format that does not exist yet: the version raised, and every hash made to fit.
enum NewerFormat {
    /// From the format's document: the version is at 8, the header's length at 12, and the header ends with the first
    /// eight bytes of its own SHA-256.
    static func rewriting(_ file: URL) throws -> URL {
        var bytes = [UInt8](try Data(contentsOf: file))
        guard bytes.count > 24 else { throw Failure("a log file of \(bytes.count) bytes") }
        bytes[8] = 99
        let length = bytes[12..<16].reversed().reduce(0) { $0 << 8 | Int($1) }
        guard length >= 32, length < bytes.count else { throw Failure("a header of \(length) bytes") }
        bytes.replaceSubrange(length - 8..<length, with: Array(SHA256.hash(data: bytes[..<(length - 8)])).prefix(8))
        let hash = SHA256.hash(data: bytes).prefix(16).map { String(format: "%02x", $0) }.joined()
        var parts = file.deletingPathExtension().lastPathComponent.split(separator: "-").map(String.init)
        guard parts.count == 3 else { throw Failure("a log file named \(file.lastPathComponent)") }
        parts[2] = hash
        let renamed = file.deletingLastPathComponent().appendingPathComponent(parts.joined(separator: "-") + ".tlog")
        try Data(bytes).write(to: renamed)
        try FileManager.default.removeItem(at: file)
        return renamed
    }
}
