import Foundation
import LogSyncContainer
package import LogSyncModel

/// Puts forged files into a content folder.
package struct ForgedFolder {
    /// Of the content folder.
    package let path: String

    package init(_ path: String) { self.path = path }

    package func peer(_ peer: PeerID) -> String { "\(path)/peers/\(peer)" }

    package func write(_ bytes: [UInt8], to name: String, of peer: PeerID) throws {
        let url = URL(fileURLWithPath: "\(self.peer(peer))/\(name)")
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: url)
    }

    /// Puts a log file where its peer's are.
    @discardableResult
    package func put(_ file: ForgedLogFile, of peer: PeerID) throws -> String {
        let name = file.name?.description ?? "nameless"
        try write(file.bytes, to: "logs/\(name)", of: peer)
        return name
    }

    @discardableResult
    package func put(_ snapshot: ForgedSnapshot) throws -> String {
        let bytes = snapshot.bytes
        let name = snapshot.name(bytes)?.description ?? "nameless"
        try write(bytes, to: "snapshots/\(name)", of: snapshot.peer)
        return name
    }

    /// Changes what a receipt says, its checksum put right.
    ///
    /// - Parameter change: of the document without its checksum.
    package func changeReceipt(of peer: PeerID, _ change: (String) -> String) throws {
        let text = try String(contentsOfFile: "\(self.peer(peer))/receipt.json", encoding: .utf8)
        let opening = "{\"checksum\":\"".count + 32 + 2
        try write(Self.sealed(change("{" + text.dropFirst(opening))), to: "receipt.json", of: peer)
    }

    /// A receipt with the checksum of a document.
    package static func sealed(_ document: String) -> [UInt8] {
        let body = Array(document.utf8)
        let checksum = FileHash(digest: Forge.sha256(body))
        return Array("{\"checksum\":\"\(checksum)\",".utf8) + body.dropFirst()
    }
}
