import ArgumentParser
import LogSync

/// Lists and prints what is known of applications.
struct Recipes: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recipes",
        abstract: "List the applications whose databases `init` knows, or print what it knows of one.",
        discussion: """
            EXAMPLE
              logsync recipes list
            """,
        subcommands: [RecipesList.self, RecipesShow.self])
}

struct RecipesList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the recipes that are built in.",
        discussion: """
            EXAMPLE
              logsync recipes list
            """)

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { session in
            let recipes = try BuiltInRecipes.all().map {
                RecipeList.Element(name: $0.name, title: $0.title, note: $0.note)
            }
            try session.answer(RecipeList(recipes: recipes)) {
                var table = TextTable(("NAME", .left), ("APPLICATION", .left))
                for recipe in recipes { table.add(recipe.name, recipe.title) }
                return table.lines
            }
            return .done
        }
    }
}

private struct RecipeList: Encodable {
    struct Element: Encodable {
        var name: String
        var title: String
        var note: String
    }

    let format = 1
    var recipes: [Element]
}

struct RecipesShow: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Print a recipe as TOML, which --recipe FILE of `init` takes.",
        discussion: """
            EXAMPLE
              logsync recipes show calibre
            """)

    @Argument(help: "The recipe.")
    var name: String

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { session in
            let text = try BuiltInRecipes.text(name)
            try session.answer(RecipeText(name: name, text: text)) { [text.trimmingSuffix("\n")] }
            return .done
        }
    }
}

private struct RecipeText: Encodable {
    let format = 1
    var name: String
    /// As TOML.
    var text: String
}

extension String {
    fileprivate func trimmingSuffix(_ suffix: String) -> String {
        hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
    }
}
