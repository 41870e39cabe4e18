import LogSyncModel

extension LogSyncError {
    /// Any error as one with a code.
    init(wrapping error: any Error, at path: String) {
        self = error as? LogSyncError ?? LogSyncError(.ioError, "\(path): \(error)")
    }
}
