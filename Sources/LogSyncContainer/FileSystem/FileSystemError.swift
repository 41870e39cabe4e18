import Glibc
package import LogSyncModel

/// A file operation that failed: which, on what, and the errno.
package struct FileSystemError: Error, Hashable, Sendable {
    /// What was being done, as it reads after "could not": `open`, `write to`, `rename`.
    package let operation: String
    package let path: String
    /// The errno.
    package let number: CInt
    /// What was found there, where that says more than the errno.
    private let found: String?

    package init(_ operation: String, _ path: String, number: CInt, found: String? = nil) {
        self.operation = operation
        self.path = path
        self.number = number
        self.found = found
    }

    /// What was found, or the errno in words.
    package var reason: String { found ?? String(cString: strerror(number)) }

    /// Whether the file, or a directory on the way to it, is not there.
    package var isAbsence: Bool { [ENOENT, ENOTDIR, ELOOP].contains(number) }

    /// The error as users get it.
    ///
    /// - Parameters:
    ///   - kept: what is safe in spite of it, as the end of a sentence.
    ///   - isRoot: whether the path is the container, the content folder or its marker, whose absence
    ///     means that the container is unavailable.
    ///   - unavailableHelp: what helps where the container is unavailable.
    package func explained(
        kept: String, isRoot: Bool = false, unavailableHelp: String = Self.unavailableHelp
    ) -> LogSyncError {
        unaddressed(kept: kept, isRoot: isRoot, unavailableHelp: unavailableHelp).about(.container(path))
    }

    private func unaddressed(kept: String, isRoot: Bool, unavailableHelp: String) -> LogSyncError {
        let what = "could not \(operation) \(path)"
        switch number {
        case ENOSPC where Posix.lacksFiles(path):
            return LogSyncError(
                .ioError, "\(what): the disk has room, and no inodes left for further files; \(kept)",
                help: "Delete files there that nobody needs, and run the command again")
        case ENOSPC, EDQUOT:
            return LogSyncError(
                .ioError, "\(what): disk full (\(reason)); \(kept)",
                help: "Free some space there and run the command again")
        case EACCES, EPERM, EROFS:
            return LogSyncError(
                .noPermission, "\(what): \(reason); \(kept)",
                help: isOfReading
                    ? "Let this user read it and all that is in it; to replicate takes write access to the container, too"
                    : "Give this user write access to the container, or mount it read-write")
        case ENOENT where isRoot:
            return LogSyncError(
                .containerUnavailable, "\(what): it is not there; \(kept)", help: unavailableHelp)
        case ENOTDIR where isRoot:
            return LogSyncError(.containerUnavailable, "\(what): \(reason); \(kept)", help: unavailableHelp)
        case ENOTCONN, ESTALE, EHOSTDOWN, EHOSTUNREACH, ETIMEDOUT, ENODEV, ENXIO:
            return LogSyncError(.containerUnavailable, "\(what): \(reason); \(kept)", help: unavailableHelp)
        case EMFILE, ENFILE:
            return LogSyncError(
                .ioError, "\(what): \(reason); \(kept)",
                help: "Raise the limit on open files (ulimit -n, or LimitNOFILE= of the unit)")
        case EIO:
            return LogSyncError(
                .ioError, "\(what): \(reason), or the disk full or failing; \(kept)",
                help: "Check the disk and the kernel's log, then run the command again")
        case EEXIST where found != nil, EINVAL where found != nil:
            return LogSyncError(
                .ioError, "\(what): \(reason); \(kept)",
                help: "Move away what is in its place, which nothing reads, and run the command again")
        default:
            return LogSyncError(
                .ioError, "\(what): \(reason); \(kept)", help: "Run logsync doctor on the folder and try again")
        }
    }

    private var isOfReading: Bool { number != EROFS && ["list", "look at", "read"].contains(operation) }

    package static let unavailableHelp =
        "Mount it or let its sync engine bring it back; logsync attach names another path, "
        + "logsync rebuild writes the folder anew from the store"
}

extension FileSystemError: CustomStringConvertible {
    package var description: String { "could not \(operation) \(path): \(reason)" }
}

extension LogSyncError {
    /// The message without what it says of the outbox, for where there is none any more.
    package var messageAlone: String { message.replacing("; \(Kept.outbox)", with: "") }
}

/// What is kept, said in errors.
enum Kept {
    static let store = "nothing in the store was changed"
    static let outbox = "recorded changes stay in the store's outbox"
}
