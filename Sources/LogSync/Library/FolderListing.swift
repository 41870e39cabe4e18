import LogSyncContainer
import LogSyncModel

/// Lists a content folder on a queue of its own: one that hangs or is slow keeps nothing waiting but what asks for it.
///
/// Made anew when the content is elsewhere.
actor FolderListing {
    /// Of the content folder.
    nonisolated let path: String
    private let scanner: ContainerScanner
    private nonisolated let executor = QueueExecutor(label: "logsync.folder")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - clock: Unix nanoseconds, by the clock that gives files their times.
    ///   - counters: how far the peers' receipts had come in earlier processes.
    init(_ content: ContentFolder, clock: @escaping @Sendable () -> Int64, counters: ReceiptCounters) {
        path = content.path
        scanner = ContainerScanner(content: content, clock: clock)
        scanner.receiptCounters = counters
    }

    /// Everything that is in the folder now.
    ///
    /// - Throws: as ``ContainerScanner/scan(full:)``.
    func scan() throws -> ContainerScan { try scanner.scan(full: true) }
}
