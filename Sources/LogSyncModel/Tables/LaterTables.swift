/// What is said of tables that a program makes later.
package struct LaterTables: Sendable {
    /// Tables that are left out, by name.
    package var local: Set<String> = []
    package var skip: Set<String> = []
    /// What the names of tables begin with that are left out.
    package var allLocal: Set<String> = []
    package var allSkip: Set<String> = []

    /// (`TABLE` or `TABLE.COLUMN`, policy).
    package var policies: [(target: String, policy: String)] = []

    package init() {}
}
