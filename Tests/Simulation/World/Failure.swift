/// What a run found to be wrong.
struct Failure: Error, Sendable, CustomStringConvertible {
    enum Kind: String, Sendable {
        /// A program's SQL failed otherwise than by a constraint: the simulator's own fault.
        case program
        /// logsync threw what it should not have.
        case error
        /// The oracle expects other rows.
        case shown
        /// A transaction is not what its author did.
        case recording
        /// Parked or dead rows, or conflicts, are not what the oracle expects.
        case kept
        /// The store's own comparison found something.
        case audit
        /// Peers with the same vector differ.
        case divergence
        /// The peers do not come to the same vector.
        case unsettled
        /// A recording found a change that nobody made.
        case phantom
        /// SQLite's checks of the database, or of its foreign keys, found something.
        case constraint
        /// Other rows are listed as breaking a CHECK constraint than do.
        case check
        /// A committed change went without a trace.
        case lost
    }

    var kind: Kind
    var message: String
    /// Where it was found; nil for the end.
    var step: Int?

    init(_ kind: Kind, _ message: String, step: Int? = nil) {
        self.kind = kind
        self.message = message
        self.step = step
    }

    var description: String { "\(kind.rawValue)\(step.map { " at step \($0)" } ?? ""): \(message)" }
}
