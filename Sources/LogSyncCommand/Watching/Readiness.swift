import Foundation
import LogSync
import Logging
import Synchronization

/// Tells systemd that the daemon is ready, once every store is ready or has turned out not to be openable now.
///
/// Source: <https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html>.
final class Readiness: Sendable {
    private let unsettled: Mutex<Set<String>>
    private let socket: String?
    private let logger: Logger

    init(
        stores: [String], logger: Logger,
        socket: String? = ProcessInfo.processInfo.environment["NOTIFY_SOCKET"]
    ) {
        unsettled = Mutex(Set(stores))
        self.socket = socket
        self.logger = logger
    }

    /// Takes the first word on a store, good or bad: a store that is missing must not make systemd give up the others.
    func settle(_ store: String) {
        let isLast = unsettled.withLock { unsettled in
            unsettled.remove(store) != nil && unsettled.isEmpty
        }
        if isLast { notify("READY=1") }
    }

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
