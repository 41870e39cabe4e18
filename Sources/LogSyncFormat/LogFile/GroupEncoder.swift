import LogSyncModel

enum GroupFlags {
    static let integers: UInt8 = 1
    static let known: UInt8 = 1
}

enum ColumnFlags {
    static let referencedTable: UInt8 = 1
    static let times: UInt8 = 2
    static let bases: UInt8 = 4
    static let known: UInt8 = 7
}

/// Encodes rows of a group, columns together.
struct GroupEncoder {
    let out: ByteWriter
    /// The transaction's time, against which the rows' are written.
    let time: HybridTime

    func encode(_ group: RowGroup, rows: Range<Int>) throws {
        out.append(group.kind.rawValue)
        out.append(group.integers.isEmpty ? 0 : GroupFlags.integers)
        out.append(group.table)
        out.append(varint: UInt64(rows.count))
        try group.identities.withUnsafeBufferPointer { identities in
            let identities = UnsafeBufferPointer(rebasing: identities[rows])
            try IdentityEncoder(out: out).encode(identities)
            encode(group.times[rows])
            if !group.integers.isEmpty { out.append(rowNumbers: group.integers[rows]) }
            out.append(varint: UInt64(group.columns.count))
            for column in group.columns { try encode(column, rows: rows, identities: identities) }
        }
    }

    private func encode(
        _ column: RowGroup.Column, rows: Range<Int>, identities: UnsafeBufferPointer<RowIdentity>
    ) throws {
        out.append(column.name)
        out.append(column.operation.rawValue)
        out.append(
            (column.referencedTable == nil ? 0 : ColumnFlags.referencedTable)
                | (column.times.isEmpty ? 0 : ColumnFlags.times) | (column.bases.isEmpty ? 0 : ColumnFlags.bases))
        if let table = column.referencedTable { out.append(table) }
        try column.values.withUnsafeBufferPointer { values in
            try ColumnEncoder(out: out).encode(UnsafeBufferPointer(rebasing: values[rows]), identities: identities)
        }
        if !column.times.isEmpty { encode(column.times[rows]) }
        if !column.bases.isEmpty { encode(bases: column.bases[rows]) }
    }

    private func encode(_ times: ArraySlice<HybridTime>) {
        guard let first = times.first else { return }
        if times.allSatisfy({ $0 == first }) {
            out.append(TimeEncoding.constant.rawValue)
            out.append(zigzag: first.milliseconds - time.milliseconds)
            out.append(varint: UInt64(first.counter))
            return
        }
        let encoding = TimeEncoding(of: times)
        out.append(encoding.rawValue)
        TimeColumn(base: time.milliseconds, encoding: encoding).encode(times, to: out)
    }

    private func encode(bases: ArraySlice<Dot>) {
        var numbers: [PeerID: UInt64] = [:]
        var peers: [PeerID] = []
        for base in bases where numbers[base.peer] == nil {
            numbers[base.peer] = UInt64(peers.count)
            peers.append(base.peer)
        }
        out.append(varint: UInt64(peers.count))
        for peer in peers { out.append(peer.bytes) }
        for base in bases {
            out.append(varint: numbers[base.peer] ?? 0)
            out.append(varint: base.sequence)
        }
    }
}
