/// Tells when a file or directory has stood still for so long that its modification time would tell of a change.
///
/// A change that comes within one step of the file system's clock after a look leaves the time as it was. Steps are up
/// to two seconds (FAT), so a look counts for good once the same status was seen at least that much earlier.
struct FileStability {
    static let step = Duration.seconds(2)

    /// As last observed, before what came of it was read; nil for what is not there.
    private(set) var status: FileStatus?
    private var since = Duration.zero
    /// Whether the status had stood still at the last look.
    private var isStable = false

    /// Notes a status. Returns whether what was read at the look before still holds.
    mutating func observe(_ status: FileStatus, at time: Duration) -> Bool {
        if self.status != status {
            self.status = status
            since = time
            isStable = false
            return false
        }
        if isStable { return true }
        isStable = time - since >= Self.step
        return false
    }
}
