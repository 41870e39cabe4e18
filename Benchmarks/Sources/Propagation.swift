import Foundation
import Synchronization

/// How long it takes from a commit on one store until another store's reader sees it.
struct Propagation {
    let pair: DaemonPair
    /// Milliseconds: the median time that one `fsync` takes in the folder.
    let fsync: Double
    private var written = 0

    init(_ pair: DaemonPair, folder: String) throws {
        self.pair = pair
        fsync = try Self.fsyncMilliseconds(folder)
    }

    /// How often the reader looks, in microseconds; it sees a row that much too late at the most.
    fileprivate static let look: UInt32 = 300
    /// Seconds that a row may take before the run counts as failed.
    private static let patience = 60.0

    /// Writes transactions of one row at a steady rate.
    ///
    /// - Returns: each one's milliseconds, in order.
    mutating func run(rate: Int, seconds: Double) throws -> [Double] {
        let count = max(Int(Double(rate) * seconds), 1)
        let first = written + 1
        written += count
        let commits = Times(count)
        let sightings = Times(count)
        let reader = try Reader(pair.replica.path, first: first, count: count, sightings)
        let finished = DispatchSemaphore(value: 0)
        let thread = Thread {
            reader.run(until: ContinuousClock.now + .seconds(seconds + Self.patience))
            finished.signal()
        }
        thread.start()
        let insert = try pair.author.prepare("INSERT INTO ticks(key, body) VALUES (?, ?)")
        let start = ContinuousClock.now
        for index in 0..<count {
            let due = start + .seconds(Double(index) / Double(rate))
            let wait = (due - ContinuousClock.now) / .microseconds(1)
            if wait > 0 { usleep(UInt32(wait)) }
            insert.bind(Self.key(first + index), at: 1)
            insert.bind("Tick \(first + index), and what it has to say", at: 2)
            try insert.run()
            commits.set(index, to: ContinuousClock.now)
        }
        finished.wait()
        if let error = reader.error { throw error }
        return try zip(commits.all(), sightings.all()).map { commit, sighting in
            guard let commit, let sighting else {
                throw BenchmarkError("at \(rate) transactions a second some took longer than \(Self.patience) s")
            }
            return (sighting - commit) / .milliseconds(1)
        }
    }

    var rows: Int { written }

    fileprivate static func key(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: 12 - digits.count) + digits
    }

    private static func fsyncMilliseconds(_ folder: String) throws -> Double {
        let path = "\(folder)/fsync"
        guard FileManager.default.createFile(atPath: path, contents: nil),
            let file = FileHandle(forWritingAtPath: path)
        else { throw BenchmarkError("\(path) could not be made") }
        defer { try? FileManager.default.removeItem(atPath: path) }
        let page = Data(repeating: 1, count: 4096)
        var times: [Double] = []
        for _ in 0..<50 {
            let start = ContinuousClock.now
            try file.write(contentsOf: page)
            try file.synchronize()
            times.append((ContinuousClock.now - start) / .milliseconds(1))
        }
        try file.close()
        return median(times)
    }
}

/// One moment a transaction, written by one thread and read by another afterwards.
private final class Times: Sendable {
    private let moments: Mutex<[ContinuousClock.Instant?]>

    init(_ count: Int) { moments = Mutex(Array(repeating: nil, count: count)) }

    func set(_ index: Int, to moment: ContinuousClock.Instant) { moments.withLock { $0[index] = moment } }
    func all() -> [ContinuousClock.Instant?] { moments.withLock { $0 } }
}

/// Looks again and again which rows have come.
///
/// Unchecked because its connection is used by the one thread that runs it, and what it found is read when that has ended.
private final class Reader: @unchecked Sendable {
    private let database: PlainDatabase
    private let version: PlainStatement
    private let newest: PlainStatement
    private let range: Range<Int>
    private let sightings: Times
    private(set) var error: (any Error)?

    init(_ path: String, first: Int, count: Int, _ sightings: Times) throws {
        database = try PlainDatabase(path)
        version = try database.prepare("PRAGMA data_version")
        newest = try database.prepare("SELECT max(key) FROM ticks")
        range = first..<first + count
        self.sightings = sightings
    }

    func run(until deadline: ContinuousClock.Instant) {
        do {
            var next = range.lowerBound
            var seen: Int64 = -1
            while next < range.upperBound, ContinuousClock.now < deadline {
                usleep(Propagation.look)
                let now = try version.firstInteger()
                guard now != seen else { continue }
                seen = now
                guard let last = Int(try newest.firstText()) else { continue }
                let moment = ContinuousClock.now
                while next <= last, next < range.upperBound {
                    sightings.set(next - range.lowerBound, to: moment)
                    next += 1
                }
            }
        } catch {
            self.error = error
        }
    }
}

extension PlainStatement {
    fileprivate func firstInteger() throws -> Int64 {
        defer { reset() }
        return try step() ? integer(0) : 0
    }

    fileprivate func firstText() throws -> String {
        defer { reset() }
        return try step() ? text(0) : ""
    }
}
