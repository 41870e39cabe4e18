import ArgumentParser

/// A number as an option takes it, within bounds that the option names.
///
/// Its options take the argument after them whatever that is (`parsing: .unconditional`): `-1` is a value that is wrong, and
/// no other option.
protocol NumberArgument: ExpressibleByArgument {
    /// What the option takes, as the end of a sentence.
    static var form: String { get }
}

extension NumberArgument {
    /// For `transform:` of an option.
    static func parse(_ argument: String) throws -> Self {
        guard let value = Self(argument: argument) else { throw ValidationError("it takes \(form)") }
        return value
    }
}

/// How many of something.
struct CountArgument: NumberArgument {
    static let form = "a whole number from 0 up"
    var count: Int

    init?(argument: String) {
        guard let count = Int(argument), count >= 0 else { return nil }
        self.count = count
    }
}

/// The token of a transaction.
struct TokenArgument: NumberArgument {
    static let form = "the token of a transaction, a whole number"
    var token: Int64

    init?(argument: String) {
        guard let token = Int64(argument) else { return nil }
        self.token = token
    }
}

/// A span of time in days, up to a century.
struct Days: NumberArgument {
    static let form = "days from 0 to 36500"
    var days: Double

    init(_ days: Double) { self.days = days }

    init?(argument: String) {
        guard let days = Double(argument), (0...36500).contains(days) else { return nil }
        self.days = days
    }
}
