import Foundation
import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

extension Replicator {
    /// Makes an existing database a store and joins the content where it exists already.
    ///
    /// It may be called again without harm: options that ask for something else than the store has change nothing, and are
    /// named in ``InitializeReport/warnings``. The container has to be there; the content's folder is made within it.
    ///
    /// - Throws: `configuration` where the options contradict what is there, or leave open which columns refer to other
    ///   tables' rows (``InitializeReport/undecided``) or which integer keys are the same everywhere
    ///   (``InitializeReport/undecidedKeys``), or the store lies in a shared folder or on
    ///   a network file system; `containerUnavailable`; `noStore`; `invalidStore`; `unsupportedTable`; `usage`.
    public static func initialize(
        _ store: String, container: String, content: String, options: InitializeOptions = InitializeOptions(),
        configuration: SyncConfiguration
    ) async throws -> InitializeReport {
        let founder = Founder(configuration: configuration, container: container, content: content)
        guard !options.dryRun else { return await founder.outlook(store, options) }
        var report = try await founder.initialize(store, options, asksOfRivals: true)
        let replicator = try await Replicator.open(store: store, configuration: configuration)
        let result = try await replicator.sync()
        let status = try await replicator.status()
        if report.joined, status.parked > 0 {
            report.addParked(
                Dictionary(grouping: try await replicator.conflicts().parked, by: \.table).mapValues(\.count))
        }
        await replicator.close()
        report.peer = status.peer
        report.recorded += result.recorded
        report.published = result.published
        report.imported = result.imported
        report.held = result.held
        return report
    }
}

extension Founder {
    /// What a dry run finds: what would be done, or what keeps it from being done.
    fileprivate func outlook(_ path: String, _ options: InitializeOptions) async -> InitializeReport {
        do {
            return try await initialize(path, options, asksOfRivals: true)
        } catch {
            var report = InitializeReport(
                store: StorePlace.absolute(path), content: content, container: container)
            report.dryRun = true
            report.obstacle = LogSyncError(wrapping: error, at: path)
            return report
        }
    }

    /// - Parameter asksOfRivals: whether rows of one UNIQUE key that the content has, too, keep the database from joining it
    ///   until a policy says what becomes of them; otherwise some are parked, as when two peers insert them later.
    func initialize(
        _ path: String, _ options: InitializeOptions, asksOfRivals: Bool = false
    ) async throws -> InitializeReport {
        let place = try StorePlace(path)
        let folder = ContentFolder(
            container: container, name: try ContentName(checking: content), fileSystem: configuration.fileSystem,
            purpose: .founding, permissions: place.permissions)
        try StorePlace.checkSuitable(place.path, container: container, fileSystem: configuration.fileSystem)
        var report = InitializeReport(store: place.path, content: content, container: container)
        report.dryRun = options.dryRun
        if let registration = try registration(of: place) {
            return try again(report, place, registration, folder, options)
        }
        let stateDirectory = StateDirectory(configuration.stateDirectory)
        let locks = try options.dryRun ? nil : foundingLocks(place, stateDirectory)
        try await locks?.step.acquire(wait: configuration.wait, of: place.path)
        defer { locks?.step.release() }
        if locks != nil {
            // Another process may have made it a store meanwhile.
            if let registration = try registration(of: place) {
                return try again(report, place, registration, folder, options)
            }
            try clearUnfinished(place)
        }
        report.joined = try folder.exists()
        if report.joined { try checkPublishing(into: folder) }
        var scan = report.joined ? try ContainerScanner(content: folder).scan(full: true) : nil
        let former = try stateDirectory.peers(at: place.path).filter { scan?.peers[$0] != nil }
        let name = try peerName(options.peerName, scan, former: former)
        var settings: ContentSettings?
        if var listing = scan {
            settings = try folder.readAll(&listing) { try contentSettings($0, folder) }
            scan = listing
        }
        var plan = try plan(options, name: name, settings, place, &report)
        // A content whose schemas cannot be read keeps nobody from joining it.
        let schema = plan.settings.isEmpty ? nil : try? scan.map { try self.schema(in: folder, $0) }
        if let schema {
            plan.settings += try Store.spellings(
                place.path, of: schema, settings: plan.settings, configuration: configuration.storeConfiguration)
        }
        let found = try Store.examine(place.path, plan: plan, configuration: configuration.storeConfiguration)
        report.tables = undecided(found.tables, plan)
        report.references = found.references
        report.undecided = found.undecided
        report.refusals = found.refusals
        report.undecidedKeys = found.undecidedKeys
        report.warnings += found.warnings + emptiness(plan, place, found.tables)
        report.obstacle =
            try found.obstacle ?? doubling(found, place, isJoining: !plan.settings.isEmpty)
            ?? unrelated(plan, place, report.tables, schema)
        if !former.isEmpty, let doubled = doubledAgain(report.tables, place, isJoining: !plan.settings.isEmpty) {
            if options.joinsAgain {
                report.warnings.append(doubled.message)
            } else {
                report.obstacle = report.obstacle ?? doubled
            }
        }
        if let scan, report.obstacle == nil, !plan.settings.isEmpty,
            options.dryRun || asksOfRivals && !found.contestable.isEmpty
        {
            try await preview(place, plan, scan, folder, asksOfRivals ? found.contestable : [:], &report)
        }
        if options.dryRun { return report }
        // What is refused leaves no trace in the container either.
        if let obstacle = report.obstacle { throw obstacle }
        try folder.create()
        let made = try Store.initialize(place.path, plan: plan, configuration: configuration.storeConfiguration)
        defer { closeQuietly(made.store) }
        // What it was before takes part no more, and nobody is to wait for it.
        let gone = former.filter { scan?.peers[$0]?.said?.hasLeft != true }
        for peer in gone { try made.store.retire(peer) }
        try made.store.setLocation(
            path: place.path, inode: place.inode, machineID: configuration.machineID,
            stateDirectory: stateDirectory.path)
        try saveState(of: made.store, at: place, in: stateDirectory)
        for peer in gone { try stateDirectory.remove(peer) }
        report.tables = undecided(made.tables, plan)
        report.recorded = try made.store.vector()[made.store.registration().peer] > 0 ? 1 : 0
        configuration.logger.info(
            "\(place.path) is a store of \(content) now, and has recorded what it holds",
            metadata: [
                "tables": "\(made.tables.count)", "rows": "\(made.tables.reduce(0) { $0 + $1.rows })",
            ])
        return report
    }

    /// Without advice on what the content's founder has settled.
    private func undecided(_ tables: [TableReport], _ plan: InitializePlan) -> [TableReport] {
        guard !plan.settings.isEmpty else { return tables }
        return tables.map { table in
            var table = table
            table.suggestions = []
            return table
        }
    }

    private func foundingLocks(_ place: StorePlace, _ stateDirectory: StateDirectory) throws -> StoreLocks {
        try stateDirectory.create()
        return try StoreLocks(stateDirectory, store: place.path, wait: configuration.wait)
    }

    /// Removes what an `init` or `leave` that was interrupted has left; no process is at it any more.
    private func clearUnfinished(_ place: StorePlace) throws {
        guard try Store.isUnfinished(place.path, configuration: configuration.storeConfiguration) else { return }
        _ = try Store.removeLeftovers(place.path, configuration: configuration.storeConfiguration)
        configuration.logger.notice("\(place.path): what an init or leave that was interrupted had left is removed")
    }

    /// The same with the recipe for the database's application, which the report names.
    private func plan(
        _ options: InitializeOptions, name: String, _ settings: ContentSettings?, _ place: StorePlace,
        _ report: inout InitializeReport
    ) throws -> InitializePlan {
        let isJoining = settings?.rows.isEmpty == false
        let outline = try Store.outline(place.path, configuration: configuration.storeConfiguration)
        let options = options.read(in: outline)
        try options.checkAgreement()
        let settled = settings?.value(Store.recipeSetting, "content")
        guard let recipe = try options.recipe.recipe(for: outline, place.path, isJoining: isJoining) else {
            report.recipe = settled
            return try plan(options, name: name, settings)
        }
        if let settled, settled != recipe.name {
            throw LogSyncError(
                .configuration, "\(content) goes by the recipe \(settled), not \(recipe.name); nothing was changed",
                help: "Leave --recipe out: who joins a content takes what its founder has decided.")
        }
        let fitted = FittedRecipe(recipe, options, outline)
        let lacking = recipe.mark.lacking(in: outline)
        if !lacking.isEmpty {
            report.warnings.append(
                "\(place.path) is not quite what the recipe \(recipe.name) is for: \(lacking.joined(separator: "; "))")
        }
        for what in fitted.passedOver {
            configuration.logger.debug("the recipe \(recipe.name) names what \(place.path) does not have: \(what)")
        }
        report.recipe = recipe.name
        report.note = recipe.note
        var plan = try plan(fitted.options, name: name, settings)
        plan.recipe = recipe.name
        plan.recipeReferences = fitted.references
        plan.knowsColumns = !fitted.references.isEmpty && !recipe.isOfFramework
        plan.referencePatterns = fitted.patterns.map { ("\($0.table).\($0.column)", $0.parent) }
        return plan
    }

    /// What would become of the database's rows.
    ///
    /// - Parameter contestable: the UNIQUE keys of the tables that have to be decided where rows share some.
    private func preview(
        _ place: StorePlace, _ plan: InitializePlan, _ scan: ContainerScan, _ folder: ContentFolder,
        _ contestable: [String: [[String]]], _ report: inout InitializeReport
    ) async throws {
        do {
            let scratch = try ScratchFolder("join", kept: "nothing was changed")
            defer { scratch.remove() }
            var scan = scan
            let settings = try folder.readAll(&scan) { try contentSettings($0, folder) }
            let contentPlan = try self.plan(InitializeOptions(), name: "replay", settings)
            let (counts, parked, rivals) = try await JoinPreview(scan, in: folder, scratch: scratch, founder: self)
                .counts(of: place.path, plan: plan, contentPlan: contentPlan)
            for index in report.tables.indices { report.tables[index].join = counts[report.tables[index].table] }
            report.contested = rivals.compactMap { table, rows in
                contestable[table].map { TableReport.Contested(table: table, rows: rows, keys: $0) }
            }.sorted { $0.table < $1.table }
            report.obstacle = report.contested.obstacle(content)
            if report.dryRun, report.obstacle == nil { report.addParked(parked) }
        } catch let error as LogSyncError {
            guard contestable.isEmpty else {
                report.obstacle = untried(error, place, contestable.keys.sorted())
                return
            }
            // What a dry run says of the rest is true all the same, and nothing has to be decided before the database joins.
            report.warnings.append(
                "what would become of the rows of \(report.store) could not be found out: \(error.message)")
        }
    }

    /// Why a database that may have rows of others' UNIQUE keys does not join: whether it has some could not be tried.
    private func untried(_ error: LogSyncError, _ place: StorePlace, _ tables: [String]) -> LogSyncError {
        func all(_ policy: String) -> String {
            tables.map { "--policy \($0.asShellArgument)=\(policy)" }.joined(separator: " ")
        }
        let isOfFiles = [.ioError, .cannotCreate, .noPermission].contains(error.code)
        let way =
            isOfFiles
            ? "Set TMPDIR to a folder that this user may write, with room for the database and all of \(content)"
            : error.help ?? "Run `logsync doctor \(container.asShellArgument)`"
        return LogSyncError(
            error.code,
            "whether rows of \(place.path) have UNIQUE keys of rows of \(content) could not be tried on copies: "
                + error.message,
            help:
                "\(way); or say beforehand what is to become of two rows of one key: \(all("unique-merge")), which makes "
                + "one row of them, or \(all("unique-park")), which parks one")
    }

    private func tablesOfContent(_ plan: InitializePlan) -> [String] {
        plan.settings.filter { $0.kind == "identity" }.map(\.target).sorted()
    }

    private static func list(_ tables: [String]) -> String {
        let limit = 10
        return tables.prefix(limit).joined(separator: ", ") + (tables.count > limit ? ", …" : "")
    }

    /// What is said of a database that joins before its program has made its tables.
    private func emptiness(_ plan: InitializePlan, _ place: StorePlace, _ tables: [TableReport]) -> [String] {
        let others = tablesOfContent(plan)
        guard tables.isEmpty, !others.isEmpty else { return [] }
        return [
            "\(place.path) has no tables yet: the rows of \(content) (\(Self.list(others))) are shown once its program has "
                + "made them; logsync clone makes a store that has them"
        ]
    }

    /// A database that has no table of the content was meant for another one.
    ///
    /// - Parameter schema: the content's; nil where none can be read.
    private func unrelated(
        _ plan: InitializePlan, _ place: StorePlace, _ tables: [TableReport], _ schema: String?
    ) throws -> LogSyncError? {
        let others = tablesOfContent(plan)
        let own = tables.filter { !["local", "skipped"].contains($0.identity) }.map(\.table)
        guard !own.isEmpty, !others.isEmpty else { return nil }
        let shared = Set(own.map(\.folded)).intersection(others.map(\.folded))
        // Without a schema that can be read there are only the names.
        let isRelated =
            try schema.map {
                try Store.isRelated(place.path, to: $0, tables: shared, configuration: configuration.storeConfiguration)
            } ?? !shared.isEmpty
        guard !isRelated else { return nil }
        return LogSyncError(
            .configuration,
            "\(place.path) has none of the tables of \(content) (\(Self.list(others)))"
                + (shared.isEmpty ? "" : ", or other columns in those of the same name") + "; nothing was changed",
            help: "Choose another --content for it: one content holds one program's tables.")
    }

    /// A store that has lost the tables which said who its rows are would join with other rows of the same content.
    private func doubling(_ found: FoundingReport, _ place: StorePlace, isJoining: Bool) -> LogSyncError? {
        let tables = found.tables.filter { $0.identity == "surrogate" && $0.rows > 0 }.map(\.table)
        guard !found.leftovers.isEmpty, isJoining, !tables.isEmpty else { return nil }
        return LogSyncError(
            .configuration,
            "\(place.path) was a store, and another program has dropped the tables that said who its rows are; rows of "
                + "\(tables.joined(separator: ", ")) would be there twice if it joined \(content) as it is; nothing was changed",
            help:
                "`logsync leave \(place.path.asShellArgument)` removes what is left, and its program can write it again. `logsync clone "
                + "--container \(container.asShellArgument) --content \(content) NEW` makes a store of what the others have, into which "
                + "what is only here can be copied; after `leave`, `logsync init` joins all the same")
    }

    /// A database that has left the content has its rows, and no word of which are which.
    private func doubledAgain(_ tables: [TableReport], _ place: StorePlace, isJoining: Bool) -> LogSyncError? {
        let tables = tables.filter { ["surrogate", "row"].contains($0.identity) && $0.rows > 0 }.map(\.table)
        guard isJoining, !tables.isEmpty else { return nil }
        return LogSyncError(
            .configuration,
            "\(place.path) has left \(content): rows of \(tables.joined(separator: ", ")) that were written there are here and in "
                + "the folder, and are there twice, at every peer, where it joins again",
            help:
                "Open a new database in place of it, which gets the rows from the folder, and copy what is only here into it; or "
                + "say joinsAgain() in the rules, to have both", subject: .store(place.path))
    }

    /// The database is a store already: says so, and finishes what an `init` that was killed had left.
    private func again(
        _ report: InitializeReport, _ place: StorePlace, _ registration: StoreRegistration, _ folder: ContentFolder,
        _ options: InitializeOptions
    ) throws -> InitializeReport {
        guard registration.content == content, Self.isSame(registration.container, container) else {
            throw LogSyncError(
                .configuration,
                "\(place.path) already is a store of \(registration.content) in \(registration.container); nothing was "
                    + "changed", help: "logsync leave ends that, logsync move takes it elsewhere")
        }
        if let name = options.peerName, name != registration.name {
            throw LogSyncError(
                .configuration,
                "this peer is named \(registration.name.debugDescription), not \(name.debugDescription); "
                    + "nothing was changed", help: "logsync peers rename gives it another name")
        }
        var report = report
        report.alreadyInitialized = true
        let store = try Store.open(place.path, configuration: configuration.storeConfiguration)
        defer { closeQuietly(store) }
        report.peer = PeerName(id: registration.peer, name: registration.name)
        report.tables = try store.tables()
        report.recipe = try store.recipe()
        report.warnings = try ignored(options, store)
        let hasPublished = try store.outbox(unpublishedOnly: false).contains { $0.isPublished }
        if !options.dryRun, !hasPublished, try store.vector().sequences.keys.allSatisfy({ $0 == registration.peer }) {
            // No peer has seen anything of this store, so what is missing was never there.
            try folder.create()
        }
        return report
    }

    /// What options ask for and the store, which was made with others, does not have, as sentences.
    private func ignored(_ options: InitializeOptions, _ store: Store) throws -> [String] {
        var settings: [String: String] = [:]
        for (kind, target, value) in try store.contentSettings() { settings["\(kind) \(target.folded)"] = value }
        return options.contradictions(isSettled: true) { settings["\($0) \($1.folded)"] }.map {
            "\(store.path) is a store already, and \($0); that was left as it is. logsync policy set changes a policy; the rest is "
                + "the same for all peers of a content: to have it otherwise, make another content, with logsync leave and then "
                + "logsync init with another --content, and clone the other peers' stores from that"
        }
    }

    /// nil where it is no store.
    func registration(of place: StorePlace) throws -> StoreRegistration? {
        do {
            let store = try Store.open(place.path, configuration: configuration.storeConfiguration)
            defer { closeQuietly(store) }
            return try store.registration()
        } catch let error as LogSyncError where error.code == .notReplicated {
            return nil
        }
    }

    /// Whether two paths lead to the same directory.
    static func isSame(_ a: String, _ b: String) -> Bool {
        func resolved(_ path: String) -> String { URL(fileURLWithPath: path).resolvingSymlinksInPath().path }
        return resolved(a) == resolved(b)
    }
}

extension InitializeReport {
    /// - Parameter parked: how many rows of each table are parked as the store joins, or would be.
    fileprivate mutating func addParked(_ parked: [String: Int]) {
        warnings += parked.sorted { $0.key < $1.key }.map { table, count in
            "\(count.counted("row")) of \(table), of \(store) or of the others, cannot be shown beside another: what cannot "
                + "is parked, with all that refers to it, and `logsync conflicts \(store.asShellArgument)` lists them once it is a store; where a UNIQUE "
                + "key that both have keeps them out, `logsync policy set \(store.asShellArgument) \(table.asShellArgument) unique-merge`, on any store of "
                + "\(content), makes one row of two"
        }
    }
}
