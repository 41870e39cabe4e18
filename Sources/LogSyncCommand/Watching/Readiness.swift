import Foundation
import LogSync
import LogSyncModel
import Logging
import Synchronization

/// Tells systemd that the daemon is ready, once every store is ready or has turned out not to be openable now, and one at
/// least is; and which are not.
///
/// Source: <https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html>.
final class Readiness: Sendable {
    private struct State {
        /// The stores that are watched.
        var stores: Set<String>
        /// The stores of which nothing was said yet.
        var unsettled: Set<String>
        /// What was said last of stores: what is wrong, or nil.
        var troubles: [String: String?] = [:]
        var isReady = false
        var isWorking = false
    }

    private let state: Mutex<State>
    private let socket: String?
    private let logger: Logger

    init(
        stores: [String], logger: Logger,
        socket: String? = ProcessInfo.processInfo.environment["NOTIFY_SOCKET"]
    ) {
        state = Mutex(State(stores: Set(stores), unsettled: Set(stores)))
        self.socket = socket
        self.logger = logger
    }

    /// Other stores are watched from now on.
    func setStores(_ stores: [String]) {
        change { state in
            state.stores = Set(stores)
            state.troubles = state.troubles.filter { state.stores.contains($0.key) }
            state.unsettled.formIntersection(stores)
        }
    }

    /// Takes a word on a store, good or bad: one that is missing must not make systemd give up the others, and where none can
    /// be watched there is nothing to be ready for.
    func take(_ event: ReplicationEvent, of store: String) {
        let trouble: String?
        switch event {
        case .ready, .didImport, .held: trouble = nil
        case .unavailable(_, let error), .error(_, let error): trouble = error.message
        }
        // Without its folder a store is captured and recorded all the same.
        let works =
            if case .unavailable(_, let error) = event { error.code == .containerUnavailable } else { trouble == nil }
        note(store, trouble, works: works)
    }

    /// A store is not worked on for a while: that is how the daemon has to be.
    func leaveAlone(_ store: String, because trouble: String) { note(store, trouble, works: true) }

    private func note(_ store: String, _ trouble: String?, works: Bool) {
        change { state in
            // A store that is watched no longer may still say how it ended.
            guard state.stores.contains(store) else { return }
            state.unsettled.remove(store)
            state.troubles[store] = .some(trouble)
            state.isWorking = state.isWorking || works
        }
    }

    /// Changes what is known of stores, and tells systemd what is news of it.
    private func change(_ body: (inout State) -> Void) {
        let (becomesReady, status) = state.withLock { state in
            let before = state.troubles
            body(&state)
            let becomesReady = !state.isReady && state.unsettled.isEmpty && state.isWorking
            state.isReady = state.isReady || becomesReady
            return (becomesReady, state.troubles != before ? Self.status(state.troubles) : nil)
        }
        if becomesReady { notify("READY=1") }
        if let status { notify("STATUS=\(status)") }
    }

    /// A line for `systemctl status`.
    private static func status(_ troubles: [String: String?]) -> String {
        let wrong = troubles.sorted { $0.key < $1.key }.compactMap { store, trouble in
            trouble.map { $0.contains(store) ? $0 : "\(store): \($0)" }
        }
        let all = troubles.count.counted("store")
        let text =
            wrong.isEmpty ? "\(all) in step" : "\(wrong.count) of \(all) in trouble: " + wrong.joined(separator: "; ")
        return Terminal.printable(String(text.prefix(800)))
    }

    /// The daemon is alive.
    func ping() { notify("WATCHDOG=1") }

    func stopping() {
        notify("STOPPING=1")
    }

    private func notify(_ state: String) {
        guard let socket, !socket.isEmpty else { return }
        if let failure = Self.send(state, to: socket) {
            logger.warning("systemd could not be notified at \(socket): \(failure)")
        }
    }

    /// Returns what went wrong.
    private static func send(_ state: String, to path: String) -> String? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // A leading @ stands for the NUL of an abstract address, which has no terminating one.
        let isAbstract = path.hasPrefix("@")
        let bytes = isAbstract ? [0] + Array(path.utf8.dropFirst()) : Array(path.utf8)
        guard isAbstract || path.hasPrefix("/"), bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
            return "not the address of a unix socket"
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = MemoryLayout.offset(of: \sockaddr_un.sun_path).map { $0 + bytes.count + (isAbstract ? 0 : 1) }
        let descriptor = Foundation.socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0, let length else { return String(cString: strerror(errno)) }
        defer { close(descriptor) }
        let message = Array(state.utf8)
        let sent = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, message, message.count, CInt(MSG_NOSIGNAL), $0, socklen_t(length))
            }
        }
        return sent == message.count ? nil : String(cString: strerror(errno))
    }
}
