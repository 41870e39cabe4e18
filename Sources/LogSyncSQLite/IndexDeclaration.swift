/// The parts of a `CREATE INDEX` statement.
package struct IndexDeclaration {
    package var terms: [String]
    package var condition: String?

    package init?(_ sql: String) {
        let tokens = SQLTokens(sql)
        guard let on = tokens.firstIndex(of: "ON"), let open = tokens.firstIndex(of: "(", from: on) else { return nil }
        guard let close = tokens.closing(open) else { return nil }
        var terms: [String] = []
        var start = open + 1
        for comma in tokens.commas(in: open + 1..<close) + [close] {
            var end = comma
            if end > start, ["ASC", "DESC"].contains(tokens.word(end - 1)) { end -= 1 }
            terms.append(tokens.text(start..<end))
            start = comma + 1
        }
        self.terms = terms
        if tokens.count > close + 2, tokens.word(close + 1) == "WHERE" {
            condition = tokens.text(close + 2..<tokens.count)
        }
    }
}
