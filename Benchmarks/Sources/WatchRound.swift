import Foundation

/// What two daemons do between two stores on one machine, and what they need for it.
struct WatchRound {
    let tool: String
    let folder: String
    /// How long to write at each rate, and how long to let them idle.
    let seconds: Double
    let idle: Double

    func run() throws -> [Finding] {
        let pair = try DaemonPair(tool: tool, folder: folder)
        do {
            let findings = try measure(pair)
            try pair.stop()
            return findings
        } catch {
            // The first error is what is of interest.
            try? pair.stop()
            throw error
        }
    }

    private func measure(_ pair: DaemonPair) throws -> [Finding] {
        var propagation = try Propagation(pair, folder: folder)
        // The first row finds both daemons ready.
        _ = try propagation.run(rate: 1, seconds: 1)
        var findings = try idling(pair)
        findings.append(Finding(what: "fsync of 4 kB, p50", value: propagation.fsync, unit: "ms"))
        for rate in [1, 10, 100, 1000] {
            let times = try propagation.run(rate: rate, seconds: seconds)
            let isAimedAt = rate == 100
            findings.append(
                Finding(
                    what: "from commit to sight at \(rate)/s, p50", value: median(times), unit: "ms",
                    target: isAimedAt ? 15 + 4 * propagation.fsync : nil))
            findings.append(
                Finding(
                    what: "from commit to sight at \(rate)/s, p99", value: percentile(99, times), unit: "ms",
                    target: isAimedAt ? 60 : nil))
        }
        try pair.check(rows: propagation.rows)
        for (name, daemon) in zip(["author", "importer"], pair.daemons) {
            findings.append(
                Finding(
                    what: "memory of the \(name)'s daemon, peak", value: try daemon.usage().peak, unit: "MB", target: 40
                ))
        }
        return findings
    }

    private func idling(_ pair: DaemonPair) throws -> [Finding] {
        // What happens after a change (receipts, mending, looking again) comes to rest.
        Thread.sleep(forTimeInterval: 5)
        let before = try pair.daemons.map { try $0.usage() }
        Thread.sleep(forTimeInterval: idle)
        let after = try pair.daemons.map { try $0.usage() }
        let wakes = zip(before, after).map { $1.wakes(since: $0) }.max() ?? 0
        let cpu = zip(before, after).map { $1.cpu - $0.cpu }.max() ?? 0
        return [
            Finding(what: "memory of an idle daemon", value: after.map(\.resident).max() ?? 0, unit: "MB", target: 40),
            // The full look once a minute may fall into it.
            Finding(what: "an idle daemon wakes", value: wakes / idle, unit: "times a second", target: 1),
            Finding(what: "an idle daemon's CPU time", value: cpu / idle * 1000, unit: "ms a second", target: 1),
        ]
    }
}
