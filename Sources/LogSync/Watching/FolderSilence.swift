package import LogSyncContainer
package import Logging

/// Says, once each time, that a folder does not answer, and that it does again: who waits for it cannot say so.
package struct FolderSilence: Sendable {
    /// How long a folder may take to answer before that is said.
    static let patience = Duration.seconds(5)
    private static let polling = Duration.seconds(2)

    private let calls: PendingCalls
    private let logger: Logger
    /// What the lines begin with.
    private let opening: String

    /// - Parameters:
    ///   - calls: what is being asked of the folder.
    ///   - store: whose folder it is; nil where a command has but one.
    package init(_ calls: PendingCalls, of store: String? = nil, logger: Logger) {
        self.calls = calls
        self.logger = logger
        opening = store.map { "\($0): " } ?? ""
    }

    /// Runs until the task is cancelled.
    package func watch() async {
        var silent: PendingCalls.Call?
        // A sleep fails when the task is cancelled, and only then.
        while (try? await Task.sleep(for: Self.polling)) != nil {
            let oldest = calls.oldest
            if let silent, oldest?.start != silent.start {
                let seconds = silent.start.duration(to: .now).components.seconds
                logger.notice("\(opening)\(silent.path) answers again, after \(seconds) seconds")
            }
            let isSilent = Self.isSilent(oldest)
            if isSilent, silent == nil, let oldest {
                logger.warning(
                    """
                    \(opening)the folder has not answered for \(Self.patience.components.seconds) seconds (to \
                    \(oldest.operation) \(oldest.path)): its mount hangs, or its disk is slow. Changes wait in the store; \
                    look at the mount
                    """)
            }
            silent = isSilent ? oldest : nil
        }
    }

    static func isSilent(_ call: PendingCalls.Call?) -> Bool {
        call.map { $0.start.duration(to: .now) >= patience } ?? false
    }
}
