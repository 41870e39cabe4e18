import Foundation
import Testing

/// What `init` has to be told of an application's database, and how it asks.
@Suite(.turn) struct InitTests {
    private static let books = """
        CREATE TABLE books(id INTEGER PRIMARY KEY, title TEXT); INSERT INTO books VALUES(1, 'Dune'), (2, 'Emma');
        CREATE TABLE comments(id INTEGER PRIMARY KEY, book INTEGER UNIQUE, text TEXT);
        INSERT INTO comments VALUES(1, 2, 'fine');
        """

    private func arguments(_ tool: Tool, _ more: String...) -> [String] {
        ["init", "a.db", "--container", tool.path("shared"), "--content", "books"] + more
    }

    @Test func `columns that are undecided end it with 78, and an option decides each`() async throws {
        let tool = try Tool()
        _ = try await tool.sql("a.db", Self.books)
        let refused = try await tool.run(arguments(tool))
        #expect(refused.code == 78 && refused.output.isEmpty)
        #expect(refused.errors.contains("--reference comments.book=books"))
        #expect(refused.errors.contains("--no-reference comments.book"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: tool.path("shared")).isEmpty)
        #expect(try await tool.sql("a.db", "SELECT count(*) FROM sqlite_master WHERE name LIKE 'logsync%'") == "0\n")

        let dry = try await tool.run(arguments(tool, "--dry-run", "--json"))
        #expect(dry.code == 78)
        #expect(try JSON(dry.errors)["error"]?["code"]?.string == "configuration")
        let report = try JSON(dry.output)
        let reference = try #require(report["references"]?.array.first)
        #expect(reference.keys == ["table", "column", "parent", "evidence", "taken"])
        #expect(reference["evidence"]?.string == "name-and-data" && reference["taken"]?.bool == false)
        #expect(report["undecided"]?.array.first?.keys == ["table", "column", "parent"])
        #expect(report["refusals"]?.array.isEmpty == true)

        #expect(try await tool.run(arguments(tool, "--no-reference", "comments")).code == 64)
        let two = ["--reference", "comments.book=books", "--reference", "Comments.book=comments"]
        #expect(try await tool.run(arguments(tool) + two).code == 64)
        #expect(try await tool.run(arguments(tool, "--no-reference", "comments.page")).code == 64)
        let decided = try await tool.run(arguments(tool, "--reference", "comments.book=books", "--json"))
        #expect(decided.code == 0, "\(decided)")
        #expect(try JSON(decided.output)["references"]?.array.first?["taken"]?.bool == true)
        // Who joins takes what was decided.
        _ = try await tool.sql("b.db", Self.books)
        var joining = arguments(tool, "--peer", "there")
        joining[1] = "b.db"
        #expect(try await tool.run(joining).code == 0)
    }

    @Test func `tables that cannot be replicated are named all at once`() async throws {
        let tool = try Tool()
        _ = try await tool.sql(
            "a.db",
            "CREATE TABLE a(rowid, oid, _rowid_); CREATE TABLE b(rowid, oid, _rowid_); CREATE TABLE c(k PRIMARY KEY)")
        let dry = try await tool.run(arguments(tool, "--dry-run", "--json"))
        #expect(dry.code == 65)
        let refusals = try JSON(dry.output)["refusals"]?.array ?? []
        #expect(refusals.map { $0["table"]?.string } == ["a", "b"])
        #expect(refusals.first?["remedies"]?.array.first?.string == "--skip a")
        let refused = try await tool.run(arguments(tool))
        #expect(refused.code == 65 && refused.errors.contains("--skip a --skip b"))
        #expect(try await tool.run(arguments(tool, "--skip", "a", "--local", "b")).code == 0)
    }

    @Test func `leave removes what is left of a store whose tables were dropped`() async throws {
        let tool = try Tool()
        let store = try await tool.store("a.db")
        let tables = try await tool.sql(
            "a.db",
            "SELECT 'DROP TABLE ' || name || ';' FROM sqlite_master WHERE type = 'table' AND name LIKE 'logsync%'")
        _ = try await tool.sql("a.db", tables)
        #expect(try await tool.run("doctor", store).code == 66)
        let dry = try JSON(await tool.run("leave", store, "--dry-run", "--json").output)
        #expect(dry["leftovers"]?.array.isEmpty == false && dry["dryRun"]?.bool == true)
        let left = try await tool.run("leave", store, "--json")
        #expect(left.code == 0)
        #expect(try JSON(left.output)["leftovers"]?.array.count == dry["leftovers"]?.array.count)
        #expect(try await tool.run("leave", store).code == 66)
    }
}
