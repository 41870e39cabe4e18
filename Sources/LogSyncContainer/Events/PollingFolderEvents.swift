import Dispatch
import Glibc
public import LogSyncModel

/// Finds changes by looking every so often. Works everywhere, on folders that other machines change too.
public struct PollingFolderEvents: FolderEvents {
    /// How long to wait between two looks; the time a look takes comes on top.
    public let interval: Duration
    private let fileSystem: any FileSystem
    private let clock: any Clock<Duration>

    public init(interval: Duration = .seconds(2)) {
        self.init(interval: interval, fileSystem: PosixFileSystem(), clock: ContinuousClock())
    }

    package init(interval: Duration, fileSystem: any FileSystem, clock: any Clock<Duration>) {
        self.interval = interval
        self.fileSystem = fileSystem
        self.clock = clock
    }

    public func watch(directory: String, recursive: Bool, only names: Set<String>?) throws(LogSyncError)
        -> AsyncStream<FolderHint>
    {
        let root: String
        var look: FolderState
        do throws(FileSystemError) {
            root = try fileSystem.resolvedDirectory(directory)
            look = FolderState(fileSystem: fileSystem, root: root, recursive: recursive, names: names)
            _ = try look.changes()
        } catch {
            throw error.explained(kept: Kept.outbox, isRoot: true)
        }
        let (stream, sink) = HintSink.makeStream()
        let (interval, clock, first) = (interval, clock, look)
        let task = Task.detached {
            var look = first
            while !Task.isCancelled {
                do {
                    try await clock.sleep(for: interval)
                    let hints: [FolderHint]
                    (look, hints) = try await look.next()
                    for hint in hints { sink.send(hint.renamed(from: root, to: directory)) }
                } catch {
                    break
                }
            }
            if !Task.isCancelled { sink.send(.overflow) }
            sink.finish()
        }
        sink.onEnd { task.cancel() }
        return stream
    }
}

/// What one watched folder looked like at the last look.
struct FolderState: Sendable {
    let fileSystem: any FileSystem
    let root: String
    let recursive: Bool
    let names: Set<String>?
    private var directories: [String: [String: FileStatus]] = [:]

    /// Deeper folders are not of any layout of ours.
    static let maximumDepth = 16

    init(fileSystem: any FileSystem, root: String, recursive: Bool, names: Set<String>?) {
        self.fileSystem = fileSystem
        self.root = root
        self.recursive = recursive
        self.names = names
    }

    /// Looks again and says what differs. The first look's answer means nothing.
    ///
    /// - Throws: where the root cannot be looked at. What cannot be looked at below it is as it was before.
    mutating func changes() throws(FileSystemError) -> [FolderHint] {
        if let names { return try changes(of: names) }
        var found: [String: [String: FileStatus]] = [:]
        found[root] = try entries(root)
        if recursive { descend(from: root, depth: 1, &found) }
        var hints: [FolderHint] = []
        for (directory, entries) in found.sorted(by: { $0.key < $1.key }) {
            guard let before = directories[directory] else {
                hints.append(.changed(directory: directory, name: nil))
                continue
            }
            let differing = Set(entries.keys).union(before.keys).filter { !alike(entries[$0], before[$0]) }
            for name in differing.sorted() { hints.append(.changed(directory: directory, name: name)) }
        }
        directories = found
        return hints
    }

    /// Looks again on a thread of its own: a mount that hangs keeps the thread, and Swift has few.
    func next() async throws -> (FolderState, [FolderHint]) {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                var look = self
                continuation.resume(with: Result { try look.changes() }.map { (look, $0) })
            }
        }
    }

    private mutating func changes(of names: Set<String>) throws(FileSystemError) -> [FolderHint] {
        guard try fileSystem.status(root, followingLinks: false).isDirectory else {
            throw FileSystemError("list", root, number: ENOTDIR)
        }
        var found: [String: FileStatus] = [:]
        for name in names {
            // One that cannot be looked at is as good as gone; the scan says why.
            if let status = try? fileSystem.status("\(root)/\(name)", followingLinks: false) { found[name] = status }
        }
        let before = directories[root] ?? [:]
        directories[root] = found
        return names.sorted().filter { found[$0] != before[$0] }.map { .changed(directory: root, name: $0) }
    }

    private func descend(from directory: String, depth: Int, _ found: inout [String: [String: FileStatus]]) {
        guard depth < Self.maximumDepth, let entries = found[directory] else { return }
        for (name, status) in entries where status.isDirectory {
            let path = "\(directory)/\(name)"
            guard let below = (try? self.entries(path)) ?? directories[path] else { continue }
            found[path] = below
            descend(from: path, depth: depth + 1, &found)
        }
    }

    private func entries(_ directory: String) throws(FileSystemError) -> [String: FileStatus] {
        let pairs = try fileSystem.list(directory, statuses: true).compactMap { entry in
            entry.status.map { (entry.name, $0) }
        }
        return Dictionary(pairs) { first, _ in first }
    }

    /// A directory's own times say nothing that its entries do not.
    private func alike(_ a: FileStatus?, _ b: FileStatus?) -> Bool {
        if let a, let b, a.isDirectory, b.isDirectory { return a.inode == b.inode }
        return a == b
    }
}

extension FileSystem {
    /// A directory's path to list it by, when it may be a symbolic link: a link is not listed, what is behind it is.
    package func resolvedDirectory(_ path: String) throws(FileSystemError) -> String {
        guard try status(path, followingLinks: true).isDirectory else {
            throw FileSystemError("watch", path, number: ENOTDIR)
        }
        return try status(path, followingLinks: false).isDirectory ? path : path + "/."
    }
}

extension FolderHint {
    /// The hint with its directory below the path that was asked for.
    package func renamed(from root: String, to asked: String) -> FolderHint {
        guard root != asked, case .changed(let directory, let name) = self, directory.hasPrefix(root) else {
            return self
        }
        return .changed(directory: asked + directory.dropFirst(root.count), name: name)
    }
}
