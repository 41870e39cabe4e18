import Foundation

/// A `logsync watch --json` that has said it is ready.
struct Daemon: Sendable {
    let program: Running

    init(watching peers: Peer..., options: [String] = []) async throws {
        guard let first = peers.first else { throw Failure("a daemon watches something") }
        program = try first.sandbox.start(
            Program.logsync, ["watch"] + peers.map(\.path) + ["--json"] + options, environment: first.environment)
        let started = program
        try await eventually("watch is ready: \(started.errors)", within: 30) {
            guard started.isRunning else { throw Failure("watch ended: \(started.errors)\(started.output)") }
            return Set(Self.events(of: started, named: "ready").map { $0["store"] }).count == peers.count
        }
    }

    func events(named name: String) -> [JSON] { Self.events(of: program, named: name) }

    private static func events(of program: Running, named name: String) -> [JSON] {
        program.output.split(separator: "\n").compactMap { line in
            // The last line may be half written.
            guard let event = try? JSON(parsing: String(line)), event["event"].string == name else { return nil }
            return event
        }
    }

    /// Processor time used so far, in seconds.
    func processorTime() throws -> Double {
        let text = try String(contentsOfFile: "/proc/\(program.identifier)/stat", encoding: .utf8)
        guard let end = text.lastIndex(of: ")") else { throw Failure("no processor time in \(text)") }
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
            throw Failure("no processor time in \(text)")
        }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Ends it as systemd would.
    func stop() async -> Finished {
        program.signal(SIGTERM)
        return await program.finish(within: 20)
    }
}
