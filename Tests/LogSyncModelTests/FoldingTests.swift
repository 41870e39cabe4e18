import LogSyncModel
import Testing

@Suite("Names are compared as SQLite compares them, and letters put together in any way are one")
struct FoldingTests {
    @Test(
        "as a whole and as a part of another",
        arguments: [
            ("", ""), ("note", "note"), ("Note", "note"), ("a[Z]`@{", "a[z]`@{"), ("ÄRGER", "Ärger"), ("İ", "İ"),
            ("e\u{301}T", "\u{E9}t"), ("\u{E9}t", "\u{E9}t"),
            ("longer than what fits into one WORD", "longer than what fits into one word"),
        ])
    func folded(name: String, expected: String) {
        #expect(name.folded.utf8.elementsEqual(expected.utf8), "\(Array(name.folded.utf8))")
        #expect(name[...].folded.utf8.elementsEqual(expected.utf8))
    }
}
