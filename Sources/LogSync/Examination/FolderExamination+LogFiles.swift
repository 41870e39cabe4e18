import LogSyncContainer
import LogSyncFormat
import LogSyncModel

/// What there is to say of log files.
extension FolderExamination {
    /// Reads a peer's log files, and names the transactions that none of them has.
    func logFiles(_ peer: PeerScan, _ library: ContentLibrary) -> [Finding] {
        var findings: [Finding] = []
        var sound: [LogFileName] = []
        let name = names[peer.id].name
        for file in peer.logs {
            let path = folder.peer(peer.id).path(file.name)
            let isDispensable = file.name.last <= collected[peer.id]
            func unsound(_ code: String, _ what: String, _ why: String, waits: Bool) -> Finding {
                self.unsound(code, what, at: path, why: why, of: peer.id, waits: waits, isDispensable: isDispensable)
            }
            do {
                switch try library.logs.examine(file, of: peer.id) {
                case .sound: sound.append(file.name)
                case .incomplete(let why):
                    findings.append(
                        closed(path, "a log file of \(name)")
                            ?? unsound("incomplete-file", "a log file of \(name) is not all here", why, waits: true))
                // What only this file had is a gap.
                case .gone: break
                case .damaged(let why):
                    findings.append(unsound("damaged-file", "a log file of \(name) is damaged", why, waits: false))
                case .newerFormat(let why):
                    findings.append(
                        Finding(
                            "newer-format", .trouble, "a newer logsync wrote this", at: path, why: why,
                            help: "install a newer logsync on this machine"))
                case .tooLarge(let why):
                    findings.append(
                        Finding(
                            "held-too-large", .trouble, "a log file of \(name) comes to more than it should", at: path,
                            why: why,
                            help:
                                "ask \(name) what it is; logsync peers accept-size STORE \(name.asShellArgument) lets it in"
                        ))
                }
            } catch {
                findings.append(failure(LogSyncError(wrapping: error, at: path)))
            }
        }
        return findings + gaps(peer, LogFileSet(sound))
    }

    private func gaps(_ peer: PeerScan, _ files: LogFileSet) -> [Finding] {
        // Where the folder was rolled back, others know more than the peer's own receipt.
        let reach = max(files.reach, peer.said?.published ?? 0, imported[peer.id])
        let name = names[peer.id].name
        let missing = files.missing(upTo: reach).beyond(collected[peer.id])
        return missing.map { range in
            let which = range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
            if retired.contains(peer.id), max(files.reach, imported[peer.id]) < range.lowerBound {
                return Finding(
                    "gap", .note, "transactions \(which) of \(name), which is retired, are in no file",
                    at: folder.peer(peer.id).path(of: LogFileName.self),
                    why: "nobody says that it has imported them, and nothing waits for them",
                    help: "where a store has them after all, logsync rebuild on it publishes a snapshot of it")
            }
            return Finding(
                "gap", .trouble, "transactions \(which) of \(name) are in no sound file",
                at: folder.peer(peer.id).path(of: LogFileName.self),
                why: "they have not arrived, or were removed or damaged; what depends on them waits",
                help: remedy(peer.id, waits: true))
        }
    }

    /// A file of a peer that is damaged, or not all here.
    ///
    /// - Parameters:
    ///   - waits: whether the rest may still be on its way.
    ///   - isDispensable: whether a whole snapshot has what it held. Where its owner is retired as well, nobody needs it.
    func unsound(
        _ code: String, _ what: String, at path: String, why: String, of peer: PeerID, waits: Bool, isDispensable: Bool
    ) -> Finding {
        let severity: Finding.Severity =
            isDispensable && retired.contains(peer) ? .note : waits ? .trouble : .damage
        return Finding(
            code, severity, what, at: path, why: why,
            help: isDispensable ? riddance(of: peer, waits: waits) : remedy(peer, waits: waits))
    }

    /// What gives back what a file of a peer held: its owner, or where that is no more, a store that has imported it.
    ///
    /// - Parameter waits: whether it may still be on its way.
    func remedy(_ peer: PeerID, waits: Bool = false) -> String {
        let rebuild = "logsync rebuild on a store that has imported it, whose snapshot has all of it"
        guard !retired.contains(peer) else { return "\(Self.way(waits))run \(rebuild)" }
        return "\(Self.way(waits))\(sync(peer)); where that is no more, \(rebuild)"
    }

    /// What rids the folder of a file that nobody waits for.
    private func riddance(of peer: PeerID, waits: Bool) -> String {
        let compact = "logsync compact removes it when its grace period is over"
        guard !retired.contains(peer) else { return "a snapshot has what it held: \(compact)" }
        return
            "\(Self.way(waits))\(sync(peer)); where that is no more, logsync peers retire STORE \(names.argument(peer)): "
            + "a snapshot has what it held, and \(compact)"
    }

    private static func way(_ waits: Bool) -> String { waits ? "wait for the sync engine; if it stays so, " : "" }

    private func sync(_ peer: PeerID) -> String {
        "run logsync sync on the store of \(names[peer].name), which writes it again"
    }
}
