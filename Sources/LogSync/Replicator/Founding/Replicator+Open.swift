import Foundation
public import GRDB
import LogSyncContainer
import LogSyncModel
import LogSyncStore
import Logging

extension Replicator {
    /// What ``open(_:container:content:peer:whenContainerIsAway:runs:configuration:_:)`` does where the shared folder is not
    /// there at the first start.
    public enum ContainerAbsence: Sendable {
        /// Opens all the same. The database becomes a store when the folder is there; until then nothing of it is lost, as
        /// all rows that it holds are recorded then.
        case waits
        /// Throws `containerUnavailable`.
        case fails
    }

    /// Replicates the database that a program has open: the one call for every start.
    ///
    /// ```swift
    /// let pool = try DatabasePool(path: "todo.db")
    /// try migrator.migrate(pool)
    /// let replicator = try await Replicator.open(pool, container: "~/Sync", content: "todo") {
    ///     $0.merge("item", "notes", by: .joined)
    ///     $0.merge("tag", uniques: .merged)
    /// }
    /// ```
    ///
    /// At the first start it makes the database a store, and joins the content where other peers have begun it. At later
    /// ones it opens the store. What a later version of the program asks for in addition is added. A policy that the content
    /// has otherwise, as it was set since, stays as it is and is logged; other rules than the content was begun by are
    /// refused. What changes without the program's doing reaches every observation of `writer`, also what other
    /// processes import.
    ///
    /// - Parameters:
    ///   - writer: the program's own connection. Its file is the store, and its schema is in place.
    ///   - container: the shared folder; `~` is the user's home.
    ///   - content: which data set this is, the same at every peer: at most 63 of `a-z`, `0-9`, `.`, `_`, `-`.
    ///   - peer: what this peer is called, at the first start; nil for the machine's name.
    ///   - absence: what to do where the shared folder is not there. A store that has been made opens without it anyway.
    ///   - runs: whether it replicates from now on, as after ``start()``; false for tests and scripts, which call ``sync()``.
    ///   - rules: how tables are identified and merged.
    /// - Throws: `configuration` where the rules contradict the content, or the store is one of another content or folder;
    ///   `containerUnavailable` (`absence: .fails`); `unsupportedTable`, `invalidStore`, `newerFormat`, `noPermission`,
    ///   `locked`; `usage` where `writer` is a database in memory, or a rule names what is not there.
    public static func open(
        _ writer: any DatabaseWriter, container: String, content: String, peer: String? = nil,
        whenContainerIsAway absence: ContainerAbsence = .waits, runs: Bool = true,
        configuration: SyncConfiguration = SyncConfiguration(),
        _ rules: @Sendable (inout Rules) throws -> Void = { _ in }
    ) async throws -> Replicator {
        guard let place = try? StorePlace(writer.path) else {
            throw LogSyncError(
                .usage, "\(writer.path.debugDescription) is not a file; nothing was done",
                help: "A store is a database in a file; open a DatabasePool or a DatabaseQueue with a path")
        }
        var made = Rules()
        try rules(&made)
        made.options.peerName = peer
        var configuration = configuration
        configuration.policies.merge(made.policies.filter { MergePolicy(named: $0.key) == nil }) { $1 }
        let replicator = try Replicator(store: place.path, configuration: configuration, opensNow: false)
        try await replicator.begin(
            FoundingPlan(container: HomeDirectory.expand(container), content: content, rules: made), absence)
        await replicator.settleForPrograms()
        await replicator.notify(writer)
        if runs { await replicator.start() }
        return replicator
    }

    /// Opens a store on the replicator's own thread, so that the caller's does not wait for the database.
    ///
    /// It may be kept waiting for as long as `configuration.wait` says, 10 s by default, by a process that has the database
    /// for itself; a user interface would stand still in ``init(store:configuration:opensNow:)``.
    ///
    /// - Throws: what ``init(store:configuration:opensNow:)`` throws.
    public static func open(store path: String, configuration: SyncConfiguration) async throws -> Replicator {
        let replicator = try Replicator(store: path, configuration: configuration, opensNow: false)
        try await replicator.openNow()
        return replicator
    }

    private func openNow() throws { try inspect { _ in } }

    /// What a database is to become that is no store yet.
    struct FoundingPlan: Sendable {
        var container: String
        var content: String
        var rules: Rules
    }

    /// Which peer the store is, and where its content: changes when it becomes another.
    package func account() throws -> String {
        try inspect { "\($0.registration.peer) \($0.registration.content) \($0.registration.container)" }
    }

    // MARK: Beginning

    private func begin(_ founding: FoundingPlan, _ absence: ContainerAbsence) async throws {
        do {
            let registration = try inspect { $0.registration }
            try check(founding, registration)
            try await add(founding.rules)
        } catch let error as LogSyncError where error.code == .notReplicated {
            self.founding = founding
            programRecording.expectFounding()
            do {
                try await found()
            } catch let error as LogSyncError where error.code == .containerUnavailable && absence == .waits {
                configuration.logger.notice("\(path) becomes a store when its folder is there: \(error)")
            }
        }
    }

    /// Makes the database a store where it still has to be made one.
    ///
    /// - Throws: `containerUnavailable` where the shared folder is still not there; what ``initialize`` throws.
    func found() async throws {
        guard let founding else { return }
        let founder = Founder(
            configuration: configuration, container: founding.container, content: founding.content)
        _ = try await founder.initialize(path, founding.rules.options)
        self.founding = nil
        try await add(founding.rules)
        // What it has recorded, and what the others have.
        _ = try await round(.everything, .cached)
    }

    private func check(_ founding: FoundingPlan, _ registration: StoreRegistration) throws {
        let container = StorePlace.absolute(container: founding.container, configuration.fileSystem)
        guard registration.content == founding.content, Founder.isSame(registration.container, container) else {
            throw LogSyncError(
                .configuration,
                "\(path) is a store of \(registration.content) in \(registration.container), not of \(founding.content) in "
                    + "\(container); nothing was changed",
                help: "Open it with what it has, then call attach or move to take it elsewhere", subject: .store(path))
        }
    }

    /// Adds what the rules have and the store has not.
    private func add(_ rules: Rules) async throws {
        let settings = try inspect { store in
            try store.store.contentSettings().reduce(into: [String: String]()) {
                $0["\($1.kind) \($1.target.folded)"] = $1.value
            }
        }
        var identities = rules.options
        identities.policies = []
        if let first = identities.contradictions(isSettled: false, { settings["\($0) \($1.folded)"] }).first {
            throw LogSyncError(
                .configuration,
                "\(path) is a store in which \(first), and the program says otherwise; nothing was changed",
                help: "Rows of a content are identified in one way for ever; another takes a content of its own",
                subject: .store(path))
        }
        for (target, policy) in rules.options.policies {
            let settled = settings["\(Store.settingKind(ofPolicy: policy)) \(target.folded)"]
            if let settled, settled != policy {
                configuration.logger.warning(
                    "\(path): the policy of \(target) is \(settled), not \(policy) as the program has it; it stays")
            } else if settled == nil {
                try await setPolicy(policy, for: target)
            }
        }
        for (table, columns) in rules.tombstones {
            let isKept = try inspect { try $0.store.tombstoneColumns(of: table) == columns }
            if !isKept { try await keepTombstones(of: table, columns: columns) }
        }
    }

    /// Has the observations of the program's connection notice what is imported or settled, until ``close()``.
    private func notify(_ writer: any DatabaseWriter) {
        let (changes, logger, path) = (changes, configuration.logger, path)
        notifying = Task { [weak self] in
            do {
                try await Self.notifyObservations(of: writer, changes)
            } catch {
                guard !Task.isCancelled else { return }
                if (error as? DatabaseError)?.resultCode == .SQLITE_MISUSE {
                    logger.notice("\(path): the program has closed its connection, so its observations have ended")
                } else {
                    logger.error("observations of \(path) notice nothing any more: \(error)")
                }
                await self?.endNotifying()
            }
        }
    }

    private func endNotifying() { notifying = nil }
}
