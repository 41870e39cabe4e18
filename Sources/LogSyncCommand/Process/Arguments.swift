import CLogSyncSQLite

/// What the process was started with.
enum Arguments {
    /// Without the process's name. Read without /proc, which a bare chroot does not have; `CommandLine.arguments` is empty there.
    static var given: [String] {
        let kept = (0..<logsync_argument_count()).compactMap { logsync_argument($0).map { String(cString: $0) } }
        return Array((kept.isEmpty ? CommandLine.arguments : kept).dropFirst())
    }

    /// Whether each of them is UTF-8: of any other, ``given`` has something else than was said.
    static var areText: Bool {
        (0..<logsync_argument_count()).allSatisfy { index in
            logsync_argument(index).map { String(validatingCString: $0) != nil } ?? true
        }
    }
}
