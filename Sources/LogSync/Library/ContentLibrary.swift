import LogSyncContainer

/// Reads what lies in a content folder, and remembers what each file was found to be.
///
/// The store that replicates, the examination of a folder and a clone all read by one of these. It is made anew when the
/// content is elsewhere.
final class ContentLibrary {
    let content: ContentFolder
    let scanner: ContainerScanner
    let logs: LogLibrary
    let snapshots: SnapshotLibrary
    let blobs: BlobLibrary
    let blobIndex: BlobIndex

    /// - Parameters:
    ///   - clock: Unix nanoseconds, by the clock that gives files their times.
    ///   - counters: how far the peers' receipts had come in earlier processes.
    init(
        _ content: ContentFolder, clock: @escaping @Sendable () -> Int64 = PassingTime.nanosecondsSince1970,
        counters: ReceiptCounters = ReceiptCounters()
    ) {
        self.content = content
        scanner = ContainerScanner(content: content, clock: clock)
        scanner.receiptCounters = counters
        logs = LogLibrary(content: content)
        snapshots = SnapshotLibrary(content: content)
        blobs = BlobLibrary(content: content)
        blobIndex = BlobIndex(logs: logs, snapshots: snapshots)
    }

    /// The coarsest step of any file system's clock: a file that was found wanting may change within it and keep its time.
    static let fileClockStep = Duration.seconds(3)
}
