import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore

/// A history merged from the start into a scratch database, with stops wherever its state can be compared.
///
/// Peers go on writing meanwhile: they merge log files and remove what was merged, and the store that is compared
/// goes on recording and publishing. The store is therefore compared as one look has found it, and where a file has gone, the
/// folder is listed anew.
struct Replay {
    let replica: ReplicatedStore
    private(set) var plan: ImportPlan
    private(set) var scan: ContainerScan
    var folder: ContentFolder { replica.content }
    private var library: ContentLibrary { replica.library }
    private var hasScannedAgain = false
    private var transactions = 0
    private var compared: [VerifyReport.Comparison] = []
    private(set) var agreesWithStore: Bool?
    /// Whether it has passed through the very state that the store was in, whatever that shows.
    private(set) var hadStateOfStore = false
    private var findings: [Finding] = []
    /// The store's tables that were not compared, because programs' changes waited to be recorded.
    private(set) var unrecorded: [String] = []
    /// The states that were reached, and whether they were what was said of them.
    private var reached: [(stop: Stop, isEqual: Bool)] = []

    init(
        _ path: String, _ scan: ContainerScan, configuration: SyncConfiguration, stateDirectory: StateDirectory
    ) throws {
        var configuration = configuration.unshared
        // Nobody asks for what they keep, and nobody has made what they need.
        configuration.firesTriggers = false
        // A clock that was wrong is no damage.
        configuration.maximumDrift = .seconds(1 << 40)
        self.scan = scan
        replica = try ReplicatedStore(
            path: path, configuration: configuration, stateDirectory: stateDirectory, nonce: "verify")
        replica.library.blobs.update(scan, forgetsDoubts: true)
        plan = try replica.inbox.plan(scan)
    }

    /// A store that is compared with what its transactions make, as one look has found it.
    struct Compared {
        let store: ReplicatedStore
        let state: ComparableState
        fileprivate let key: ComparisonKey

        /// How long programs' changes may take to be recorded, and how often that is looked for.
        private static let recording = Duration.seconds(2)
        private static let interval = Duration.milliseconds(50)

        /// Looks at the store, if that can be at a moment at which nothing waits to be recorded.
        init(_ store: ReplicatedStore, isolation: isolated (any Actor)? = #isolation) async throws {
            self.store = store
            key = ComparisonKey()
            let end = ContinuousClock.now + Self.recording
            while try store.store.hasPendingChanges(), ContinuousClock.now < end {
                try await Task.sleep(for: Self.interval)
            }
            state = try store.store.comparableState(key)
        }
    }

    /// A state in which a peer says that it was.
    struct Stop {
        var vector: VersionVector
        var digest: String
        var peer: PeerID
        /// The state is that of the store that is being verified.
        var isStore = false
        /// The file that says so, where it is a snapshot.
        var snapshot: String?
    }

    mutating func run(
        comparing compared: Compared?, isolation: isolated (any Actor)? = #isolation,
        _ progress: @Sendable (SyncProgress) -> Void
    ) async throws -> [Finding] {
        unrecorded = compared?.state.unrecorded ?? []
        for stop in stops(compared) {
            guard stop.vector.includes(try replica.store.vector()) else { continue }
            plan.limit = stop.vector
            try await importAll(compared?.store, within: stop, progress)
            // The first scan was another's: that the second one differs says nothing.
            var (looks, changes) = (1, hasScannedAgain ? 0 : -1)
            while try replica.store.vector() != stop.vector, looks < RepeatedExamination.limit, try scanAgain() {
                try await importAll(compared?.store, within: stop, progress)
                looks += 1
                changes += 1
            }
            guard try replica.store.vector() == stop.vector else {
                guard stop.isStore else { continue }
                findings.append(changes > 0 ? RepeatedExamination.inUse(folder.path) : try notCompared(stop))
                continue
            }
            if stop.isStore, let store = compared?.store, try hasOtherHistory(than: store) {
                findings.append(try notCompared(with: store))
                continue
            }
            try compare(with: stop, compared)
        }
        plan.limit = nil
        try await importAll(nil, within: nil, progress)
        var looks = RepeatedExamination(try heldFindings())
        while looks.isDoubtful {
            guard try scanAgain() else {
                looks.add(nil)
                break
            }
            try await importAll(nil, within: nil, progress)
            looks.add(try heldFindings())
        }
        try judge(compared)
        return findings + looks.findings(at: folder.path).filter { !findings.contains($0) }
    }

    /// Lists the folder anew, and goes on by what is there now.
    ///
    /// - Returns: false where nothing has changed.
    private mutating func scanAgain() throws -> Bool {
        let last = scan
        scan = try library.scanner.scan(full: true)
        // The first scan was another's, and what differs from it is not known.
        let isFirst = !hasScannedAgain
        hasScannedAgain = true
        guard isFirst || !scan.isUnchanged(since: last) else { return false }
        library.logs.forgetDoubts()
        library.blobs.update(scan, forgetsDoubts: true)
        try planAnew()
        return true
    }

    private mutating func planAnew() throws {
        let limit = plan.limit
        plan = try replica.inbox.plan(scan)
        plan.limit = limit
    }

    func content() throws -> VerifyReport.Content {
        var content = VerifyReport.Content(content: folder.name.description, container: folder.container)
        for peer in scan.peers.values {
            let sizes = peer.logs.map(\.size) + peer.snapshots.map(\.size) + peer.schemas.map(\.size)
            content.files += sizes.count + peer.blobs.count
            content.bytes += (sizes + peer.blobs.map(\.size)).reduce(0, +)
        }
        content.transactions = transactions
        // It was read a moment ago.
        content.vector = try replica.store.vector()
        content.digest = try replica.store.digest()
        content.compared = compared
        return content
    }

    /// Writes the state that was reached, with all its values, into a file that is not there yet.
    ///
    /// - Throws: `ioError`, `cannotCreate`, `noPermission` where that cannot be.
    func writeSnapshot(_ path: String) throws {
        do {
            let file = try PosixFileSystem().create(path, permissions: FilePermissions(mode: 0o600))
            _ = try replica.store.writeSnapshot { try file.write($0) }
            try file.close()
        } catch let error as FileSystemError {
            throw error.explained(kept: "nothing was changed")
        }
    }

    /// In an order in which one can follow the other, as far as that goes.
    private func stops(_ compared: Compared?) -> [Stop] {
        var stops: [Stop] = []
        for peer in scan.peers.values {
            guard let receipt = peer.receipt.value?.content, !receipt.digest.isEmpty, receipt.held.isEmpty else {
                continue
            }
            stops.append(Stop(vector: receipt.imported, digest: receipt.digest, peer: peer.id))
        }
        for snapshot in library.snapshots.found(scan) {
            stops.append(
                Stop(
                    vector: snapshot.vector, digest: Self.text(of: snapshot.manifest.digest), peer: snapshot.peer,
                    snapshot: folder.peer(snapshot.peer).path(snapshot.name)))
        }
        if let compared {
            stops.append(
                Stop(
                    vector: compared.state.vector, digest: compared.state.digest, peer: compared.store.peer,
                    isStore: true))
        }
        func size(_ vector: VersionVector) -> UInt64 { vector.sequences.values.reduce(0, &+) }
        // The store is what was asked for: what it has not imported yet comes after it.
        func isBeyondStore(_ stop: Stop) -> Bool { compared.map { !$0.state.vector.includes(stop.vector) } ?? false }
        return stops.sorted {
            // The store's own receipt may be of the same state.
            (isBeyondStore($0) ? 1 : 0, size($0.vector), $0.isStore ? 0 : 1, $0.peer, $0.snapshot ?? "")
                < (isBeyondStore($1) ? 1 : 0, size($1.vector), $1.isStore ? 0 : 1, $1.peer, $1.snapshot ?? "")
        }
    }

    /// As receipts and ``StoreSummary`` have it.
    private static func text(of digest: UInt64) -> String {
        let digits = String(digest, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    // MARK: Merging

    /// All that there is, or all up to a stop.
    private mutating func importAll(
        _ store: ReplicatedStore?, within stop: Stop?, isolation: isolated (any Actor)? = #isolation,
        _ progress: @Sendable (SyncProgress) -> Void
    ) async throws {
        repeat {
            try await importReady(store, progress)
        } while try findBranches() || joinSnapshot(within: stop?.vector, orPartial: stop?.isStore ?? true)
    }

    private mutating func importReady(
        _ store: ReplicatedStore?, isolation: isolated (any Actor)? = #isolation,
        _ progress: @Sendable (SyncProgress) -> Void
    ) async throws {
        while true {
            switch try replica.inbox.importNext(plan) {
            case .imported(let step): transactions += step.imported.count
            case .undone: continue
            case .finished:
                guard let store, try importFromOutbox(of: store) else { return }
                transactions += 1
            }
            progress(SyncProgress(imported: transactions, total: transactions + plan.remaining()))
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    private mutating func findBranches() throws -> Bool {
        guard try replica.inbox.branches.findBranches(plan, scan) else { return false }
        try planAnew()
        return true
    }

    /// What the store has recorded and not published is in no file.
    private mutating func importFromOutbox(of store: ReplicatedStore) throws -> Bool {
        let next = try replica.store.vector()[store.peer] + 1
        guard next <= plan.limit?[store.peer] ?? 0,
            let kept = try store.store.outbox(of: store.peer, next...next).first
        else { return false }
        let named = try store.store.outboxBlobs(of: store.peer, next...next)
        guard try named.allSatisfy({ try store.store.waitingBlobs(contain: $0) || isSound($0) }) else { return false }
        var blocks: [[UInt8]] = []
        try store.store.forEachOutboxBlock(of: kept.dot) { blocks.append($0) }
        var rest = blocks[...]
        let segment = try SegmentReader(peer: kept.dot.peer, previous: kept.chainBefore) { rest.popFirst() }
        guard try replica.store.readiness(of: segment.header, chainBefore: kept.chainBefore) == .ready else {
            return false
        }
        var incoming: IncomingTransaction? = IncomingTransaction(
            header: segment.header, chainBefore: kept.chainBefore, chain: kept.chain,
            blobs: { [blobs = library.blobs] in try store.store.blobBytes(of: $0) ?? blobs.read($0) },
            forEachGroup: { body in while let groups = try segment.nextFrame() { try groups.forEach(body) } })
        do {
            _ = try replica.store.importStep {
                defer { incoming = nil }
                return incoming
            }
        } catch let unready as UnreadyTable {
            // The next call finds the table ready for it.
            do { try replica.store.prepare(unready) } catch is RefusedTransaction { return false }
        } catch let refused as RefusedTransaction {
            let name = try replica.names()[store.peer].name
            let finding = Finding(
                "held-refused", .trouble, "\(name):\(next), which is not published yet, cannot be replayed",
                at: store.place.path, why: refused.detail, help: "run logsync doctor on the store")
            if !findings.contains(finding) { findings.append(finding) }
            return false
        }
        return true
    }

    private func isSound(_ id: BlobID) throws -> Bool {
        if case .sound = try library.blobs.examine(id) { true } else { false }
    }

    /// Joins a snapshot where log files that were collected, or are missing, keep something from being replayed.
    ///
    /// - Parameter orPartial: whether one that lacks values will do where no whole one does: the rows compared are shown
    ///   without them then.
    private mutating func joinSnapshot(within limit: VersionVector?, orPartial: Bool) throws -> Bool {
        let vector = try replica.store.vector()
        if vector == limit { return false }
        for snapshot in try replica.coverage.snapshots(scan) where orPartial || !snapshot.isPartial {
            guard !vector.includes(snapshot.vector), limit?.includes(snapshot.vector) ?? true else { continue }
            do {
                guard case .ready = try replica.store.joinability(of: snapshot.manifest),
                    try library.snapshots.isIntact(snapshot.name, of: snapshot.peer)
                else { continue }
                _ = try replica.store.join(blobs: { [blobs = library.blobs] in try blobs.read($0) }) {
                    try library.snapshots.reader(snapshot.name, of: snapshot.peer)
                }
            } catch let error as LogSyncError where error.code == .malformedLog {
                // A blob that it names is not here, which the examination of the folder says; or its branches are none.
                continue
            }
            let now = try replica.store.vector()
            transactions += now.sequences.reduce(0) { $0 + Int(clamping: $1.value - min(vector[$1.key], $1.value)) }
            // What was held for what the snapshot has, its branches too, is looked at again.
            try planAnew()
            return true
        }
        return false
    }

    // MARK: Comparing

    private mutating func compare(with stop: Stop, _ compared: Compared?) throws {
        let isEqual = try replica.store.summary().digest == stop.digest
        reached.append((stop, isEqual))
        guard stop.isStore, let compared else { return }
        agreesWithStore = isEqual
        hadStateOfStore = isEqual
        if isEqual { try compareRows(with: compared) }
    }

    /// Says what was found where states were compared, when all branches are known.
    private mutating func judge(_ store: Compared?) throws {
        let names = try replica.names()
        let branches = try replica.store.branches()
        for (stop, isEqual) in reached {
            // A peer that did not know of a branch meant something else by its parent's id.
            let isAmbiguous = branches.contains { branch in
                let offset = branches.first { $0.id == branch.parent }?.offset ?? 0
                return stop.vector[branch.parent] >= branch.start - offset && stop.vector[branch.id] == 0
            }
            if isAmbiguous, !stop.isStore { continue }
            if !stop.isStore, stop.snapshot == nil {
                compared.append(VerifyReport.Comparison(peer: names[stop.peer], equal: isEqual))
            }
            guard !isEqual else { continue }
            let name = names[stop.peer].name
            let place = stop.isStore ? store?.store.place.path ?? "" : folder.peer(stop.peer).receiptPath
            let (what, help) =
                if stop.snapshot != nil {
                    (
                        "a snapshot holds another state than its transactions make",
                        "remove it, and run logsync snapshot on the store of \(name)"
                    )
                } else if stop.isStore {
                    ("the store is in another state than its transactions make", "clone the content anew beside it")
                } else {
                    (
                        "\(name) is in another state than the same transactions make here",
                        "run logsync verify on the store of \(name)"
                    )
                }
            findings.append(
                Finding(
                    "digest-differs", .damage, what, at: stop.snapshot ?? place,
                    why: "equal version vectors must have equal digests", help: help))
        }
    }

    private mutating func compareRows(with compared: Compared) throws {
        let lost = Dictionary(grouping: compared.state.lost) { $0.table.folded }
        for (table, mine) in try replica.store.shownTables(compared.key).sorted(by: { $0.key < $1.key }) {
            // A table of another shape shows something else, and rightly.
            guard let shown = compared.state.shown[table], shown.columns == mine.columns, shown != mine else {
                continue
            }
            agreesWithStore = false
            let rows = "\(shown.rows.counted("row")) here, \(mine.rows) in the replay, or other values"
            let (why, help) =
                if let columns = lost[table.folded]?.map(\.column).sorted().joined(separator: ", ") {
                    (
                        "\(rows): values of \(columns) went when the table or column was dropped here, and came back empty; "
                            + "or they were changed behind the triggers' back",
                        "run logsync rescan on the store; where it finds nothing, logsync verify --refill gives the values "
                            + "back"
                    )
                } else {
                    (
                        "\(rows): they were changed behind the triggers' back",
                        "run logsync rescan on the store, which records them"
                    )
                }
            findings.append(
                Finding(
                    "rows-differ", .trouble, "the store shows other rows than its transactions make",
                    at: "\(compared.store.place.path): \(table)", why: why, help: help))
        }
    }
}
