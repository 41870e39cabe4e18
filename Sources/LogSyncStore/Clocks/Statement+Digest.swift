import GRDBSQLite
import LogSyncSQLite
import LogSyncState

extension Statement {
    /// The digest of a column's value, without making the value.
    func digest(_ column: Int, by digest: ValueDigest) -> UInt64 {
        switch type(column) {
        case SQLITE_INTEGER: digest.of(integer: integer(column))
        case SQLITE_FLOAT: digest.of(real: real(column))
        case SQLITE_TEXT: withBytes(column) { digest.of(bytes: $0, isText: true) }
        case SQLITE_BLOB: withBytes(column) { digest.of(bytes: $0, isText: false) }
        default: digest.ofNull
        }
    }
}
