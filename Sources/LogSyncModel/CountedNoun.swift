extension BinaryInteger {
    /// This many of something, for people: `1 row`, `2 rows`.
    ///
    /// - Parameters:
    ///   - one: the noun, and what has to agree with it, where there is one.
    ///   - many: the same where there are none or several; nil to put an s after it.
    package func counted(_ one: String, _ many: String? = nil) -> String {
        "\(self) \(self == 1 ? one : many ?? one + "s")"
    }
}
