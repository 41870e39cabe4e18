import LogSyncModel

/// Names of files on their way: `.logsync-….tmp`. No importer takes them, and an ignore pattern for them is one line.
enum StagingName {
    /// A new name each time: any peer may write the marker, two of them at once.
    static func marker() -> String { ".logsync-marker-\(randomDigits()).tmp" }

    static func receipt(_ peer: PeerID) -> String { ".logsync-\(peer)-receipt.tmp" }
    static func description(_ peer: PeerID) -> String { ".logsync-\(peer)-peer.tmp" }

    /// A new name that says whose store staged the file, so that a staging directory may serve many.
    static func random(_ peer: PeerID) -> String {
        ".logsync-\(peer)-\(randomDigits()).tmp"
    }

    private static func randomDigits() -> String {
        let digits = String(UInt64.random(in: 0...UInt64.max), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    static func isStaged(_ name: String) -> Bool {
        name.hasPrefix(".logsync-") && name.hasSuffix(".tmp")
    }

    static func isStaged(_ name: String, by peer: PeerID) -> Bool {
        name.hasPrefix(".logsync-\(peer)-") && name.hasSuffix(".tmp")
    }

    /// Former versions staged it under one name for all.
    static func isStagedMarker(_ name: String) -> Bool {
        name == ".logsync-marker.tmp" || name.hasPrefix(".logsync-marker-") && name.hasSuffix(".tmp")
    }
}
