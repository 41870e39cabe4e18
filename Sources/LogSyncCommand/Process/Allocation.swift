import CLogSyncAllocator
import CLogSyncSQLite

/// How the process takes memory from the system.
enum Allocation {
    /// Gives the memory of a large value back as soon as it is let go of.
    ///
    /// glibc takes what is larger than its threshold from the system piece by piece, but raises the threshold to whatever
    /// size was freed last: then values of megabytes lie among the pages of SQLite's cache, which stay, and the holes
    /// between them too. A threshold that is set is not raised. On half a gigabyte this took a third of the peak of `init`,
    /// on two gigabytes hardly anything.
    static func givesLargeValuesBack() {
        // It fails only for values out of range.
        _ = mallopt(M_MMAP_THRESHOLD, largeValue)
    }

    /// Has SQLite keep no account of its memory, which nobody here reads.
    static func leavesOutStatistics() {
        // It fails only where SQLite is in use already; then it goes on counting.
        _ = logsync_leave_out_memory_statistics()
    }

    /// Bytes.
    private static let largeValue: CInt = 1 << 20
}
