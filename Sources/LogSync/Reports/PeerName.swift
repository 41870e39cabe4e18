import Foundation
public import LogSyncModel

/// A peer as people and JSON see it: its id and its name.
public struct PeerName: Hashable, Sendable, Encodable {
    public var id: PeerID
    /// The name that people gave it; the id's first eight digits where none is known.
    public var name: String

    public init(id: PeerID, name: String?) {
        self.id = id
        self.name = name ?? String(id.description.prefix(8))
    }
}

extension PeerName {
    /// How many characters (Unicode scalars) a name may have.
    static let maximumLength = 100

    /// Refuses what people could not give a peer's name as: in a list of policy `prefer`, on a command line, in a table.
    ///
    /// Only for names that are given now: a peer that has another since earlier keeps it.
    ///
    /// - Throws: `usage`.
    static func check(_ name: String) throws(LogSyncError) {
        guard let fault = fault(in: name) else { return }
        throw LogSyncError(
            .usage, "\(name.debugDescription) cannot be a peer's name: \(fault); nothing was changed",
            help: "Choose 1 to \(maximumLength) characters without commas and line breaks, as the machine's name")
    }

    /// What is wrong with a name, as the rest of a sentence; nil where nothing is.
    package static func fault(in name: String) -> String? {
        if name.isEmpty { return "it is empty" }
        if name.unicodeScalars.count > maximumLength { return "it has more than \(maximumLength) characters" }
        if name.contains(",") { return "commas separate names" }
        if name.unicodeScalars.contains(where: isControl) { return "it has control characters or line breaks" }
        if name != name.trimmingCharacters(in: .whitespacesAndNewlines) { return "it begins or ends with a blank" }
        if PeerID(name.lowercased()) != nil { return "it looks like a peer's id" }
        return nil
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
