/// An error that says what happened, to what, what was kept, and the command that helps.
///
/// Catch it by ``code``; ``message`` and ``help`` are for people.
public struct LogSyncError: Error, Hashable, Sendable {
    /// What went wrong, stable across releases; the command line prints ``rawValue``.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    public let code: Code
    /// One sentence: what happened, to which file, row or peer, and what was kept.
    public let message: String
    /// The way out, as a sentence or a command; nil where there is none.
    public let help: String?
    /// What it is about, for a program that says it in words of its own; nil where that is nothing of these.
    public let subject: Subject?

    /// What an error is about.
    public enum Subject: Hashable, Sendable {
        /// The database at a path.
        case store(String)
        /// The shared folder, or what it holds of one content, at a path.
        case container(String)
        /// A table, by its name in the database.
        case table(String)
        /// A column of a table.
        case column(String, table: String)
    }

    public init(_ code: Code, _ message: String, help: String? = nil, subject: Subject? = nil) {
        self.code = code
        self.message = message
        self.help = help
        self.subject = subject
    }

    /// The same, about `subject` where nothing nearer is known.
    package func about(_ subject: Subject) -> LogSyncError {
        self.subject == nil ? LogSyncError(code, message, help: help, subject: subject) : self
    }

    /// Whether it is about the shared folder, or something in it.
    package var isOfContainer: Bool {
        if case .container = subject { true } else { false }
    }
}

extension LogSyncError {
    /// A program has a write transaction open.
    ///
    /// - Parameter process: its id, where that is known.
    package static func locked(_ path: String, by process: Int32? = nil) -> LogSyncError {
        LogSyncError(
            .locked,
            "\(path) is locked by another program\(process.map { " (process \($0))" } ?? ""); nothing was changed",
            help: "Try again when its transaction has ended.")
    }

    /// A program that keeps a database locked lets nobody even read it.
    ///
    /// - Parameter process: its id, where that is known.
    package static func heldAlone(_ path: String, by process: Int32? = nil) -> LogSyncError {
        LogSyncError(
            .locked,
            "another program\(process.map { " (process \($0))" } ?? "") has \(path) for itself; nothing was changed",
            help: "Run the command again when that program has ended; what it writes is recorded then.")
    }

    /// Whether it is that of a program, whichever, that has a database for itself.
    package var isHeldAlone: Bool { code == .locked && help == Self.heldAlone("").help }
}

extension LogSyncError: CustomStringConvertible {
    public var description: String { help.map { "\(message). \($0)" } ?? message }
}

/// The codes. Their exit codes stand in the command line's contract.
extension LogSyncError.Code {
    /// The command line or an argument is wrong (64).
    public static let usage = Self(rawValue: "usage")
    /// A transaction is in the store and its log is not here any more, because others have it: what it changed has to be read
    /// from the tables (64).
    public static let historyExpired = Self(rawValue: "history-expired")
    /// A file is not a database, or a store or schema is not what it should be (65).
    public static let invalidStore = Self(rawValue: "invalid-store")
    /// A table has neither a primary key nor another identity, or cannot be written by logsync (65).
    public static let unsupportedTable = Self(rawValue: "unsupported-table")
    /// A script of SQL cannot be run, or would leave the store in a state that it must not be in (65).
    public static let invalidScript = Self(rawValue: "invalid-script")
    /// A log file or its content is malformed or damaged (65).
    public static let malformedLog = Self(rawValue: "malformed-log")
    /// A newer version of logsync wrote this (65).
    public static let newerFormat = Self(rawValue: "newer-format")
    /// No such store (66).
    public static let noStore = Self(rawValue: "no-store")
    /// The database is there but is not replicated (66).
    public static let notReplicated = Self(rawValue: "not-replicated")
    /// The container or its marker is not there (69).
    public static let containerUnavailable = Self(rawValue: "container-unavailable")
    /// A key-value store may not hold that much; nothing was written (73).
    public static let quota = Self(rawValue: "quota")
    /// A file could not be created or already exists (73).
    public static let cannotCreate = Self(rawValue: "cannot-create")
    /// Reading or writing failed, or the disk is full (74).
    public static let ioError = Self(rawValue: "io-error")
    /// Locked by another process; try again (75).
    public static let locked = Self(rawValue: "locked")
    /// Not permitted (77).
    public static let noPermission = Self(rawValue: "no-permission")
    /// The configuration or the content's settings contradict the request (78).
    public static let configuration = Self(rawValue: "configuration")
}
