/// An extension of SQLite, as a library in a file.
///
/// It is code that runs as this user: it is never named by a database or a shared folder.
public struct LoadableExtension: Hashable, Sendable {
    /// The library's path.
    public var file: String
    /// The function that SQLite calls in it; nil for the one that SQLite expects.
    public var entry: String?

    public init(file: String, entry: String? = nil) {
        self.file = file
        self.entry = entry
    }
}

extension LoadableExtension {
    /// What has a table written that needs a function or collation which only its own program has.
    package static let remedy =
        "have logsync load an extension of SQLite that has it, with --load-extension FILE or load-extension in the "
        + "configuration (a program that embeds logsync: SyncConfiguration.extensions), or drop the index or column that "
        + "needs it"
}
