import Testing

@testable import LogSyncStore

/// Tables whose rows are numbered in the order of a tree.
@Suite("Rows that are numbered in the order of a tree")
struct NumberedTreeTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private func warnings(_ sql: String) throws -> [String] {
        try folder.examine(sql, in: "app").warnings.filter { $0.contains("tree") }
    }

    @Test(
        "Of the two numbers between which a row's descendants are, init says that two machines cannot both give them",
        arguments: [
            ("lft INTEGER, rght INTEGER", "(1, 'a', 1, 6), (2, 'b', 2, 3), (3, 'c', 4, 5)", true),
            ("lft INTEGER, rgt INTEGER", nil, true), ("tree_left INT, tree_right INT", "(1, 'a', 1, 2)", true),
            ("lft INTEGER, rgt INTEGER", "(1, 'a', 1, 2), (2, 'b', 1, 2), (3, 'c', NULL, NULL)", true),
            ("\"left\" INTEGER, \"right\" INTEGER", "(1, 'a', 1, 6), (2, 'b', 2, 3), (3, 'c', 4, 5)", true),
            ("\"left\" INTEGER, \"right\" INTEGER", "(1, 'a', 10, 60), (2, 'b', 2, 3), (3, 'c', 4, 5)", false),
            ("\"left\" INTEGER, \"right\" INTEGER", nil, false),
            ("lft INTEGER, rgt INTEGER", "(1, 'a', 2, 1)", false), ("lft TEXT, rgt TEXT", nil, false),
            ("lft INTEGER, other INTEGER", nil, false),
        ] as [(String, String?, Bool)])
    func nestedSets(columns: String, rows: String?, isTree: Bool) throws {
        let said = try warnings(
            "CREATE TABLE category(id INTEGER PRIMARY KEY, name TEXT, \(columns));"
                + (rows.map { "INSERT INTO category VALUES\($0);" } ?? ""))
        #expect(said.map { $0.hasPrefix("category: ") } == (isTree ? [true] : []))
    }

    @Test("Nor can they give paths that are counted", arguments: ["path TEXT UNIQUE", "path TEXT"])
    func paths(path: String) throws {
        let said = try warnings(
            "CREATE TABLE page(id INTEGER PRIMARY KEY, \(path), depth INTEGER, numchild INTEGER, title TEXT);")
        #expect(said.map { $0.hasPrefix("page: path ") } == (path.hasSuffix("UNIQUE") ? [true] : []))
    }
}
