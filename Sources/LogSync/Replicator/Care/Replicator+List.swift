import Foundation
import LogSyncContainer
import LogSyncModel
import LogSyncStore
import Logging
import Synchronization

extension Replicator {
    /// Every store that this state directory knows of, by path, and how it is.
    ///
    /// A store is known from when it was made or first used here until it leaves. It changes nothing; a store that cannot be
    /// asked is listed as what is known of it without, and so is one whose folder does not answer for a second and a half, as
    /// on a mount that hangs: a thread of this process goes on waiting for that.
    ///
    /// - Throws: `ioError` where the state directory cannot be read, `noPermission` where this user may not read it or one of
    ///   its files.
    public static func list(configuration: SyncConfiguration) async throws -> ListReport {
        let files = try StateDirectory(configuration.stateDirectory).all(isWhole: true).filter { file in
            // A clone that was killed may not have come to that.
            file.hasLeft != true && (file.isCloning != true || FileManager.default.fileExists(atPath: file.path))
        }
        var stores: [String: ListReport.Store] = [:]
        for store in try await StoreInquiry.ask(files, configuration) {
            // A store that became another peer has left the former one's state file behind.
            if let known = stores[store.store], known.state != .missing { continue }
            stores[store.store] = store
        }
        return ListReport(stores: stores.values.sorted { $0.store < $1.store })
    }

    /// The shared folder that the store is registered with; nothing of that is touched.
    fileprivate func registeredContainer() throws -> String { try inspect { $0.registration.container } }
}

/// Asks one store how it is, on a thread that may hang, and knows meanwhile whether it does.
private final class StoreInquiry: Sendable {
    private struct State {
        var begin = ContinuousClock.now
        /// Once the store is about to be opened.
        var replicator: Replicator?
        var container: String?
        var answer: Result<ListReport.Store, any Error>?
    }

    /// How long a call to a folder may take before the folder counts as silent.
    private static let patience = Duration.milliseconds(1500)
    /// How long opening a database may take beyond what it is waited for: it may lie on a mount that hangs itself.
    private static let margin = Duration.seconds(2)
    /// How many stores are asked at a time, beside those whose folder is silent.
    private static let width = 4

    private let file: StateFile
    private let configuration: SyncConfiguration
    private let state = Mutex(State())

    private init(_ file: StateFile, _ configuration: SyncConfiguration) {
        self.file = file
        var quiet = configuration
        // That a container is not there is the answer here.
        quiet.logger.logLevel = .error
        self.configuration = quiet
    }

    /// - Returns: one for each file, in their order.
    static func ask(_ files: [StateFile], _ configuration: SyncConfiguration) async throws -> [ListReport.Store] {
        let inquiries = files.map { StoreInquiry($0, configuration) }
        let silent = SilentFolders()
        let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let clock = Task {
            while (try? await Task.sleep(for: .milliseconds(50))) != nil { signal.yield() }
        }
        defer { clock.cancel() }
        var waiting = inquiries[...]
        var pending: [StoreInquiry] = []
        signal.yield()
        for await _ in signals {
            pending.removeAll { $0.isOver(silent) }
            while pending.count < width, let next = waiting.popFirst() {
                next.begin(silent) { signal.yield() }
                pending.append(next)
            }
            if pending.isEmpty { break }
        }
        // The stream ends early where the task is cancelled.
        try Task.checkCancellation()
        return try inquiries.map { try $0.listed() }
    }

    private func begin(_ silent: SilentFolders, whenDone: @escaping @Sendable () -> Void) {
        state.withLock { $0.begin = .now }
        // Not a thread of Swift's: there are no more of these than cores.
        DispatchQueue.global().async { [self] in
            let replicator = Result {
                try Replicator(store: file.path, configuration: configuration, opensNow: false)
            }
            state.withLock { $0.replicator = try? replicator.get() }
            Task {
                let answer = await Result { try await self.answer(of: replicator.get(), silent) }
                state.withLock { $0.answer = answer }
                whenDone()
                await (try? replicator.get())?.close()
            }
        }
    }

    private func answer(of replicator: Replicator, _ silent: SilentFolders) async throws -> ListReport.Store {
        let container = try await replicator.registeredContainer()
        state.withLock { $0.container = container }
        // It need not be asked again, and would keep another thread.
        if silent.contain(container) { return withoutAnswer(.silent, container) }
        return ListReport.Store(try await replicator.status())
    }

    /// Whether there is an answer, or none is waited for any more.
    private func isOver(_ silent: SilentFolders) -> Bool {
        state.withLock { state in
            guard state.answer == nil else { return true }
            if let call = state.replicator?.folderCalls.oldest {
                guard call.start.duration(to: .now) >= Self.patience else { return false }
                if let container = state.container { silent.insert(container) }
                state.answer = .success(withoutAnswer(.silent, state.container))
                return true
            }
            guard state.begin.duration(to: .now) >= configuration.wait + Self.margin else { return false }
            state.answer = .success(withoutAnswer(.unavailable, state.container))
            return true
        }
    }

    private func listed() throws -> ListReport.Store {
        do {
            return try state.withLock { $0.answer }?.get() ?? withoutAnswer(.unavailable)
        } catch let error as LogSyncError {
            let isMissing = error.code == .noStore || error.code == .notReplicated
            return withoutAnswer(isMissing ? .missing : .unavailable)
        }
    }

    private func withoutAnswer(_ condition: ListReport.Store.State, _ container: String? = nil) -> ListReport.Store {
        var store = ListReport.Store(file.path, content: file.content, peer: file.peer, condition)
        store.container = container
        return store
    }
}

/// The containers that have been found not to answer.
private final class SilentFolders: Sendable {
    private let paths = Mutex<Set<String>>([])

    func insert(_ path: String) { paths.withLock { _ = $0.insert(path) } }
    func contain(_ path: String) -> Bool { paths.withLock { $0.contains(path) } }
}

extension Result where Failure == any Error {
    init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
