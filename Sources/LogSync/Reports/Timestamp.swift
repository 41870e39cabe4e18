public import Foundation

/// A moment for people and JSON: RFC 3339 in UTC with milliseconds, as `2025-03-01T12:00:00.000Z`.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Unix time in milliseconds.
    public var milliseconds: Int64

    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    public var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }

    public static func < (a: Timestamp, b: Timestamp) -> Bool { a.milliseconds < b.milliseconds }
}

extension Timestamp: CustomStringConvertible {
    public var description: String {
        let (seconds, fraction) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        let (whole, rest) = fraction < 0 ? (seconds - 1, fraction + 1000) : (seconds, fraction)
        let days = whole >= 0 ? whole / 86_400 : (whole - 86_399) / 86_400
        let (year, month, day) = Self.civil(days: days)
        let second = whole - days * 86_400
        func padded(_ number: Int64, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T\(padded(second / 3600, 2)):"
            + "\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2)).\(padded(rest, 3))Z"
    }

    /// The date in the Gregorian calendar, `days` after 1970-01-01.
    /// Source: Howard Hinnant, <https://howardhinnant.github.io/date_algorithms.html#civil_from_days>.
    private static func civil(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}

extension Timestamp: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let timestamp = Timestamp(text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "a time is RFC 3339 in UTC, not \(text.debugDescription)")
        }
        self = timestamp
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }

    /// Reads what ``description`` writes. Returns nil for anything else.
    public init?(_ text: some StringProtocol) {
        let strategy = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        // What is no date is answered with nil.
        guard let date = try? strategy.parse(String(text)) else { return nil }
        milliseconds = Int64((date.timeIntervalSince1970 * 1000).rounded())
    }
}
