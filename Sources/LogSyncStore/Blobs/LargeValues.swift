import Crypto
package import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Gives the bytes of a blob that a log or a snapshot names; throws where they cannot be had.
package typealias BlobSource = (BlobID) throws -> Bytes

extension BlobID {
    /// nil where there are more bytes than SQLite takes.
    package init?(of bytes: Bytes) {
        var hash = SHA256()
        bytes.withUnsafeBytes { hash.update(bufferPointer: $0) }
        self.init(hash: Array(hash.finalize()), length: bytes.count)
    }
}

extension Value {
    /// What stands for a text or BLOB of more than `threshold` bytes in a log, and its bytes; nil for any other value.
    func external(above threshold: Int) -> (reference: BlobReference, bytes: Bytes)? {
        let (bytes, kind): (Bytes, BlobReference.Kind)
        switch self {
        case .text(let text): (bytes, kind) = (text, .text)
        case .blob(let blob): (bytes, kind) = (blob, .blob)
        default: return nil
        }
        guard bytes.count > threshold, let id = BlobID(of: bytes) else { return nil }
        return (BlobReference(id, kind), bytes)
    }

    /// The value with its bytes.
    func whole(_ source: BlobSource?) throws -> Value {
        guard case .external(let reference) = self else { return self }
        guard let source else {
            throw LogSyncError(
                .malformedLog, "the blob \(reference.id) is named where no blob can be had; nothing was imported")
        }
        return reference.value(try source(reference.id))
    }
}

extension RowGroup {
    func namesBlobs(at index: Int) -> Bool {
        columns.contains { if case .external = $0.values[index] { true } else { false } }
    }

    /// One row as a group of its own, every value with its bytes.
    func whole(at index: Int, _ source: @escaping BlobSource) throws -> RowGroup {
        RowGroup(
            table: table, kind: kind,
            columns: try columns.map { column in
                Column(
                    name: column.name, operation: column.operation, referencedTable: column.referencedTable,
                    values: [try column.values[index].whole(source)],
                    times: column.times.isEmpty ? [] : [column.times[index]],
                    bases: column.bases.isEmpty ? [] : [column.bases[index]])
            },
            identities: [identities[index]], times: [times[index]],
            integers: integers.isEmpty ? [] : [integers[index]])
    }
}

extension RowState {
    /// The row, every value with its bytes.
    func whole(_ source: BlobSource?) throws -> RowState {
        var row = self
        for (name, cell) in state.cellsByName {
            for (index, version) in cell.versions.enumerated() {
                guard case .external? = version.value else { continue }
                row.state.cellsByName[name]?.versions[index].value = try version.value?.whole(source)
            }
        }
        return row
    }
}
