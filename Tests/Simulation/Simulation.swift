import ArgumentParser
import Foundation
import SimulationVFS

/// Runs random scenarios on real stores and compares what they show with what an oracle says.
@main
struct Simulation: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs random scenarios on real stores, and compares them with an oracle.",
        discussion: "Each seed is one scenario: Simulation --seeds 1000. One seed, step by step: Simulation --seed 215."
    )

    @Option(help: "How many seeds to run.") var seeds = 1000
    @Option(help: "The first seed.") var from: UInt64 = 1
    @Option(help: "Run this one seed and say each step.") var seed: UInt64?
    @Option(help: "How many processes share the work.") var jobs = 1
    @Option(help: "Features to add to and (with a dash) take from what is there: sum,-policies; none begins with none.")
    var features = ""
    @Option(help: "Features that every scenario makes use of, such as folders,crashes.") var certain = ""
    @Option(help: "End after so many failures.") var failures = 20
    @Flag(help: "Do not shrink what fails.") var whole = false
    @Flag(help: "Make small scenarios with folders, and run each with a death at every change that it makes.")
    var crashes = false
    @Flag(help: "Run migrations of all kinds, each with a death at every statement and every change.")
    var migrations = false
    @Option(help: "Of these, only those whose names have these words.") var only = ""
    @Option(help: "Of a scenario's or migration's deaths run so many at most, evenly spread.") var deaths = 5000
    @Option(help: "Keep the folders of what fails in this one, by the number of the run.") var keep: String?
    @Option(help: "Shrink what fails for so many seconds at most.") var shrinking = 60.0
    @Option(help: .hidden) var stride: UInt64 = 1

    func run() async throws {
        guard let allowed = Features(changes: features), let certain = Features(names: certain) else {
            throw ValidationError("A feature is one of \(Feature.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        if crashes, seed != nil { return try await enumerate(allowed, certain) }
        if let seed { return try await replay(seed, allowed, certain) }
        if jobs > 1 { return try await share() }
        if crashes { return try await enumerate(allowed, certain) }
        if migrations { return try migrate() }
        let runner = try Runner(keeping: keep)
        let beginning = Date()
        var failed: [UInt64] = []
        var seed = from
        var ran = 0
        while ran < seeds, failed.count < failures {
            var generator = ScenarioGenerator(seed: seed, allowed: allowed, certain: certain)
            let scenario = generator.scenario()
            if let failure = await runner.failure(of: scenario) {
                failed.append(seed)
                say("FAILED seed \(seed): \(failure)")
                if !whole { await report(scenario, failure, runner) }
            }
            seed += stride
            ran += 1
            // A long run may be ended by a signal.
            if ran % 500 == 0 { say("\(ran) seeds from \(from) on, \(failed.count) failed") }
        }
        let seconds = Date().timeIntervalSince(beginning)
        say(
            "\(ran) seeds in \(String(format: "%.1f", seconds)) s, \(String(format: "%.1f", Double(ran) / seconds)) a second: "
                + (failed.isEmpty
                    ? "all agree" : "\(failed.count) failed: \(failed.map(String.init).joined(separator: " "))"))
        say("    \(runner.yield)")
        if !failed.isEmpty { throw ExitCode(1) }
    }

    private func report(_ scenario: Scenario, _ failure: Failure, _ runner: Runner) async {
        var shrinker = Shrinker(scenario, failure, runner: runner, seconds: shrinking)
        let small = await shrinker.shrink()
        say("\(small.scenario)\n    \(small.failure)\n")
        guard seed != nil else { return }
        say("Step by step:\n")
        _ = await runner.failure(of: small.scenario, trace: say)
    }

    /// One seed, with every step; then the smallest scenario that fails alike.
    private func replay(_ seed: UInt64, _ allowed: Features, _ certain: Features) async throws {
        var generator = ScenarioGenerator(seed: seed, allowed: allowed, certain: certain)
        let scenario = generator.scenario()
        let runner = try Runner(keeping: keep)
        say("\(scenario)\n\nfeatures: \(scenario.features.map(\.rawValue).sorted().joined(separator: ", "))\n")
        guard let failure = await runner.failure(of: scenario, trace: say) else {
            say("seed \(seed): all agree")
            return
        }
        say("FAILED \(failure)\n\nThe smallest like it:\n")
        if !whole { await report(scenario, failure, runner) }
        throw ExitCode(1)
    }

    /// Every death of every seed's small scenario.
    private func enumerate(_ allowed: Features, _ certain: Features) async throws {
        let runner = try Runner(keeping: keep)
        let beginning = Date()
        var failed = 0
        var ran = 0
        var points = 0
        var scenarios = 0
        var seed = seed ?? from
        while scenarios < (self.seed == nil ? seeds : 1), failed < failures {
            var generator = ScenarioGenerator(seed: seed, allowed: allowed, certain: certain.union([.folders]))
            var crashes = Crashes(generator.smallScenario(), runner: runner)
            try await crashes.run(limit: deaths) { scenario, failure in
                failed += 1
                say("FAILED seed \(seed): \(failure)")
                if whole { say(scenario.description) } else { await report(scenario, failure, runner) }
                return failed < failures
            }
            ran += crashes.runs
            points += crashes.points
            scenarios += 1
            say("seed \(seed): \(crashes.runs) of \(crashes.points) deaths")
            seed += stride
        }
        let seconds = Date().timeIntervalSince(beginning)
        say(
            "\(ran) of \(points) deaths in \(scenarios) scenarios in \(String(format: "%.1f", seconds)) s: "
                + (failed == 0 ? "all made good" : "\(failed) failed"))
        if failed > 0 { throw ExitCode(1) }
    }

    /// Every death of every migration, with and without a write-ahead log.
    private func migrate() throws {
        let base = FileManager.default.isWritableFile(atPath: "/dev/shm") ? "/dev/shm" : NSTemporaryDirectory()
        let root = "\(base)/logsync-migrations-\(UUID().uuidString)"
        guard simulation_vfs_register() == 0 else {
            throw Failure(.program, "the simulation's VFS cannot be registered")
        }
        // What is left in memory or among temporary files is the system's to clear away.
        defer { try? FileManager.default.removeItem(atPath: root) }
        let beginning = Date()
        var (failed, ran, points) = (0, 0, 0)
        let subjects = MigrationCase.all.filter { only.isEmpty || $0.name.contains(only) }
        for (index, subject) in subjects.enumerated() where UInt64(index) % stride == (from - 1) % stride {
            // Both where all of them are run, else one after the other.
            for hasLog in deaths >= 1000 ? [true, false] : [index.isMultiple(of: 2)] {
                var deaths = MigrationDeaths(subject, hasLog: hasLog, root: root)
                try deaths.run(limit: self.deaths) { problem in
                    failed += 1
                    say("FAILED \(subject.name), \(hasLog ? "with a log" : "with a journal"): \(problem)")
                }
                ran += deaths.runs
                points += deaths.points
            }
        }
        let seconds = Date().timeIntervalSince(beginning)
        say(
            "\(ran) of \(points) deaths in \(subjects.count) migrations in \(String(format: "%.1f", seconds)) s: "
                + (failed == 0 ? "all made good" : "\(failed) failed"))
        if failed > 0 { throw ExitCode(1) }
    }

    /// Runs itself several times, each for a part of the seeds.
    private func share() async throws {
        var workers: [Process] = []
        for job in 0..<jobs {
            let worker = Process()
            worker.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            let count = seeds / jobs + (job < seeds % jobs ? 1 : 0)
            worker.arguments = [
                "--seeds", "\(count)", "--from", "\(from + UInt64(job))", "--stride", "\(jobs)", "--failures",
                "\(failures)",
            ]
            if !features.isEmpty { worker.arguments?.append("--features=\(features)") }
            if !certain.isEmpty { worker.arguments?.append("--certain=\(certain)") }
            if whole { worker.arguments?.append("--whole") }
            if crashes { worker.arguments? += ["--crashes", "--deaths", "\(deaths)"] }
            if migrations { worker.arguments? += ["--migrations", "--deaths", "\(deaths)", "--only", only] }
            try worker.run()
            workers.append(worker)
        }
        var isFine = true
        for worker in workers {
            worker.waitUntilExit()
            isFine = isFine && worker.terminationStatus == 0
        }
        if !isFine { throw ExitCode(1) }
    }
}

/// Writes a line at once, so that nothing is lost where a run ends badly.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
