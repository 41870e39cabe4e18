import Foundation

/// Two stores of one content, each with a daemon, as `init`, `clone` and `watch` make them.
struct DaemonPair {
    let author: PlainDatabase
    let replica: PlainDatabase
    let daemons: [Daemon]

    private static let schema = "CREATE TABLE ticks(key TEXT PRIMARY KEY NOT NULL, body TEXT)"

    /// - Parameter tool: the path of `logsync`.
    init(tool: String, folder: String) throws {
        var environment = ProcessInfo.processInfo.environment
        environment["STATE_DIRECTORY"] = "\(folder)/state"
        environment["LOGSYNC_CONFIG"] = nil
        func logsync(_ arguments: String...) throws {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: tool)
            process.arguments = arguments + ["--quiet"]
            process.environment = environment
            process.standardOutput = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
            guard process.terminationStatus == 0 else {
                throw BenchmarkError("logsync \(arguments[0]) ended with \(process.terminationStatus)")
            }
        }
        let (container, one, two) = ("\(folder)/container", "\(folder)/one/store.db", "\(folder)/two/store.db")
        for path in [container, "\(folder)/one", "\(folder)/two"] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
        author = try PlainDatabase(one)
        try author.execute(Self.schema)
        try logsync("init", one, "--container", container, "--content", "bench", "--peer", "one")
        try logsync("clone", "--container", container, "--content", "bench", two, "--peer", "two")
        replica = try PlainDatabase(two)
        daemons = try [one, two].map { try Daemon(tool: tool, store: $0, environment: environment) }
    }

    func stop() throws { try daemons.forEach { try $0.stop() } }

    /// Both hold so many rows, and the same.
    func check(rows: Int) throws {
        let sql = "SELECT key, body FROM ticks ORDER BY key"
        let (written, read) = (try author.content(sql), try replica.content(sql))
        guard written.rows == rows, read == written else {
            throw BenchmarkError("\(rows) rows were written, \(written.rows) stand and \(read.rows) arrived")
        }
    }
}
