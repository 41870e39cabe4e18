import LogSyncModel
import Testing

/// The collation `unicase`, compared with what Anki's own library (26.9) said.
struct FoldedTextTests {
    /// `SELECT dense_rank() OVER (ORDER BY text COLLATE unicase)` of texts of one scalar each: of all that fold, those that
    /// others fold to, and those that later versions of Unicode fold.
    @Test func `the order of scalars is that of Anki`() {
        let ranges: [Range<UInt32>] = [
            1..<0x3000, 0xA640..<0xAC00, 0xFB00..<0xFB50, 0xFF00..<0xFFF0, 0x10400..<0x10600, 0x10C80..<0x10D00,
            0x118A0..<0x118E0, 0x16E40..<0x16E80, 0x1E900..<0x1E960,
        ]
        let folded = ranges.joined().map { value in
            (value: value, text: FoldedText.fold(Array(String(Unicode.Scalar(value).map(Character.init) ?? " ").utf8)))
        }
        let order = Set(folded.map(\.text)).sorted { $0.lexicographicallyPrecedes($1) }
        let ranks = Dictionary(uniqueKeysWithValues: zip(order, 1...))
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for (value, text) in folded {
            for number in [UInt64(value), UInt64(ranks[text] ?? 0)] { hash = (hash ^ number) &* 0x100_0000_01b3 }
        }
        #expect(hash == 0xd426_74b5_8cd4_35da)
    }

    @Test func `texts are in the order of Anki, and the same where it has them the same`() {
        let order: [[String]] = [
            [""], ["1"], ["["], ["_"], ["a"], ["aa"], ["B"], ["\u{FB00}", "ff"], ["ffi"], ["I"], ["\u{FB03}", "iff"],
            ["\u{130}", "i\u{307}"], ["\u{17F}", "s"], ["\u{1E9E}", "ss"], ["Straße", "STRASSE", "strasse"], ["z"],
            ["\u{E9}", "\u{C9}"], ["\u{131}"], ["\u{149}", "\u{2BC}n"], ["\u{390}"], ["Σ", "σ", "ς"],
            ["\u{AB70}", "\u{13A0}"], ["\u{1FB2}", "\u{1F70}\u{3B9}"], ["日本"], ["\u{A7C7}"], ["\u{A7C8}"],
        ]
        for (place, texts) in order.enumerated() {
            for (otherPlace, others) in order.enumerated() {
                for text in texts {
                    for other in others { #expect(compare(text, other) == (place - otherPlace).signum()) }
                }
            }
        }
        #expect(compare("a\0b", "a") == 1)
    }

    private func compare(_ a: String, _ b: String) -> Int {
        Array(a.utf8).withUnsafeBytes { a in
            Array(b.utf8).withUnsafeBytes { b in Int(FoldedText.compare(a, b)).signum() }
        }
    }
}
