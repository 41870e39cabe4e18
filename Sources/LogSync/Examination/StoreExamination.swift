import LogSyncContainer
import LogSyncModel
import LogSyncStore

/// Looks a store over, and its folder with it.
struct StoreExamination {
    let store: ReplicatedStore
    /// The transactions of which it is known that nobody is about to publish them.
    let waiting: Set<Dot>

    var path: String { store.place.path }

    func findings() throws -> [Finding] {
        let disks = disks()
        var findings = place() + disks
        let health = try store.store.health()
        findings += self.health(health)
        // A database that SQLite calls damaged is not asked further.
        guard health.integrity.isEmpty else { return findings + folder(nil).findings() }
        findings += try undecidedReferences() + undecidedKeys()
        let scanned = Result { try store.scan() }
        // What cannot be seen of the container is a finding of its own.
        let status = try store.status(try? scanned.get())
        let obstacle = obstacle(scanned)
        if let obstacle { findings.append(obstacle) }
        if obstacle == nil, disks.isEmpty { findings += try scarcity(status, try? scanned.get()) }
        findings += inside(status, mayPublish: obstacle == nil && disks.isEmpty)
        guard case .success(let scan) = scanned else { return findings }
        findings += try strangers(scan)
        findings += status.schemas.map { other in
            Finding(
                "other-schema", .note, "\(other.peer.name) has another schema", at: path,
                why: other.lines.joined(separator: "; "),
                help: "nothing has to be done while both versions are meant to go on; otherwise run the program's "
                    + "migration where it has not run, with logsync migrate where columns or tables get other names")
        }
        let outside = folder(scan).findings { try store.scan() }
        // A file that is damaged is held for that; once is enough.
        let known = Set(outside.map(\.place).filter { $0.contains("/\(LogFileName.folder)/") })
        return try findings + held(status.held).filter { !known.contains($0.place) } + outside
    }

    private func folder(_ scan: ContainerScan?) -> FolderExamination {
        var examination = FolderExamination(folder: store.content, configuration: store.configuration)
        examination.own = store.peer
        // Without names and retirements there is less to say, and nothing wrong.
        if let names = try? store.names() { examination.names = names }
        if let retired = try? store.store.retiredPeers() { examination.retired = retired }
        if let branches = try? store.store.branches() { examination.branches = Set(branches) }
        if let shown = try? scan.map(store.coverage.shownColumns) { examination.shown = shown }
        return examination
    }

    private func held(_ items: [HeldItem]) throws -> [Finding] {
        var looks = RepeatedExamination(items.map(held))
        while looks.isDoubtful { looks.add(try store.inbox.heldItems(store.scan()).map(held)) }
        return looks.findings(at: store.content.path)
    }

    // MARK: The folder, as this store's

    /// What keeps this store from publishing.
    private func obstacle(_ scanned: Result<ContainerScan, any Error>) -> Finding? {
        let path = store.content.path
        if case .failure(let error) = scanned {
            return FolderExamination.unavailable(LogSyncError(wrapping: error, at: path), at: path)
        }
        do throws(FileSystemError) {
            try store.content.peer(store.peer).checkWritable()
            return nil
        } catch {
            return Self.unwritable(error)
        }
    }

    /// Whether the folder holds only peers of which this store has never heard.
    private func strangers(_ scan: ContainerScan) throws -> [Finding] {
        do {
            try store.checkHistory(of: scan, at: store.content.path)
            return []
        } catch let error as LogSyncError where error.code == .configuration {
            return [
                Finding(
                    "other-content", .trouble, "no peer in the folder is known to this store", at: store.content.path,
                    why: "another content of the same name has taken the place of this store's; or two machines began "
                        + "the same content and have not met yet",
                    help: "logsync attach STORE --container DIR names the folder that is meant; logsync sync puts the "
                        + "rows of both together, so run it only where they are the same content")
            ]
        }
    }

    private func place() -> [Finding] {
        do {
            try StorePlace.checkSuitable(
                path, container: store.registration.container, fileSystem: store.configuration.fileSystem)
            return []
        } catch {
            let error = LogSyncError(wrapping: error, at: path)
            return [
                Finding(
                    "unsuitable-place", .trouble, "the store is where it will be corrupted", at: path,
                    why: error.message, help: error.help)
            ]
        }
    }

    /// The columns that came with a migration, and may hold integers of other rows.
    private func undecidedReferences() throws -> [Finding] {
        let held = try store.store.heldReferences()
        return try store.store.undecidedReferences().map { reference in
            let column = "\(reference.table).\(reference.column)"
            return Finding(
                "undecided-reference", .trouble,
                "it seems to hold integers of rows of \(reference.parent), which differ from peer to peer",
                at: "\(path): \(column)",
                why: "it came with a migration, and no foreign key says what it refers to"
                    + (held.contains(column) ? "; it is not replicated until that is decided" : ""),
                help: "logsync migrate \(path.asShellArgument) --reference "
                    + "\("\(column)=\(reference.parent)".asShellArgument) says that it does, --no-reference "
                    + "\(column.asShellArgument) that it does not")
        }
    }

    /// The keys of tables that came with a migration, which may be the same everywhere.
    private func undecidedKeys() throws -> [Finding] {
        try store.store.undecidedKeys().map { key in
            Finding(
                "undecided-key", .trouble,
                "it seems to mean something, and is taken for a number that each machine gives by itself",
                at: "\(path): \(key.table).\(key.column)", why: "it came with a migration, and \(key.reason)",
                help:
                    "logsync migrate \(path.asShellArgument) --identity \(key.table.asShellArgument)=surrogate says that it is "
                    + "a number of rows; where it means the same everywhere, make the table anew WITHOUT ROWID, on each machine "
                    + "(Documentation/migrations.md)")
        }
    }

    // MARK: Our own view

    private func inside(_ status: StoreStatus, mayPublish: Bool) -> [Finding] {
        var findings: [Finding] = []
        func add(
            _ code: String, _ severity: Finding.Severity, _ count: Int, _ one: String, _ many: String, why: String,
            help: String?
        ) {
            guard count > 0 else { return }
            findings.append(Finding(code, severity, count.counted(one, many), at: path, why: why, help: help))
        }
        add(
            "pending", .note, status.pending, "change is not recorded yet", "changes are not recorded yet",
            why: "no logsync has run since",
            help: "run logsync sync or logsync watch on the store")
        add(
            "outbox", .trouble, waiting.isEmpty ? 0 : status.outbox, "transaction is not published yet",
            "transactions are not published yet",
            why: mayPublish
                ? "the container was not there or could not be written to, or no logsync has run since"
                : "they wait until the content folder can be used, and this machine's own files be written",
            help: "run logsync sync or logsync watch on the store")
        add(
            "conflicts", .note, status.conflicts, "cell was written on two peers at once",
            "cells were written on two peers at once",
            why: "one version is shown, all are kept", help: "logsync conflicts lists them")
        add(
            "parked", .trouble, status.parked, "row cannot stand in its table", "rows cannot stand in their tables",
            why: "they would break a constraint; they are kept beside the table and come back when they can",
            help: "logsync conflicts lists them, conflicts set and conflicts drop settle them")
        let isAwaited =
            !status.container.available
            || status.schemas.contains { $0.differences.contains { $0.kind == .missingHere } }
        if isAwaited {
            add(
                "kept-for-schema", .trouble, status.keptForSchema, "cell is kept for a table or column not here yet",
                "cells are kept for tables and columns not here yet",
                why: "another peer has a newer schema", help: "let the app migrate this store as well")
        } else {
            add(
                "kept-for-schema", .note, status.keptForSchema,
                "cell is kept of a table or column that no schema has which peers have published",
                "cells are kept of tables and columns that no schema has which peers have published",
                why:
                    "they were dropped, and may come back; or a peer's table is another one than theirs, as its own doctor says",
                help: nil)
        }
        for undecided in status.undecided {
            findings.append(
                Finding(
                    "undecided-columns", .trouble, "nothing tells whether columns were renamed",
                    at: "\(path): \(undecided.table)",
                    why:
                        "what is written to \(undecided.columns.map(\.name).joined(separator: ", ")) is not recorded, and "
                        + "what comes of them is kept beside the table, until that is known",
                    help: "run \(undecided.renamed) where they were; \(undecided.notRenamed) where they were not"))
        }
        for other in status.otherTables {
            findings.append(
                Finding(
                    "other-table", .trouble, "\(other.table) is not the table \(other.table) of other peers",
                    at: "\(path): \(other.table)",
                    why:
                        "they have set theirs aside and made a new one of its name, which logs call \(other.there) and this "
                        + "store's \(other.here): what one writes is not shown by the other",
                    help:
                        "let the program of this store do the same; or run \(other.same), after which its rows are rows of "
                        + "theirs"))
        }
        for key in status.unenforced {
            findings.append(
                Finding(
                    "unenforced", .note, "a foreign key is not enforced", at: "\(path): \(key)",
                    why: "somebody's rows break it"))
        }
        findings += status.unmade.map { $0.isMissing ? missing($0) : idle($0) }
        findings += status.unwritable.map(unwritable)
        if !status.lacks.isEmpty { findings.append(lacking(status.lacks)) }
        if let setBack = status.setBack {
            findings.append(
                Finding(
                    "set-back", .trouble, "the daemon leaves this store alone until \(setBack.until)", at: path,
                    why: "it ended while it was working on it, \(setBack.ends) times in a row, last at \(setBack.last)",
                    help:
                        "logsync verify \(path.asShellArgument) may say which file it is; a daemon that is restarted tries again at once"
                ))
        }
        if let trouble = status.identity { findings.append(identity(trouble)) }
        return findings
    }

    private func missing(_ object: UnmadeObject) -> Finding {
        Finding(
            "missing-object", .trouble, "this store has no \(object.object), which the program's schema has", at: path,
            why:
                "\(object.reason). What a trigger adds to rows is missing in those that the program writes here, and what an "
                + "index or a trigger forbids is not forbidden",
            help:
                "let the program make it, where it makes what it does not find; else make the store anew by logsync clone, "
                + "with the option that is named, before the program writes here")
    }

    private func unwritable(_ table: StoreStatus.UnwritableTable) -> Finding {
        Finding(
            "unwritable-table", .trouble, "logsync cannot write this table", at: "\(path): \(table.table)",
            why: "\(table.reason). What programs write here is recorded; what other peers write there waits, and "
                + "whatever else these write after it",
            help: LoadableExtension.remedy)
    }

    private func idle(_ object: UnmadeObject) -> Finding {
        Finding(
            "unmade", .note, "\(object.object) does not run while rows are imported", at: path,
            why:
                "\(object.reason); what a trigger keeps beside replicated tables goes stale where other peers' rows come in",
            help: "let the program bring it up to date, where it can")
    }

    private func lacking(_ lacks: [StoreStatus.LackedColumn]) -> Finding {
        let peers = lacks.peers.map(\.name).joined(separator: ", ")
        return Finding(
            "column-dropped", .trouble,
            "this store has no values of \(lacks.columns) any more, and \(peers) may show them",
            at: path,
            why: "a snapshot of this store would lack them, so it takes none to stand for log files: none of them goes "
                + "until a peer that has all values takes a snapshot",
            help:
                "update the program of \(peers); or run logsync snapshot on a store that has all values, or logsync peers "
                + "retire \(path.asShellArgument) PEER where one is no more. Where the column is back, logsync verify "
                + "\(path.asShellArgument) --refill gives its values back")
    }

    private func held(_ item: HeldItem) -> Finding {
        Finding(
            "held-\(item.reason.rawValue)",
            [.damaged, .fork, .refused].contains(item.reason) ? .damage : .trouble,
            "\(item.peer.name):\(item.sequence) cannot be imported",
            at: item.file.map { store.content.peer(item.peer.id).path(named: $0) } ?? store.content.path,
            why: item.detail ?? item.reason.rawValue, help: item.help(at: path))
    }
}
