import LogSync
import LogSyncModel

extension HeldItem {
    /// For people: what waits and why.
    var line: String {
        var line = "\(peer.name):\(sequence) is held (\(reason.rawValue))"
        if let file { line += ", \(file)" }
        if let detail { line += ": \(detail)" }
        return Terminal.styled(Terminal.printable(line), [.damaged, .fork, .refused].contains(reason) ? .red : .yellow)
    }
}

extension PeerName {
    /// For people: the name, and enough of the id to tell peers apart.
    var label: String { "\(name) (\(id.description.prefix(8)))" }
}

extension CloneReport.LeftOutTable {
    /// For people: what stays on this machine, and by whose word.
    var line: String {
        Terminal.styled(
            Terminal.printable("\(table) is not replicated: the content's setting \(setting) says so"), .yellow)
    }
}

extension UnmadeObject {
    /// For people: what is not here and why.
    var line: String { Terminal.styled(Terminal.printable("\(object) was left out: \(reason)"), .yellow) }
}
