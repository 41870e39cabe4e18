/// A row came whose identity is not what its key spells, into a table of which that is not known: its author's key is
/// another one. Nothing was changed; ``Store/keepIdentities(of:)`` makes the table ready for it.
package struct OtherKey: Error {
    /// The name in logs.
    package var table: String
}
