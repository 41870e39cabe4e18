import Foundation
import SimulationVFS

/// Runs a migration again and again, each time with something else that happens to it: its program dies before each
/// statement, a process at each change that the migration, the recording after it, or an import makes; the power goes
/// there; and changes are refused to a process that goes on. What comes of it has to be what comes of it undisturbed.
struct MigrationDeaths {
    let subject: MigrationCase
    /// Whether the stores have a write-ahead log; a rollback journal otherwise.
    let hasLog: Bool
    let root: String
    private(set) var runs = 0
    private(set) var points = 0

    init(_ subject: MigrationCase, hasLog: Bool, root: String) {
        self.subject = subject
        self.hasLog = hasLog
        self.root = root
    }

    /// - Parameters:
    ///   - limit: where there is more that can happen, so much of it is tried, evenly spread.
    ///   - report: is told of what went wrong.
    mutating func run(limit: Int, report: (String) -> Void) throws {
        let (undisturbed, changes) = try course(.none)
        guard let undisturbed else { return report("undisturbed: \(failure ?? "")") }
        let all = disturbances(changes)
        points = all.count
        let stride = max(Double(all.count) / Double(max(limit, 1)), 1)
        for number in 0..<min(all.count, limit) {
            let disturbance = all[Int(Double(number) * stride + stride / 2) % all.count]
            runs += 1
            guard let outcome = try course(disturbance).outcome else {
                report("\(disturbance): \(failure ?? "")")
                continue
            }
            if let difference = difference(of: outcome, to: undisturbed, disturbance) {
                report("\(disturbance): \(difference)")
            }
        }
    }

    private var failure: String?

    private mutating func course(
        _ disturbance: MigrationCourse.Disturbance
    ) throws -> (outcome: MigrationCourse.Outcome?, changes: [MigrationCourse.Place: [ChangeKind]]) {
        let directory = "\(root)/\(runs)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        // Each run has a folder of its own.
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let course = try MigrationCourse(subject, disturbance, hasLog: hasLog, directory: directory)
        defer { course.close() }
        do {
            failure = nil
            return (try course.run(), course.changes)
        } catch {
            failure = "while \(course.step): \(error)"
            return (nil, course.changes)
        }
    }

    private func disturbances(
        _ changes: [MigrationCourse.Place: [ChangeKind]]
    ) -> [MigrationCourse.Disturbance] {
        MigrationCourse.Place.allCases.flatMap { place -> [MigrationCourse.Disturbance] in
            var all: [MigrationCourse.Disturbance] = []
            if place.isMigration {
                all += (0...subject.migration.count).map { .statement($0, place) }
            }
            for (index, kind) in (changes[place] ?? []).enumerated() {
                all.append(.death(Death(kind: .store, change: index + 1, extent: .none), place))
                all.append(.death(Death(kind: .power, change: index + 1, extent: .none), place))
                if kind == .divisible {
                    all.append(.death(Death(kind: .store, change: index + 1, extent: .half), place))
                }
                if !place.isMigration { all.append(.refusal(index + 1, place)) }
            }
            return all
        }
    }

    private func difference(
        of outcome: MigrationCourse.Outcome, to undisturbed: MigrationCourse.Outcome,
        _ disturbance: MigrationCourse.Disturbance
    ) -> String? {
        for (name, left, right) in [
            ("rows", outcome.rows, undisturbed.rows), ("conflicts", outcome.conflicts, undisturbed.conflicts),
            ("parked rows", outcome.parked, undisturbed.parked),
        ] where left != right && !(name == "conflicts" && subject.isRecordedLate) {
            return "other \(name) than undisturbed: \(MigrationCourse.difference(left, right))"
        }
        let isAlike =
            disturbance.divides || subject.isRecordedLate || outcome.digest == undisturbed.digest
        return isAlike ? nil : "another digest than undisturbed"
    }
}
