import LogSyncModel

/// Which columns each peer shows, as far as is known here and now: a snapshot whose author has lost one of them is partial.
struct ShownColumns {
    enum Shown {
        case columns(Set<ColumnName>)
        /// The peer's schema is not known yet, so it may show anything.
        case anything
    }

    /// The peers that take part, this store's own included.
    var peers: [PeerID: Shown] = [:]

    /// The peers that may show each of a peer's lost columns, in order; a column that no other peer shows is left out.
    func showing(_ lost: Set<ColumnName>, besides author: PeerID) -> [ColumnName: [PeerID]] {
        var showing: [ColumnName: [PeerID]] = [:]
        for (id, shown) in peers.sorted(by: { $0.key < $1.key }) where id != author {
            for column in shown.among(lost) { showing[column, default: []].append(id) }
        }
        return showing
    }

    /// Whether another peer than the author may show one of the author's lost columns.
    func show(_ lost: Set<ColumnName>, besides author: PeerID) -> Bool {
        !lost.isEmpty && peers.contains { $0.key != author && !$0.value.among(lost).isEmpty }
    }
}

extension ShownColumns.Shown {
    fileprivate func among(_ lost: Set<ColumnName>) -> Set<ColumnName> {
        switch self {
        case .columns(let columns): lost.intersection(columns)
        case .anything: lost
        }
    }
}
