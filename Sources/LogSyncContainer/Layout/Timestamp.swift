/// Times in the container's documents: RFC 3339 in UTC with milliseconds, `2026-01-31T12:34:56.789Z`.
enum Timestamp {
    /// - Parameter milliseconds: Unix time; years 1970 to 9999.
    static func format(_ milliseconds: Int64) -> String {
        let clamped = min(max(milliseconds, 0), 253_402_300_799_999)
        let (days, rest) = (clamped / 86_400_000, clamped % 86_400_000)
        // Civil date from a day count. Source: <https://howardhinnant.github.io/date_algorithms.html#civil_from_days>.
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let part = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * part + 2) / 5 + 1
        let month = part < 10 ? part + 3 : part - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        let time = [rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60].map { pad($0, 2) }.joined(separator: ":")
        return "\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2))T\(time).\(pad(rest % 1000, 3))Z"
    }

    /// Returns Unix milliseconds, or nil unless `text` is exactly what ``format(_:)`` makes.
    static func parse(_ text: String) -> Int64? {
        let bytes = Array(text.utf8)
        guard bytes.count == 24 else { return nil }
        func number(_ range: Range<Int>) -> Int64? { Int64(String(decoding: bytes[range], as: UTF8.self)) }
        guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
            let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
            let millisecond = number(20..<23), (1...12).contains(month)
        else { return nil }
        let shiftedYear = month <= 2 ? year - 1 : year
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let leapDays = shiftedYear / 4 - shiftedYear / 100 + shiftedYear / 400
        let days = shiftedYear * 365 + leapDays + dayOfYear - 719_468
        let milliseconds = ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + millisecond
        return format(milliseconds) == text ? milliseconds : nil
    }

    private static func pad(_ value: Int64, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
