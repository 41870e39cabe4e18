/// A trigger, view, index or table of the program's that this store does not make, or whose work it does not do while it
/// imports.
package struct UnmadeObject: Sendable, Hashable {
    /// Its name.
    package var object: String
    /// Why, as SQLite says it.
    package var reason: String
}
