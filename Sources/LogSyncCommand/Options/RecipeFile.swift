import Foundation
import LogSync
import TOMLKit

/// A recipe as TOML, every key checked.
struct RecipeFile {
    private let table: TOMLTable
    private let source: String

    /// - Throws: `configuration`.
    static func read(_ path: String) throws -> Recipe {
        let text: String
        do {
            text = try String(contentsOfFile: path, encoding: .utf8)
        } catch {
            throw LogSyncError(
                .configuration, "the recipe \(path) cannot be read: \(SettingsFile.reason(error))",
                help: "`logsync recipes list` has those that are built in")
        }
        return try recipe(text, source: path)
    }

    /// - Parameter source: the file, or the name of a recipe that is built in.
    /// - Throws: `configuration`.
    static func recipe(_ text: String, source: String) throws -> Recipe {
        do {
            return try RecipeFile(table: TOMLTable(string: text), source: source).recipe()
        } catch let error as TOMLParseError {
            throw LogSyncError(
                .configuration, "the recipe \(source) is not TOML: \(error.debugDescription)",
                help: "`logsync recipes show NAME` prints one that is")
        } catch let error as LogSyncError where error.code == .usage {
            // An option of it that the command line would not take either.
            throw LogSyncError(.configuration, "in the recipe \(source), \(error.message)", help: error.help)
        }
    }

    private enum Key: String, CaseIterable {
        case name, title, note, match, identity, reference, policy, local, skip, allocator, function, framework
        case noReference = "no-reference"
        case coreDataEntities = "core-data-entities"
    }

    private func recipe() throws -> Recipe {
        for name in table.keys.sorted() where Key(rawValue: name) == nil {
            throw wrong(
                "has the unknown key \(name.debugDescription)",
                "The keys are " + Key.allCases.map(\.rawValue).sorted().joined(separator: ", "))
        }
        guard let name = table[Key.name.rawValue]?.string, !name.isEmpty else {
            throw wrong("has no name", "Give it one: name = \"my-notes\"")
        }
        var recipe = Recipe(
            name: name, title: table[Key.title.rawValue]?.string ?? name,
            note: (table[Key.note.rawValue]?.string ?? "").trimmingCharacters(in: .whitespacesAndNewlines),
            mark: try mark(), options: try options())
        recipe.functions = try texts(.function)
        recipe.readsEntities = table[Key.coreDataEntities.rawValue]?.bool ?? false
        recipe.isOfFramework = table[Key.framework.rawValue]?.bool ?? false
        return recipe
    }

    private func options() throws -> InitializeOptions {
        var options = InitializeOptions()
        for argument in try texts(.identity) { try options.addIdentity(argument) }
        for argument in try texts(.reference) { try options.addReference(argument) }
        for argument in try texts(.noReference) { try options.addNoReference(argument) }
        for argument in try texts(.policy) { try options.addPolicy(argument) }
        options.local = try texts(.local)
        options.skip = try texts(.skip)
        options.allocators = try allocators()
        let left = Set((options.local + options.skip).map { $0.lowercased() })
        if let table = options.identities.keys.first(where: { left.contains($0.lowercased()) }) {
            throw wrong("leaves the table \(table) out and gives it an identity", "Take one of them away")
        }
        return options
    }

    private func mark() throws -> Recipe.Mark {
        var mark = Recipe.Mark()
        guard let value = table[Key.match.rawValue] else { return mark }
        guard let match = value.table else { throw wrongType(Key.match.rawValue, "a table") }
        for key in match.keys {
            switch key {
            case "tables":
                guard let tables = match[key]?.table else { throw wrongType("match.tables", "a table") }
                for name in tables.keys { mark.tables[name] = try texts(tables[name], "match.tables.\(name)") }
            case "without": mark.absentTables = try texts(match[key], "match.without")
            case "application-id": mark.applicationID = match[key]?.int.map { Int64($0) }
            default: throw wrong("has the unknown key match.\(key)", "The keys are tables, without, application-id")
            }
        }
        return mark
    }

    private func allocators() throws -> [ProgramAllocator] {
        guard let value = table[Key.allocator.rawValue] else { return [] }
        guard let array = value.array else { throw wrongType("allocator", "a list of tables: [[allocator]]") }
        return try array.map { element in
            guard let entry = element.table, let noted = column(entry["notes"]), let counted = column(entry["counts"])
            else {
                throw wrong(
                    "has an [[allocator]] without notes and counts",
                    "Write notes = \"TABLE.COLUMN\", where the program notes an integer, and counts = \"TABLE.COLUMN\", of "
                        + "which it is")
            }
            for key in entry.keys where !["notes", "counts", "where", "ahead"].contains(key) {
                throw wrong(
                    "has the unknown key \(key.debugDescription) in an [[allocator]]",
                    "The keys are notes, counts, where, ahead")
            }
            var allocator = ProgramAllocator(
                table: noted.table, column: noted.column, countedTable: counted.table, countedColumn: counted.column,
                ahead: Int64(entry["ahead"]?.int ?? 0))
            guard let condition = entry["where"] else { return allocator }
            for name in condition.table?.keys ?? [] {
                if let integer = condition.table?[name]?.int { allocator.key[name] = .integer(Int64(integer)) }
                if let text = condition.table?[name]?.string { allocator.key[name] = .text(text) }
            }
            return allocator
        }
    }

    private func column(_ value: (any TOMLValueConvertible)?) -> (table: String, column: String)? {
        guard let text = value?.string, let dot = text.lastIndex(of: "."), dot > text.startIndex else { return nil }
        return (String(text[..<dot]), String(text[text.index(after: dot)...]))
    }

    // MARK: Values

    private func texts(_ key: Key) throws -> [String] { try texts(table[key.rawValue], key.rawValue) }

    private func texts(_ value: (any TOMLValueConvertible)?, _ key: String) throws -> [String] {
        guard let value else { return [] }
        guard let list = SettingsFile.list(value) else { throw wrongType(key, SettingKind.list.rawValue) }
        return list
    }

    private func wrongType(_ key: String, _ type: String) -> LogSyncError {
        wrong("has the wrong type for the key \(key.debugDescription): it takes \(type)", "Correct it")
    }

    private func wrong(_ what: String, _ help: String) -> LogSyncError {
        LogSyncError(.configuration, "the recipe \(source) \(what); nothing was done", help: help)
    }
}
