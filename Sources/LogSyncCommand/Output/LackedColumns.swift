import LogSync

extension [StoreStatus.LackedColumn] {
    /// Why no log file goes, for people.
    var lines: [String] {
        map { column in
            let peers = column.peers.map { Terminal.printable($0.label) }.joined(separator: ", ")
            return Terminal.styled(
                "The values of \(Terminal.printable(column.name)) are gone here, and \(peers) may show them.", .yellow)
        }
            + (isEmpty
                ? []
                : [
                    "No log file goes for a snapshot of this store until those programs are updated, or logsync peers retire "
                        + "does without them."
                ])
    }
}
