import Foundation
import LogSync
import Synchronization

/// What the daemon counts, in Prometheus' text format.
///
/// Source: <https://prometheus.io/docs/instrumenting/exposition_formats/>.
final class Metrics: Sendable {
    private struct Counts {
        var replicator: Replicator?
        /// The store was open when this was last seen.
        var isOpen = false
        var lastImport: Date?
        /// How long what was imported last had been under way.
        var lag: TimeInterval?
        var errors = 0
        /// Since when the store has been behind; nil where it was not when last asked.
        var behindSince: Date?
        /// For how long programs have kept the daemon out, and since when one does.
        var lockedOut: TimeInterval = 0
        var lockedSince: Date?
        /// Whether the store is left alone for a while, because the daemon ended on it.
        var isSetBack = false
        /// Whether the store was asked where it stands and has not answered.
        var isAsked = false
        /// What the store said last of where it stands, while it is open.
        var status: StoreStatus?

        mutating func take(_ event: ReplicationEvent, at now: Date) {
            switch event {
            case .didImport(let event):
                lastImport = now
                // Clocks may disagree.
                lag = event.transactions.last.map {
                    max(0, now.timeIntervalSince1970 - Double($0.time.milliseconds) / 1000)
                }
            case .unavailable: errors += 1
            case .error(_, let error):
                errors += 1
                if error.code == .locked { lockedSince = lockedSince ?? now }
            case .ready:
                isOpen = true
                lockedOut += lockedSince.map(now.timeIntervalSince) ?? 0
                lockedSince = nil
            case .held: break
            }
        }

        mutating func take(_ status: StoreStatus, at now: Date) {
            let isBehind = !status.held.isEmpty || status.peers.contains { $0.behind > 0 }
            behindSince = isBehind ? behindSince ?? now : nil
        }
    }

    /// How long a store may take to say where it stands; of one that imports a lot the page says what it said last.
    private static let patience = Duration.seconds(2)

    private let counts: Mutex<[String: Counts]>
    private struct HookRuns {
        var failures = 0
        var isFailing = false
    }

    /// A command, as the labels of its metrics say it.
    private struct HookName: Hashable {
        var hook: String
        /// Of a subscription's command.
        var store: String?
        var subscription: String?

        var labels: [(String, String)] {
            [("hook", hook), ("store", store), ("subscription", subscription)].compactMap { name, value in
                value.map { (name, $0) }
            }
        }
    }

    /// Of the hooks that have failed.
    private let hooks: Mutex<[HookName: HookRuns]>
    /// The commands of the configuration.
    private let configured: Mutex<[Hook]>

    init() {
        counts = Mutex([:])
        hooks = Mutex([:])
        configured = Mutex([])
    }

    /// What the metrics are called.
    static var names: [String] { MetricsPage.Metric.allCases.map(\.rawValue) }

    /// Counts for these stores and commands from now on; what was counted for them goes on.
    func setStores(_ stores: [String], hooks configured: [Hook]) {
        counts.withLock { counts in
            counts = Dictionary(stores.map { ($0, counts[$0] ?? Counts()) }) { first, _ in first }
        }
        self.configured.withLock { $0 = configured }
        hooks.withLock { hooks in
            hooks = hooks.filter { hook, _ in
                hook.store.map(stores.contains) ?? configured.contains { $0.rawValue == hook.hook }
            }
        }
    }

    func setReplicator(_ replicator: Replicator?, of store: String) {
        counts.withLock { counts in
            counts[store]?.replicator = replicator
            if replicator == nil {
                counts[store]?.isOpen = false
                counts[store]?.status = nil
            }
        }
    }

    func setSetBack(_ isSetBack: Bool, of store: String) { counts.withLock { $0[store]?.isSetBack = isSetBack } }

    /// - Parameter store: as it was given to this daemon, whatever the event calls it.
    func count(_ event: ReplicationEvent, of store: String) {
        counts.withLock { $0[store]?.take(event, at: Date()) }
    }

    /// - Parameter isDone: false where the hook could not be run, or did not end with 0 in time.
    func countRun(of hook: Hook, isDone: Bool) {
        // One that ran when a reload removed it is told of no more.
        guard configured.withLock({ $0.contains(hook) }) else { return }
        countRun(of: HookName(hook: hook.rawValue), isDone: isDone)
    }

    /// - Parameter store: as it was given to this daemon.
    func countRun(ofSubscription subscription: String, of store: String, isDone: Bool) {
        countRun(of: HookName(hook: "subscription", store: store, subscription: subscription), isDone: isDone)
    }

    private func countRun(of hook: HookName, isDone: Bool) {
        hooks.withLock { hooks in
            hooks[hook]?.isFailing = !isDone
            if !isDone { hooks[hook, default: HookRuns(isFailing: true)].failures += 1 }
        }
    }

    /// Forgets the commands of subscriptions that are no more.
    private func forgetRemovedSubscriptions(_ replicator: Replicator, of store: String) async {
        guard hooks.withLock({ $0.keys.contains { $0.store == store } }),
            // What cannot be asked now is asked with the next page.
            let names = try? await replicator.subscriptions().map(\.name)
        else { return }
        hooks.withLock { hooks in
            hooks = hooks.filter { hook, _ in hook.store != store || hook.subscription.map(names.contains) ?? true }
        }
    }

    func text() async -> String {
        let replicators = counts.withLock { counts in
            let free = counts.filter { !$0.value.isAsked }.compactMapValues(\.replicator)
            for store in free.keys { counts[store]?.isAsked = true }
            return free
        }
        await withTaskGroup(of: Void.self) { group in
            for (store, replicator) in replicators { group.addTask { await self.ask(replicator, of: store) } }
        }
        let counts = counts.withLock { $0 }
        var page = MetricsPage()
        for (store, count) in counts.sorted(by: { $0.key < $1.key }) {
            page.add(count.isOpen ? 1 : 0, to: .open, store)
            page.add(count.isSetBack ? 1 : 0, to: .setBack, store)
            page.add(Double(count.errors), to: .errors, store)
            if let time = count.lastImport { page.add(time.timeIntervalSince1970, to: .lastImport, store) }
            if let lag = count.lag { page.add(lag, to: .lag, store) }
            let now = Date()
            page.add(count.lockedOut + (count.lockedSince.map(now.timeIntervalSince) ?? 0), to: .lockedOut, store)
            let isSilent = count.replicator?.isContainerSilent ?? false
            if var status = count.status {
                if isSilent { status.container.available = false }
                page.add(status, store)
                page.add(count.behindSince.map(now.timeIntervalSince) ?? 0, to: .behindFor, store)
                // Clocks may have been set.
                let waiting = status.waitingSince.map { now.timeIntervalSince1970 - Double($0.milliseconds) / 1000 }
                page.add(max(0, waiting ?? 0), to: .outboxFor, store)
            } else if isSilent {
                // The store cannot say where it stands for as long as it waits for the folder.
                page.add(0, to: .available, store)
            }
        }
        let runs = hooks.withLock { $0 }.map { (labels: $0.key.labels, runs: $0.value) }
        for (labels, runs) in runs.sorted(by: { $0.labels.map(\.1).lexicographicallyPrecedes($1.labels.map(\.1)) }) {
            page.add(Double(runs.failures), to: .hookFailures, labels: labels)
            page.add(runs.isFailing ? 1 : 0, to: .hookFailing, labels: labels)
        }
        return page.text
    }

    /// Asks a store where it stands, and returns when it has answered or may not be waited for any longer.
    ///
    /// One that imports a lot, or whose folder does not answer, is not waited for by the others, and is asked again only
    /// when it has answered: until then the page has what it said last.
    private func ask(_ replicator: Replicator, of store: String) async {
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        Task {
            let status = await Result { try await replicator.status() }
            await forgetRemovedSubscriptions(replicator, of: store)
            counts.withLock { counts in
                counts[store]?.isAsked = false
                guard counts[store]?.replicator === replicator else { return }
                // Where it is not there, or no store, or another process has it for itself, its error is counted as an event.
                let known = try? status.get()
                counts[store]?.status = known
                counts[store]?.isOpen = known != nil
                if let known { counts[store]?.take(known, at: Date()) }
            }
            end.finish()
        }
        let patience = Task {
            // Cancelled where the store was faster.
            try? await Task.sleep(for: Self.patience)
            end.finish()
        }
        for await _ in ends {}
        patience.cancel()
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}

/// The page, metric by metric as the format wants it.
private struct MetricsPage {
    enum Metric: String, CaseIterable {
        case open = "logsync_store_open"
        case setBack = "logsync_store_set_back"
        case available = "logsync_container_available"
        case imported = "logsync_imported_transactions_total"
        case published = "logsync_published_transactions_total"
        case errors = "logsync_errors_total"
        case held = "logsync_held"
        case outbox = "logsync_outbox_transactions"
        case pending = "logsync_pending_changes"
        case behind = "logsync_behind_transactions"
        case conflicts = "logsync_conflicts"
        case parked = "logsync_parked_rows"
        case lastImport = "logsync_last_import_timestamp_seconds"
        case lag = "logsync_import_lag_seconds"
        case behindFor = "logsync_behind_seconds"
        case outboxFor = "logsync_outbox_seconds"
        case lockedOut = "logsync_locked_out_seconds_total"
        case hookFailures = "logsync_hook_failures_total"
        case hookFailing = "logsync_hook_failing"

        var help: String {
            switch self {
            case .open: "Whether the store is open and being watched."
            case .setBack: "Whether the store is left alone for a while, because the daemon ended while working on it."
            case .available: "Whether the container is there and can be read."
            case .imported: "Transactions of other peers in the store."
            case .published: "Transactions of this peer in the container."
            case .errors: "Errors since the start."
            case .held: "Log files and transactions that cannot be imported yet."
            case .outbox: "Transactions not yet published."
            case .pending: "Changes not yet recorded."
            case .behind: "Transactions that other peers say they have published and that are not in the store."
            case .conflicts: "Cells on which peers disagree."
            case .parked: "Rows that cannot stand in their table."
            case .lastImport: "When something was last imported; absent until then."
            case .lag: "How long the last transaction imported had been under way, by both machines' clocks."
            case .behindFor: "For how long transactions of others have been missing or held; 0 where none is."
            case .outboxFor: "For how long there have been changes not yet published; 0 where there are none."
            case .lockedOut: "How long other programs' locks have kept the daemon out, beyond its patience."
            case .hookFailures: "Commands of the configuration and of subscriptions that failed or took long."
            case .hookFailing: "Whether the last run of the command failed or takes long."
            }
        }
    }

    private var samples: [Metric: [String]] = [:]

    mutating func add(_ value: Double, to metric: Metric, _ store: String) {
        add(value, to: metric, labels: [("store", store)])
    }

    mutating func add(_ value: Double, to metric: Metric, labels: [(name: String, value: String)]) {
        let labels = labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }.joined(separator: ",")
        let number = Int64(exactly: value).map { String($0) } ?? String(value)
        samples[metric, default: []].append("\(metric.rawValue){\(labels)} \(number)")
    }

    private static func escaped(_ text: String) -> String {
        String(
            text.flatMap { (character: Character) -> String in
                switch character {
                case "\\": "\\\\"
                case "\"": "\\\""
                case "\n": "\\n"
                default: String(character)
                }
            })
    }

    mutating func add(_ status: StoreStatus, _ store: String) {
        let own = status.vector[status.peer.id]
        let others = status.vector.dots.filter { $0.peer != status.peer.id }.map { Double($0.sequence) }
        add(status.container.available ? 1 : 0, to: .available, store)
        add(others.reduce(0, +), to: .imported, store)
        add(Double(own) - Double(min(own, UInt64(clamping: status.outbox))), to: .published, store)
        add(Double(status.held.count), to: .held, store)
        add(Double(status.outbox), to: .outbox, store)
        add(Double(status.pending), to: .pending, store)
        add(status.peers.map { Double($0.behind) }.reduce(0, +), to: .behind, store)
        add(Double(status.conflicts), to: .conflicts, store)
        add(Double(status.parked), to: .parked, store)
    }

    var text: String {
        var lines: [String] = []
        for metric in Metric.allCases {
            guard let samples = samples[metric] else { continue }
            lines.append("# HELP \(metric.rawValue) \(metric.help)")
            lines.append("# TYPE \(metric.rawValue) \(metric.rawValue.hasSuffix("_total") ? "counter" : "gauge")")
            lines += samples
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
