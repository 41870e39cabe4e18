import Foundation
import LogSyncModel

/// The locks on one store that logsync processes keep between them.
final class StoreLocks {
    /// Held for one step.
    let step: StoreLock
    /// Shared as long as a process has the store open; exclusive while one needs it alone.
    private let use: StoreLock
    private let request: String

    /// - Parameter wait: for how long to wait for a process that has the store alone.
    /// - Throws: `cannotCreate`, `locked`; `noPermission` where a lock that is there may not be written.
    init(_ stateDirectory: StateDirectory, store: String, wait: Duration) throws {
        let name = "\(stateDirectory.locks)/\(Self.name(store))"
        if let place = stateDirectory.closedPlace(lock: Self.name(store)) { throw stateDirectory.closed(place) }
        step = try StoreLock(path: name + ".step")
        use = try StoreLock(path: name + ".use")
        request = name + ".request"
        try use.acquireShared(wait: wait)
    }

    /// The name of the file by which another process asks this one to let go, within ``StateDirectory/locks``.
    static func requestName(_ store: String) -> String { name(store) + ".request" }

    /// FNV-1a: two stores that should share a name would only wait for one another.
    static func name(_ store: String) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in store.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return String(hash, radix: 16)
    }

    /// Asks the other processes to let go of the store, and waits until they have.
    ///
    /// - Throws: `locked` after `wait`.
    func takeAlone(wait: Duration, of store: String, isolation: isolated (any Actor)? = #isolation) async throws {
        guard FileManager.default.createFile(atPath: request, contents: nil) else {
            throw LogSyncError(
                .cannotCreate, "\(request) could not be made; nothing was changed",
                help: "Give this user write access to the state directory")
        }
        do {
            try await use.acquire(wait: wait, of: store)
        } catch {
            unlink(request)
            // A failed upgrade may have lost the shared lock.
            try use.acquireShared(wait: wait)
            throw error
        }
    }

    func giveBack() {
        unlink(request)
    }

    /// Whether another process asks for the store; a request as old as `age` is that of a process that died.
    static func isRequested(_ stateDirectory: StateDirectory, store: String, age: Duration) -> Bool {
        let path = "\(stateDirectory.locks)/\(requestName(store))"
        var status = stat()
        guard stat(path, &status) == 0 else { return false }
        guard Date().timeIntervalSince1970 - Double(status.st_mtim.tv_sec) < age / .seconds(1) else {
            unlink(path)
            return false
        }
        return true
    }
}
