public import LogSyncModel
import LogSyncStore

extension Replicator {
    /// What a replicator is doing, for a progress view.
    public struct Activity: Sendable, Hashable {
        /// Whether it replicates in the background, as after ``Replicator/start()``.
        public var isRunning = false
        /// Whether it publishes what was recorded.
        public var isExporting = false
        /// Whether it imports what others have published.
        public var isImporting = false
        /// Whether the shared folder was there when it was last looked at; nil before that.
        public var isContainerAvailable: Bool?
        /// How many transactions wait to be published, when it was last looked.
        public var waitingToPublish = 0
        /// What cannot be imported yet.
        public var held: [HeldItem] = []
        /// When transactions of other peers were last imported; nil where none were.
        public var lastImport: Timestamp?
        /// What went wrong last; nil once a round has succeeded.
        public var trouble: LogSyncError?
    }

    /// What it is doing: as it is now, and then each change.
    public nonisolated var activity: AsyncStream<Activity> {
        let (stream, continuation) = AsyncStream.makeStream(of: Activity.self, bufferingPolicy: .bufferingNewest(100))
        let changes = activityHub.stream()
        let task = Task {
            // What changes meanwhile comes after it, or is told once more.
            continuation.yield(await self.currentActivity)
            for await activity in changes { continuation.yield(activity) }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    /// Notes how a round went.
    func noteActivity(_ result: Result<SyncResult, any Error>) {
        var activity = currentActivity
        (activity.isExporting, activity.isImporting) = (false, false)
        switch result {
        case .success(let result):
            activity.held = result.held
            activity.trouble = nil
            activity.isContainerAvailable = true
        case .failure(let error):
            let error = LogSyncError(wrapping: error, at: path)
            activity.trouble = error
            if error.code == .containerUnavailable { activity.isContainerAvailable = false }
        }
        // A store that cannot be asked is what the error is about.
        if let store = opened?.store, let count = try? store.waitingCount() {
            activity.waitingToPublish = count
            activity.lastImport = (try? store.lastImport()).map { Timestamp(milliseconds: $0) }
        }
        currentActivity = activity
    }
}
