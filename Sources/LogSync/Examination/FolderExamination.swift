import Glibc
import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore

/// Looks a content folder over, with no store to compare it with.
struct FolderExamination {
    let folder: ContentFolder
    let configuration: SyncConfiguration
    /// The peer whose store asks, which needs not be heard of; nil without a store.
    var own: PeerID?
    /// What is known of the peers' names.
    var names = PeerNames(names: [:])
    /// Peers that take no part any more, of which nothing is expected.
    var retired: Set<PeerID> = []
    /// The branches of forked histories: as peers they have no folders. Without a store snapshots name them, which anybody may
    /// have written.
    var branches: Set<Branch>?
    /// What some peer says that it has imported.
    var imported = VersionVector()
    /// Up to which sequence of each peer a whole snapshot stands for its log files.
    var collected = VersionVector()
    /// Who shows what. Without a store it is not known what renames and retirements make of that, and no column counts as shown.
    var shown = ShownColumns()

    /// A peer that has not been heard of for this long blocks collection.
    private static let silence: Int64 = 14 * 24 * 3_600_000

    func findings() -> [Finding] {
        let scanner = ContainerScanner(content: folder)
        return findings { try scanner.scan(full: true) }
    }

    /// - Parameter scan: lists all of the folder, for each look.
    func findings(_ scan: () throws -> ContainerScan) -> [Finding] {
        let library = ContentLibrary(folder)
        var last: ContainerScan?
        func look() -> [Finding]? {
            do {
                let now = try scan()
                defer { last = now }
                return last.map(now.isUnchanged) ?? false ? nil : findings(now, library)
            } catch {
                last = nil
                return [Self.unavailable(LogSyncError(wrapping: error, at: folder.path), at: folder.path)]
            }
        }
        var looks = RepeatedExamination(look() ?? [])
        while looks.isDoubtful { looks.add(look()) }
        return looks.findings(at: folder.path)
    }

    /// What one look finds of what a scan has listed.
    private func findings(_ scan: ContainerScan, _ library: ContentLibrary) -> [Finding] {
        library.logs.forgetDoubts()
        var examination = self
        for (id, peer) in scan.peers where examination.names.names[id] == nil {
            examination.names.names[id] = peer.description.value?.name
        }
        examination.retired.formUnion(scan.peersThatLeft)
        var findings = examination.strange(scan)
        findings += scan.failures.map(examination.failure)
        findings += examination.copies() + examination.fileSystem()
        examination.branches = branches ?? Set(library.snapshots.found(scan).flatMap(\.manifest.branches))
        examination.collected = examination.collected(library.snapshots, scan)
        for peer in scan.peers.values {
            guard var imported = peer.receipt.value?.content.imported else { continue }
            // Of its own, what it has not published is in its outbox.
            imported[peer.id] = 0
            examination.imported.formUnion(imported)
        }
        for peer in scan.peers.values.sorted(by: { $0.id < $1.id }) {
            findings += examination.documents(peer) + examination.logFiles(peer, library)
            findings += examination.snapshots(peer)
            findings += examination.silence(peer) + examination.complaints(peer, scan) + examination.schemas(peer)
        }
        findings += examination.doubtfulSnapshots(scan, library) + examination.blobs(scan, library)
        findings += examination.absentPeers(scan, library)
        return findings
    }

    // MARK: What is not there

    /// Peers of which others have imported transactions, and whose folder is gone: who comes now waits for what it held.
    private func absentPeers(_ scan: ContainerScan, _ library: ContentLibrary) -> [Finding] {
        let branches = Set(branches?.map(\.id) ?? [])
        let imported = imported.sequences.filter { id, sequence in
            scan.peers[id] == nil && !retired.contains(id) && !branches.contains(id) && sequence > 0
        }
        guard !imported.isEmpty else { return [] }
        var covered = VersionVector()
        for snapshot in library.snapshots.found(scan) where !snapshot.isPartial { covered.formUnion(snapshot.vector) }
        return imported.filter { id, sequence in covered[id] < sequence }
            .sorted { $0.key < $1.key }.map { id, sequence in
                let name = names[id].name
                return Finding(
                    "peer-gone", .trouble, "the folder of \(name) is not here", at: "\(folder.path)/peers/\(id)",
                    why: "others have imported its transactions up to \(sequence), and a new store waits for them",
                    help:
                        "wait for the sync engine, or run logsync sync on the store of \(name); where it is no more, run "
                        + "logsync rebuild on a store that has imported them, whose snapshot has all of it")
            }
    }

    static func unavailable(_ error: LogSyncError, at path: String) -> Finding {
        let code =
            switch error.code {
            case .containerUnavailable: "container-unavailable"
            case .noPermission: "no-permission"
            case .newerFormat: "newer-format"
            case .configuration: "other-content"
            default: "io-error"
            }
        return Finding(
            code, .trouble, "the content folder cannot be used", at: path, why: error.message, help: error.help)
    }

    // MARK: What does not belong there

    /// All files under a name that they do not keep, as one finding: a sync engine may leave any number for a day.
    private func temporaries(_ entries: [StrangeEntry]) -> [Finding] {
        guard !entries.isEmpty else { return [] }
        let times = entries.compactMap { entry in
            // One that has vanished meanwhile has arrived, most likely.
            try? folder.fileSystem.status("\(folder.path)/\(entry.path)", followingLinks: false).modified
        }
        let age = times.min().map { max(0, configuration.clock.now() - $0 / 1_000_000) }
        let place = entries.count == 1 ? "\(folder.path)/\(entries[0].path)" : folder.path
        let what = entries.count == 1 ? "a file is on its way" : "\(entries.count) files are on their way"
        return [
            Finding(
                "temporary-file", .note, age.map { "\(what), since \(Self.span($0))" } ?? what, at: place,
                why: "a sync engine or logsync writes it under this name first; it is not read",
                help: age.map { $0 > Self.longest } ?? false
                    ? "delete what is older than a day, where nothing writes it any more" : nil)
        ]
    }

    /// A file that has been on its way for this long, in milliseconds, was most likely given up.
    private static let longest: Int64 = 24 * 3_600_000

    /// For people: 3 minutes, 4 hours, 2 days.
    private static func span(_ milliseconds: Int64) -> String {
        let minutes = milliseconds / 60_000
        let (count, unit) =
            minutes < 60 ? (minutes, "minute") : minutes < 48 * 60 ? (minutes / 60, "hour") : (minutes / 1440, "day")
        return "\(count) \(unit)\(count == 1 ? "" : "s")"
    }

    private func strange(_ scan: ContainerScan) -> [Finding] {
        let kinds = Dictionary(grouping: scan.strange, by: \.kind)
        let (copies, others) = conflictCopies(kinds[.conflictCopy] ?? [], scan)
        return copies + temporaries(kinds[.temporary] ?? [])
            + strangers(
                kinds[.wrongType] ?? [], "wrong-type", .trouble,
                "a good name is on something that is no file or folder",
                many: "good names are on what is no file or folder",
                why: "symbolic links and the like are never followed; what it stands for is not read",
                help: "put the real file or folder in its place")
            + strangers(
                (kinds[.unknown] ?? []) + others, "strange-file", .note, "a file that is none of logsync's",
                many: "files are none of logsync's",
                why: "it is not read, and logsync destroy removes it with the rest",
                help: "delete it, unless something else needs it")
    }

    /// Of more than these in one folder there is one finding: a liar can make any number of them, and what else is found
    /// is to be seen.
    private static let mostStrangers = 3

    private func strangers(
        _ entries: [StrangeEntry], _ code: String, _ severity: Finding.Severity, _ what: String, many: String,
        why: String, help: String
    ) -> [Finding] {
        let folders = Dictionary(grouping: entries) { $0.path.split(separator: "/").dropLast().joined(separator: "/") }
        return folders.sorted { $0.key < $1.key }.flatMap { parent, entries in
            let paths = entries.map { "\(folder.path)/\($0.path)" }.sorted()
            guard paths.count > Self.mostStrangers else {
                return paths.map { Finding(code, severity, what, at: $0, why: why, help: help) }
            }
            return [
                Finding(
                    code, severity, "\(paths.count) \(many)",
                    at: parent.isEmpty ? folder.path : "\(folder.path)/\(parent)",
                    why: "\(paths[0]) is one of them: \(why)", help: help)
            ]
        }
    }

    /// Copies of the whole folder beside it, as sync engines make them where two machines have made or renamed one.
    private func copies() -> [Finding] {
        folder.copies().map { name in
            Finding(
                "conflict-copy", .trouble, "a copy of the content folder is beside it, under another name",
                at: "\(folder.container)/\(name)",
                why: "its marker says that it is \(folder.name); what peers publish there is not read",
                help:
                    "stop what writes there, copy into \(folder.path) the files under peers that it lacks, then delete "
                    + "the copy; a backup that somebody put here belongs elsewhere")
        }
    }

    func failure(_ error: LogSyncError) -> Finding {
        Finding(
            "unreadable", .trouble, "something could not be read", at: folder.path, why: error.message, help: error.help
        )
    }

    private func fileSystem() -> [Finding] {
        var findings: [Finding] = []
        let upper = "\(folder.path)/LOGSYNC.JSON"
        // Only where names of another case lead to the same file is anything there.
        if (try? folder.fileSystem.status(upper, followingLinks: false)) != nil {
            findings.append(
                Finding(
                    "case-insensitive", .note, "the file system takes upper and lower case for the same",
                    at: folder.path, why: "all names that logsync uses are lower case, so this does no harm here"))
        }
        // A file system that does not say what it is has no name to be told by.
        if let name = try? folder.fileSystem.kind(folder.path).remoteName {
            findings.append(
                Finding(
                    "polled", .note, "the folder is on \(name)", at: folder.path,
                    why: "the kernel does not hear of what others write there, so it is looked at in intervals"))
        }
        return findings
    }

    // MARK: Peers

    func documentHelp(_ peer: PeerID) -> String {
        let name = names[peer].name
        return retired.contains(peer)
            ? "\(name) is retired, and nobody needs it: remove it, or run logsync sync on the store that was \(name) before"
            : "run logsync sync on the store of \(name), which writes it again"
    }

    private func documents(_ peer: PeerScan) -> [Finding] {
        var findings: [Finding] = []
        let place = folder.peer(peer.id)
        let help = documentHelp(peer.id)
        func check<Document>(_ found: PeerScan.Found<Document>, _ path: String) {
            switch found {
            case .valid, .missing, .outdated, .unread: return
            case .damaged:
                findings.append(
                    Finding(
                        "damaged-document", .trouble, "a file of \(names[peer.id].name) is incomplete or damaged",
                        at: path, why: "it is still arriving, or went wrong on the way", help: help))
            case .newerFormat:
                findings.append(
                    Finding(
                        "newer-format", .trouble, "a newer logsync wrote this", at: path,
                        why: "this one cannot read it", help: "install a newer logsync on this machine"))
            }
        }
        check(peer.receipt, place.receiptPath)
        check(peer.description, place.descriptionPath)
        return findings
    }

    /// A file that is here, and that this user may not read.
    func closed(_ path: String, _ what: String) -> Finding? {
        do throws(FileSystemError) {
            _ = try folder.fileSystem.open(path)
            return nil
        } catch {
            guard [EACCES, EPERM].contains(error.number) else { return nil }
            let explained = error.explained(kept: "nothing of it was imported")
            return Finding(
                "unreadable", .trouble, "\(what) may not be read", at: path, why: explained.message,
                help: explained.help)
        }
    }

    /// Up to which sequence of each peer a whole snapshot stands for its log files.
    private func collected(_ snapshots: SnapshotLibrary, _ scan: ContainerScan) -> VersionVector {
        snapshots.found(scan) { shown }.filter { !$0.isPartial }.reduce(into: VersionVector()) {
            $0.formUnion($1.vector)
        }
    }

    private func silence(_ peer: PeerScan) -> [Finding] {
        guard !retired.contains(peer.id), peer.overview.published > 0, let seen = peer.overview.seenAt else {
            return []
        }
        let now = configuration.now.milliseconds
        let name = names[peer.id].name
        let place = folder.peer(peer.id).receiptPath
        if seen - now > configuration.storeConfiguration.maximumDrift {
            return [
                Finding(
                    "clock", .trouble, "the clock of \(name) or of this machine is wrong", at: place,
                    why: "its receipt was written at \(Timestamp(milliseconds: seen)), which is still to come here",
                    help: "set the clocks; logsync peers accept-clock lets in what was made meanwhile")
            ]
        }
        guard peer.id != own, now - seen > Self.silence else { return [] }
        return [
            Finding(
                "silent-peer", .trouble, "\(name) has not been heard of since \(Timestamp(milliseconds: seen))",
                at: place, why: "nothing that it has not imported can be removed from the folder",
                help:
                    "run logsync sync on its store, or logsync peers retire STORE \(names.argument(peer.id)) where it is no more"
            )
        ]
    }

    /// What a peer holds of the others', as its receipt says. What the store itself holds is asked of the store.
    private func complaints(_ peer: PeerScan, _ scan: ContainerScan) -> [Finding] {
        guard peer.id != own, let receipt = peer.receipt.value, !retired.contains(peer.id) else { return [] }
        return Set(receipt.content.held).sorted().filter { !isOutdated($0, scan) }.map { held in
            let owner = names[held.peer].name
            let file = held.file.map { " (\($0))" } ?? ""
            return Finding(
                "held-elsewhere", .trouble,
                "\(names[peer.id].name) holds \(owner):\(held.sequence)\(file): \(held.reason)",
                at: folder.peer(peer.id).receiptPath,
                why: "it says so in its receipt, and what depends on that waits there",
                help: help(against: held.reason, held.peer)
                    + "; where \(names[peer.id].name) is no more, logsync peers retire STORE \(names.argument(peer.id))"
            )
        }
    }

    /// Whether a peer went by a file that was merged into another meanwhile: its next receipt says so no more.
    private func isOutdated(_ held: Receipt.Held, _ scan: ContainerScan) -> Bool {
        guard let name = held.file.flatMap({ LogFileName($0) }), let files = scan.peers[held.peer]?.logs.map(\.name)
        else { return false }
        return !files.contains(name) && files.contains { $0.first <= held.sequence && held.sequence <= $0.last }
    }

    private func help(against reason: String, _ peer: PeerID) -> String {
        switch HeldItem.Reason(rawValue: reason) {
        case .damaged, .incomplete, .gap: remedy(peer)
        case .missingBlob: "run logsync sync on the store of \(names[peer].name), which writes it again"
        case .newerFormat: "install a newer logsync there"
        case .clock: "set the clocks, or let it in there with logsync peers accept-clock"
        case .tooLarge: "let it in there with logsync peers accept-size"
        default: "run logsync doctor on the store that holds it"
        }
    }
}
