import Foundation
import LogSync

/// The recipes that are part of the tool: the files of the folder Recipes, which are built into the binary.
enum BuiltInRecipes {
    /// Their texts, in the order of their names.
    static let texts: [(name: String, text: String)] = [
        ("activitywatch-python", PackageResources.activitywatch_python_toml),
        ("activitywatch", PackageResources.activitywatch_toml), ("alembic", PackageResources.alembic_toml),
        ("anki", PackageResources.anki_toml), ("beets", PackageResources.beets_toml),
        ("buku", PackageResources.buku_toml), ("calibre", PackageResources.calibre_toml),
        ("calibre-web", PackageResources.calibre_web_toml),
        ("core-data", PackageResources.core_data_toml),
        ("cozy", PackageResources.cozy_toml), ("digikam", PackageResources.digikam_toml),
        ("django", PackageResources.django_toml), ("feedflow", PackageResources.feedflow_toml),
        ("firefox-places", PackageResources.firefox_places_toml), ("fossil", PackageResources.fossil_toml),
        ("freshrss", PackageResources.freshrss_toml),
        ("geopackage", PackageResources.geopackage_toml), ("gitea", PackageResources.gitea_toml),
        ("gnucash", PackageResources.gnucash_toml), ("gpodder", PackageResources.gpodder_toml),
        ("grafana", PackageResources.grafana_toml), ("gramps", PackageResources.gramps_toml),
        ("grdb", PackageResources.grdb_toml), ("hamster", PackageResources.hamster_toml),
        ("home-assistant", PackageResources.home_assistant_toml),
        ("joplin", PackageResources.joplin_toml), ("kanboard", PackageResources.kanboard_toml),
        ("laravel", PackageResources.laravel_toml), ("mailman", PackageResources.mailman_toml),
        ("memos", PackageResources.memos_toml),
        ("money-manager-ex", PackageResources.money_manager_ex_toml), ("newsboat", PackageResources.newsboat_toml),
        ("planify", PackageResources.planify_toml), ("quassel", PackageResources.quassel_toml),
        ("rails", PackageResources.rails_toml),
        ("room", PackageResources.room_toml), ("wordpress", PackageResources.wordpress_toml),
        ("zotero", PackageResources.zotero_toml),
    ].map { ($0, String(decoding: $1, as: UTF8.self)) }

    static func all() throws -> [Recipe] { try texts.map { try RecipeFile.recipe($0.text, source: $0.name) } }

    /// The text of one.
    ///
    /// - Throws: `usage` where there is none of that name.
    static func text(_ name: String) throws -> String {
        if let found = texts.first(where: { $0.name == name }) { return found.text }
        let nearest = name.nearest(among: texts.map(\.name)).map { "Did you mean \($0)? " } ?? ""
        throw LogSyncError(
            .usage, "there is no recipe \(name.debugDescription); nothing was done",
            help: nearest
                + "`logsync recipes list` has those that are built in; a file is given by its path, as ./my.toml")
    }

    /// What `--recipe` means: a path has a slash or ends in .toml.
    static func choice(_ given: String?) throws -> RecipeChoice {
        guard let given else { return .matching(try all()) }
        if given == "none" { return .none }
        guard given.contains("/") || given.hasSuffix(".toml") else {
            return .given(try RecipeFile.recipe(text(given), source: given))
        }
        return .given(try RecipeFile.read(given))
    }
}
