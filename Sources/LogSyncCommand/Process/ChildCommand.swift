import Foundation
import LogSync

/// The command that this process was started with, run by a child of it that may stay behind.
///
/// A thread that waits for a mount which hangs does not return, and its process, killed or not, ends when the mount answers
/// again. People and scripts wait for the parent, which touches no shared folder, and passes on what the child prints; the
/// child keeps no pipe of theirs.
enum ChildCommand {
    /// Set in the child's environment.
    private static let variable = "LOGSYNC_CHILD"
    /// Where the child says that it has printed everything.
    private static let doneDescriptor: CInt = 3
    private static let isChild = ProcessInfo.processInfo.environment[variable] != nil

    /// Says in the child that all is printed: its end is not waited for. Does nothing in any other process.
    static func sayDone() {
        guard isChild else { return }
        var status: UInt8 = 0
        _ = write(doneDescriptor, &status, 1)
    }

    /// Runs the command by a child, and prints what that prints.
    ///
    /// - Returns: nil in the child itself, and where no child can be started: then this process is the one to do it.
    /// - Throws: `ioError` where stdout takes nothing more.
    static func run() async throws -> ExitStatus? {
        guard !isChild else { return nil }
        return try await blocking {
            guard let child = Child() else { return nil }
            return try child.relay()
        }
    }

    /// The process, and what it writes to.
    private final class Child {
        private let process: pid_t
        /// The reading ends of pipes, and where their content goes: nil for the one that says that all is done.
        private var sources: [(descriptor: CInt, target: CInt?)]

        init?() {
            var writers: [CInt] = []
            var sources: [(descriptor: CInt, target: CInt?)] = []
            defer { for writer in writers { close(writer) } }
            var actions = posix_spawn_file_actions_t()
            posix_spawn_file_actions_init(&actions)
            defer { posix_spawn_file_actions_destroy(&actions) }
            posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
            // A terminal may have the child as well; of a pipe the reader would not see the end.
            let relayed = [STDOUT_FILENO, STDERR_FILENO].filter { isatty($0) == 0 }
            for target in relayed.map(Optional.some) + [nil] {
                var ends: [CInt] = [0, 0]
                guard pipe(&ends) == 0 else {
                    for source in sources { close(source.descriptor) }
                    return nil
                }
                for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
                sources.append((ends[0], target))
                writers.append(ends[1])
            }
            // The numbers that they are given may be those of other ends: these are out of the way first.
            let base: CInt = 64
            for (place, writer) in writers.enumerated() {
                posix_spawn_file_actions_adddup2(&actions, writer, base + CInt(place))
            }
            for (place, target) in (relayed + [ChildCommand.doneDescriptor]).enumerated() {
                posix_spawn_file_actions_adddup2(&actions, base + CInt(place), target)
            }
            // Whatever else was handed on to this process is nothing for one that may stay behind.
            let open = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
            let copies = writers.indices.map { base + CInt($0) }
            let others = Set(open.compactMap { CInt($0) } + copies).filter { $0 > ChildCommand.doneDescriptor }
            for descriptor in others {
                posix_spawn_file_actions_addclose(&actions, descriptor)
            }
            var attributes = posix_spawnattr_t()
            posix_spawnattr_init(&attributes)
            defer { posix_spawnattr_destroy(&attributes) }
            attributes.resetSignals()
            var environment = ProcessInfo.processInfo.environment
            environment[ChildCommand.variable] = "1"
            let arguments = CStrings(["logsync"] + Arguments.given)
            let variables = CStrings(environment.map { "\($0.key)=\($0.value)" })
            var process: pid_t = 0
            guard
                posix_spawn(
                    &process, "/proc/self/exe", &actions, &attributes, arguments.pointers, variables.pointers) == 0
            else {
                for source in sources { close(source.descriptor) }
                return nil
            }
            self.process = process
            self.sources = sources
        }

        deinit { for source in sources { close(source.descriptor) } }

        /// Passes on what the child writes, until it says that it is done or ends.
        func relay() throws -> ExitStatus {
            defer { kill(process, SIGKILL) }
            var isDone = false
            while !isDone || sources.count > 1 {
                var polled = sources.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
                let count = poll(&polled, nfds_t(polled.count), isDone ? 0 : -1)
                if count < 0, errno == EINTR { continue }
                // All that was written before is here.
                if count <= 0 { return .done }
                for (place, entry) in polled.enumerated().reversed() where entry.revents != 0 {
                    guard let bytes = Self.read(entry.fd) else {
                        close(entry.fd)
                        let target = sources.remove(at: place).target
                        if target == nil, !isDone { return try end() }
                        continue
                    }
                    switch sources[place].target {
                    case STDOUT_FILENO: try Terminal.write(bytes)
                    case nil: isDone = true
                    default: Terminal.writeError(bytes)
                    }
                }
            }
            return .done
        }

        /// Passes on what is left of a child that has ended without having said that it was done.
        private func end() throws -> ExitStatus {
            for source in sources {
                while let bytes = Self.read(source.descriptor) {
                    if source.target == STDOUT_FILENO { try Terminal.write(bytes) } else { Terminal.writeError(bytes) }
                }
            }
            var status: CInt = 0
            while waitpid(process, &status, 0) < 0, errno == EINTR {}
            // Source: <https://sourceware.org/glibc/manual/latest/html_node/Process-Completion-Status.html>.
            guard status & 0x7F == 0, let status = ExitStatus(rawValue: status >> 8) else {
                throw LogSyncError(
                    .ioError, "a process that was to ask the stores was ended by signal \(status & 0x7F)")
            }
            return status
        }

        /// nil at the end.
        private static func read(_ descriptor: CInt) -> [UInt8]? {
            var bytes = [UInt8](repeating: 0, count: 1 << 16)
            var count = -1
            repeat { count = Foundation.read(descriptor, &bytes, bytes.count) } while count < 0 && errno == EINTR
            return count > 0 ? Array(bytes.prefix(count)) : nil
        }
    }
}
