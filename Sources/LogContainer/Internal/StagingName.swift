import LogModel

/// Names of files on their way: `.logsync-….tmp`. No importer takes them, and an ignore pattern for them is one line.
enum StagingName {
    static let marker = ".logsync-marker.tmp"

    static func receipt(_ peer: PeerID) -> String { ".logsync-\(peer)-receipt.tmp" }
    static func description(_ peer: PeerID) -> String { ".logsync-\(peer)-peer.tmp" }

    /// A new name that says whose file it is, so that a staging directory may serve many stores.
    static func random(_ peer: PeerID) -> String {
        let digits = String(UInt64.random(in: 0...UInt64.max), radix: 16)
        return ".logsync-\(peer)-\(String(repeating: "0", count: 16 - digits.count))\(digits).tmp"
    }

    static func isStaged(_ name: String) -> Bool {
        name.hasPrefix(".logsync-") && name.hasSuffix(".tmp")
    }

    static func isStaged(_ name: String, by peer: PeerID) -> Bool {
        name.hasPrefix(".logsync-\(peer)-") && name.hasSuffix(".tmp")
    }
}
