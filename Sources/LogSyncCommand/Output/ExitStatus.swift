import LogSync

/// How the tool ends: the exit codes of the command line's contract, all in this place.
///
/// The cases stand in order from harmless to grave, and of several stores the gravest is returned: it is the highest
/// code, except that `tryAgain` yields to every other failure, because trying again would not help those.
enum ExitStatus: Int32, CaseIterable, Comparable {
    case done = 0
    /// Something is held that may come by itself.
    case held = 3
    /// Something is damaged, forked or forged; the rest was done.
    case integrity = 4
    case tryAgain = 75
    case usage = 64
    case data = 65
    case noInput = 66
    case unavailable = 69
    case cannotCreate = 73
    case ioError = 74
    case noPermission = 77
    case configuration = 78
    case interrupted = 130
    case terminated = 143

    init(_ outcome: Outcome) {
        switch outcome {
        case .complete: self = .done
        case .held: self = .held
        case .integrity: self = .integrity
        }
    }

    init(_ code: LogSyncError.Code) {
        switch code {
        case .usage, .historyExpired: self = .usage
        case .invalidStore, .invalidScript, .unsupportedTable, .malformedLog, .newerFormat: self = .data
        case .noStore, .notReplicated, .noKey: self = .noInput
        case .containerUnavailable: self = .unavailable
        case .cannotCreate, .quota: self = .cannotCreate
        case .ioError: self = .ioError
        case .locked: self = .tryAgain
        case .noPermission: self = .noPermission
        case .configuration: self = .configuration
        case .interrupted: self = .interrupted
        case .terminated: self = .terminated
        // Codes are open to extension; one that is not known here says that a step failed.
        default: self = .ioError
        }
    }

    static func < (a: ExitStatus, b: ExitStatus) -> Bool { a.gravity < b.gravity }

    private var gravity: Int { Self.allCases.firstIndex(of: self) ?? Self.allCases.endIndex }
}

extension LogSyncError.Code {
    /// SIGINT ended the work (130).
    static let interrupted = Self(rawValue: "interrupted")
    /// SIGTERM ended the work (143).
    static let terminated = Self(rawValue: "terminated")
}

extension LogSyncError {
    /// Any error as one with a code, so that everything the tool says has the same shape.
    init(describing error: any Error) {
        if let error = error as? LogSyncError {
            self = error
        } else if error is CancellationError {
            self.init(.interrupted, "interrupted; what was done is kept")
        } else {
            self.init(.ioError, String(describing: error))
        }
    }
}
