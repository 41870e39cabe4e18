/// One figure that stands for itself: not a comparison with plain SQLite.
struct Finding: Encodable {
    var what: String
    var value: Double
    var unit: String
    /// What the design wants it to be at the most, in the same unit; nil where it says nothing.
    var target: Double?

    var isMet: Bool? { target.map { value <= $0 } }

    private enum CodingKeys: String, CodingKey {
        case what, value, unit, target, isMet
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(what, forKey: .what)
        try container.encode(value, forKey: .value)
        try container.encode(unit, forKey: .unit)
        try container.encodeIfPresent(target, forKey: .target)
        try container.encodeIfPresent(isMet, forKey: .isMet)
    }
}

/// The least value that so many hundredths of all are not above; 0 where there is none.
func percentile(_ hundredths: Int, _ values: [Double]) -> Double {
    let sorted = values.sorted()
    guard !sorted.isEmpty else { return 0 }
    return sorted[max(0, (sorted.count * hundredths + 99) / 100 - 1)]
}

func median(_ values: [Double]) -> Double { percentile(50, values) }
