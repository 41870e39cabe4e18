import Foundation

/// A running `logsync watch` of the tool as it is shipped.
final class Daemon {
    private let process = Process()
    let store: String

    init(tool: String, store: String, environment: [String: String]) throws {
        self.store = store
        process.executableURL = URL(fileURLWithPath: tool)
        process.arguments = ["watch", store, "--quiet"]
        process.environment = environment
        try process.run()
    }

    /// Ends it as systemd would.
    ///
    /// - Throws: where it does not end with 0.
    func stop() throws {
        process.terminate()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw BenchmarkError("logsync watch \(store) ended with \(process.terminationStatus)")
        }
    }

    /// What the kernel counts for it.
    struct Usage {
        /// MB, the most it ever had in memory, and what it has now.
        var peak = 0.0
        var resident = 0.0
        /// How often each of its threads went to sleep.
        var sleeps: [String: Double] = [:]
        /// Seconds of CPU time, in hundredths.
        var cpu = 0.0

        /// How often threads woke since `before`; those that ended meanwhile do not count.
        func wakes(since before: Usage) -> Double {
            sleeps.reduce(0) { $0 + $1.value - (before.sleeps[$1.key] ?? 0) }
        }
    }

    func usage() throws -> Usage {
        let path = "/proc/\(process.processIdentifier)"
        var usage = Usage()
        let status = try Self.fields("\(path)/status")
        usage.peak = (status["VmHWM"] ?? 0) / 1024
        usage.resident = (status["VmRSS"] ?? 0) / 1024
        for thread in try FileManager.default.contentsOfDirectory(atPath: "\(path)/task") {
            // A thread may have ended meanwhile.
            guard let fields = try? Self.fields("\(path)/task/\(thread)/status") else { continue }
            usage.sleeps[thread] = fields["voluntary_ctxt_switches"] ?? 0
        }
        let words = try String(contentsOfFile: "\(path)/stat", encoding: .utf8).split(separator: ")").last?
            .split(separator: " ")
        guard let words, words.count > 12, let user = Double(words[11]), let system = Double(words[12]) else {
            throw BenchmarkError("\(path)/stat cannot be read")
        }
        usage.cpu = (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
        return usage
    }

    private static func fields(_ path: String) throws -> [String: Double] {
        var fields: [String: Double] = [:]
        for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") {
            let parts = line.split(separator: ":")
            guard parts.count == 2, let number = parts[1].split(whereSeparator: \.isWhitespace).first else { continue }
            fields[String(parts[0])] = Double(number)
        }
        return fields
    }
}
