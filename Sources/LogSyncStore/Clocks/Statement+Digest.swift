import GRDBSQLite
import LogSyncSQLite
import LogSyncState

extension Statement {
    /// The digest of a column's value, without making the value.
    func digest(_ column: Int) -> UInt64 {
        switch type(column) {
        case SQLITE_INTEGER: Digest.of(integer: integer(column))
        case SQLITE_FLOAT: Digest.of(real: real(column))
        case SQLITE_TEXT: withBytes(column) { Digest.of(bytes: $0, seed: Digest.textSeed) }
        case SQLITE_BLOB: withBytes(column) { Digest.of(bytes: $0, seed: Digest.blobSeed) }
        default: Digest.null
        }
    }
}
