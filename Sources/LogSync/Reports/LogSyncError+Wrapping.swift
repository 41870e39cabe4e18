import LogSyncModel

extension LogSyncError {
    /// Any error as one with a code.
    init(wrapping error: any Error, at path: String) {
        self = error as? LogSyncError ?? LogSyncError(.ioError, "\(path): \(error)")
    }
}

extension LogSyncError {
    /// Whether the same may succeed later as it is: the shared folder is away, or another process has the store.
    public var isTransient: Bool { code == .locked || code == .containerUnavailable }
}
