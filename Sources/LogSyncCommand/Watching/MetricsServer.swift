import Dispatch
import Foundation
import LogSync
import Logging
import ServiceLifecycle
import Synchronization

/// Answers `GET /metrics` by HTTP/1.0, a thread a connection: enough for scrapers, and no web server.
///
/// A page of the web may give its own name this machine's address and read from here what its visitors may: so only those
/// are answered who ask for an address or for `localhost`.
final class MetricsServer: Sendable {
    private static let maximumRequest = 8192
    private static let patience = 2
    /// How many connections are served at a time; further ones wait.
    private static let maximumConnections = 32

    private let listener: CInt
    /// Whether the listener is closed.
    private let isOver = Mutex(false)
    private let slots = DispatchSemaphore(value: MetricsServer.maximumConnections)
    private let text: @Sendable () async -> String
    /// The address and the port in use, the latter also where the system chose it.
    let address: ListenAddress

    /// Listens from now on.
    ///
    /// - Throws: `configuration` where it cannot listen there; `locked` where it may yet, as something else listens there,
    ///   or this machine does not have the address now.
    init(_ address: ListenAddress, text: @escaping @Sendable () async -> String) throws {
        self.text = text
        (listener, self.address) = try Self.listen(on: address)
    }

    /// Answers from now on, on threads of its own, until ``stop()``.
    func start() {
        Thread.detachNewThread { [self] in
            serve()
            // Under the lock, so that the number cannot have gone to another file.
            isOver.withLock { isOver in
                isOver = true
                close(listener)
            }
        }
    }

    func stop() {
        isOver.withLock { isOver in
            // Wakes the thread that waits in accept.
            if !isOver { shutdown(listener, CInt(SHUT_RDWR)) }
        }
    }

    private static func listen(on address: ListenAddress) throws -> (CInt, ListenAddress) {
        func failure(_ reason: String, _ code: LogSyncError.Code = .configuration) -> LogSyncError {
            LogSyncError(
                code, "metrics cannot be served at \(address): \(reason)",
                help: "Give --metrics an address of this machine and a free port")
        }
        var hints = addrinfo()
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        let error = getaddrinfo(address.address, String(address.port), &hints, &found)
        defer { freeaddrinfo(found) }
        guard error == 0, let info = found?.pointee else { throw failure(String(cString: gai_strerror(error))) }
        let descriptor = socket(info.ai_family, info.ai_socktype | CInt(SOCK_CLOEXEC.rawValue), info.ai_protocol)
        guard descriptor >= 0 else { throw failure(String(cString: strerror(errno))) }
        var one: CInt = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<CInt>.size))
        guard bind(descriptor, info.ai_addr, info.ai_addrlen) == 0, Foundation.listen(descriptor, 16) == 0 else {
            defer { close(descriptor) }
            let mayCome = errno == EADDRINUSE || errno == EADDRNOTAVAIL
            throw failure(String(cString: strerror(errno)), mayCome ? .locked : .configuration)
        }
        var bound = address
        bound.port = port(of: descriptor) ?? address.port
        return (descriptor, bound)
    }

    private static func port(of descriptor: CInt) -> UInt16? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &storage) { bytes -> UInt16? in
            guard let base = bytes.baseAddress,
                getsockname(descriptor, base.assumingMemoryBound(to: sockaddr.self), &length) == 0
            else { return nil }
            // The port follows the family in both sockaddr_in and sockaddr_in6, in network order.
            return UInt16(bytes[2]) << 8 | UInt16(bytes[3])
        }
    }

    /// Runs on a thread of its own until the listener is shut down.
    private func serve() {
        while true {
            let connection = accept(listener, nil, nil)
            if connection >= 0 {
                // The user's command must not inherit it.
                _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
                // One that says nothing must not keep the others waiting.
                slots.wait()
                Thread.detachNewThread { [self] in
                    answer(connection)
                    close(connection)
                    slots.signal()
                }
            } else if errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM {
                Thread.sleep(forTimeInterval: 1)
            } else if errno != EINTR, errno != ECONNABORTED {
                return
            }
        }
    }

    private func answer(_ connection: CInt) {
        var timeout = timeval(tv_sec: Self.patience, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &timeout, size)
        setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &timeout, size)
        guard let request = Self.request(connection) else { return }
        switch (request.method, request.path) {
        case _ where !request.isForAddress:
            respond(connection, "403 Forbidden", "Ask for an address or localhost, not for another name.\n")
        case ("GET", "/metrics"): respond(connection, "200 OK", page())
        case ("GET", _): respond(connection, "404 Not Found", "See /metrics.\n")
        default: respond(connection, "405 Method Not Allowed", "Only GET.\n")
        }
    }

    /// What is asked, once the header has ended; nil for one that is too long or too slow.
    private static func request(_ connection: CInt) -> MetricsRequest? {
        let deadline = ContinuousClock.now + .seconds(patience)
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1024)
        while !received.contains(UInt8(ascii: "\n")) || !isComplete(received) {
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0, received.count + count <= maximumRequest, .now < deadline else { return nil }
            received += buffer[..<count]
        }
        return MetricsRequest(String(decoding: received, as: UTF8.self))
    }

    private static func isComplete(_ bytes: [UInt8]) -> Bool {
        bytes.suffix(4) == [13, 10, 13, 10] || bytes.suffix(2) == [10, 10]
    }

    /// Waits, on this thread that is the connection's, for the stores to say where they stand.
    private func page() -> String {
        let answer = Answer()
        let done = DispatchSemaphore(value: 0)
        Task { [text] in
            let page = await text()
            answer.page.withLock { $0 = page }
            done.signal()
        }
        done.wait()
        return answer.page.withLock { $0 }
    }

    private final class Answer: Sendable {
        let page = Mutex("")
    }

    private func respond(_ connection: CInt, _ status: String, _ body: String) {
        let head =
            "HTTP/1.0 \(status)\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
            + "Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n"
        var rest = Array((head + body).utf8)[...]
        while !rest.isEmpty {
            let sent = rest.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
            guard sent > 0 else { return }
            rest = rest.dropFirst(sent)
        }
    }
}
