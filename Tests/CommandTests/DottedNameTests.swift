import Foundation
import Testing

/// Tables and columns with a dot in their names, as R's data frames bring them: options name them as the database does.
@Suite(.turn) struct DottedNameTests {
    private static let orders = """
        CREATE TABLE "my.users"(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO "my.users"(name) VALUES('Ann'), ('Bob');
        CREATE TABLE orders(id INTEGER PRIMARY KEY, "user.id" INTEGER, "total=cents" INTEGER);
        INSERT INTO orders("user.id", "total=cents") VALUES(1, 100), (2, 200);
        """
    private static let names = "SELECT group_concat(name) FROM orders JOIN \"my.users\" AS u ON u.id = \"user.id\""

    private func arguments(_ tool: Tool, _ store: String, _ more: String...) -> [String] {
        ["init", store, "--container", tool.path("shared"), "--content", "orders"] + more
    }

    @Test func `what init offers for a column with a dot in its name decides it`() async throws {
        let tool = try Tool()
        _ = try await tool.sql("a.db", Self.orders)
        let asked = try await tool.run(arguments(tool, "a.db"))
        #expect(asked.code == 78 && asked.errors.contains("--reference orders.user.id=my.users"), "\(asked)")
        #expect(try await tool.run(arguments(tool, "a.db", "--dry-run", "--no-reference", "orders.user.id")).code == 0)
        let misspelt = try await tool.run(arguments(tool, "a.db", "--no-reference", "orders.user.ids"))
        #expect(misspelt.code == 64 && misspelt.errors.contains("orders has no column"), "\(misspelt)")
        let founded = try await tool.run(
            arguments(
                tool, "a.db", "--peer", "a", "--reference", "orders.user.id=my.users", "--policy",
                "orders.total=cents=max"))
        #expect(founded.code == 0, "\(founded)")
        #expect(try await tool.run(arguments(tool, "a.db", "--reference", "orders.user.id=my.users")).errors == "")

        // One that joins, and one that is cloned, go by what the founder has decided.
        _ = try await tool.sql(
            "b.db",
            Self.orders.replacing("('Ann'), ('Bob')", with: "('Cyd'), ('Dan')").replacing("100", with: "300"))
        let joined = try await tool.run(arguments(tool, "b.db", "--peer", "b"))
        #expect(joined.code == 0, "\(joined)")
        let cloned = try await tool.run(
            "clone", "--container", tool.path("shared"), "--content", "orders", "c.db", "--peer", "c")
        #expect(cloned.code == 0, "\(cloned)")
        #expect(try await tool.run("sync", "a.db", "b.db", "c.db", "a.db", "b.db", "c.db").code == 0)
        for store in ["a.db", "b.db", "c.db"] {
            let shown = try await tool.sql(store, Self.names + " ORDER BY 1")
            #expect(Set(shown.dropLast().split(separator: ",")) == ["Ann", "Bob", "Cyd", "Dan"], "\(store): \(shown)")
        }
    }

    @Test func `a recipe names a column with a dot in its name`() async throws {
        let tool = try Tool()
        _ = try await tool.sql("a.db", Self.orders + "CREATE TABLE \"my.counter\"(\"next.id\" INTEGER)")
        try Data(
            """
            name = "orders"
            title = "Orders"
            reference = ["orders.user.id=my.users"]
            policy = ["my.users.name=first-writer"]
            local = ["my.counter"]
            [match.tables]
            orders = ["user.id"]
            [[allocator]]
            notes = "my.counter.next.id"
            counts = "my.users.id"
            """.utf8
        ).write(to: tool.folder.appendingPathComponent("orders.toml"))
        let founded = try await tool.run(arguments(tool, "a.db", "--recipe", "./orders.toml", "--json", "--verbose"))
        #expect(founded.code == 0 && !founded.errors.contains("next"), "\(founded)")
        let report = try JSON(founded.output)
        #expect(report["references"]?.array.first?["evidence"]?.string == "recipe")
        #expect(try await tool.run("policy", "list", "a.db").output.contains("my.users.name"))
    }

    @Test func `a migration renames columns and tables with a dot in their names`() async throws {
        let tool = try Tool()
        _ = try await tool.sql("a.db", Self.orders)
        #expect(try await tool.run(arguments(tool, "a.db", "--no-reference", "orders.user.id")).code == 0)
        try Data(
            """
            CREATE TABLE o(id INTEGER PRIMARY KEY, "of.user" INTEGER, "total=cents" INTEGER);
            INSERT INTO o SELECT * FROM orders; DROP TABLE orders; ALTER TABLE o RENAME TO orders;
            CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO users SELECT * FROM "my.users";
            DROP TABLE "my.users"; ALTER TABLE orders ADD COLUMN "other.id" INTEGER;
            """.utf8
        ).write(to: tool.folder.appendingPathComponent("next.sql"))
        let migrated = try await tool.run(
            "migrate", "a.db", "--sql", "next.sql", "--rename", "orders.user.id=of.user", "--rename", "my.users=users",
            "--reference", "orders.other.id=users", "--json")
        #expect(migrated.code == 0, "\(migrated)")
        let renamed = try JSON(migrated.output)["renamed"]?.array.compactMap { $0["from"]?.string } ?? []
        #expect(Set(renamed) == ["user.id", "my.users"], "\(migrated)")
    }
}
