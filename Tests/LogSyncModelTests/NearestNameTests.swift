import Testing

@testable import LogSyncModel

@Suite struct NearestNameTests {
    @Test(arguments: [
        ("ntes", "notes"), ("Notes", "notes"), ("noets", "notes"), ("musik", "music"), ("recipesx", "recipes"),
        ("photographs", nil), ("x", nil), ("", nil),
    ])
    func `the nearest name is meant, where it is near`(given: String, meant: String?) {
        #expect(given.nearest(among: ["notes", "music", "recipes"]) == meant)
    }

    @Test func `what is very long is no misspelling`() {
        #expect(String(repeating: "a", count: 10_000).nearest(among: [String(repeating: "a", count: 9_999)]) == nil)
    }
}
