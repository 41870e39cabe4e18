import LogSyncModel

/// How the times of a group's rows, and the stamps of a snapshot's, are encoded.
enum TimeEncoding: UInt8 {
    /// One for all.
    case constant = 0
    /// Differences of milliseconds; every counter is 0.
    case milliseconds = 1
    /// Differences of milliseconds, then counters.
    case counters = 2

    /// The one for times that are not all the same.
    init(of times: some Sequence<HybridTime>) {
        self = times.contains { $0.counter != 0 } ? .counters : .milliseconds
    }

    init(from reader: inout ByteReader) throws {
        let raw = try reader.byte()
        guard let encoding = TimeEncoding(rawValue: raw) else { throw reader.newer("time encoding \(raw)") }
        self = encoding
    }
}

/// Times one after the other (Documentation/log-format.md, times): the difference of each one's milliseconds from those
/// before, then all counters.
struct TimeColumn {
    /// The milliseconds from which the first one's differ.
    let base: Int64
    let encoding: TimeEncoding

    func encode(_ times: some Collection<HybridTime>, to out: ByteWriter) {
        var previous = base
        for time in times {
            out.append(zigzag: time.milliseconds - previous)
            previous = time.milliseconds
        }
        guard encoding == .counters else { return }
        for time in times { out.append(varint: UInt64(time.counter)) }
    }

    /// - Parameter count: bounded by the caller.
    func decode(_ count: Int, from reader: inout ByteReader) throws -> [HybridTime] {
        guard count <= reader.remaining else { throw reader.damaged("the payload ends early") }
        var times: [HybridTime] = []
        times.reserveCapacity(count)
        var previous = base
        for _ in 0..<count {
            previous = try reader.milliseconds(after: previous)
            times.append(HybridTime(milliseconds: previous))
        }
        guard encoding == .counters else { return times }
        for row in 0..<count {
            times[row] = HybridTime(rawValue: times[row].rawValue | UInt64(try reader.timeCounter()))
        }
        return times
    }
}

extension ByteReader {
    /// Milliseconds as their difference from others.
    @inline(__always)
    mutating func milliseconds(after previous: Int64) throws -> Int64 {
        let (sum, overflow) = previous.addingReportingOverflow(try zigzag())
        guard !overflow, sum >= 0, sum <= HybridTime.maximumMilliseconds else { throw damaged("a time out of range") }
        return sum
    }

    @inline(__always)
    mutating func timeCounter() throws -> UInt16 {
        let counter = try varint()
        guard let counter = UInt16(exactly: counter) else { throw damaged("a time's counter out of range") }
        return counter
    }
}
