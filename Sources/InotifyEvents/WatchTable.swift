import CLogSyncInotifyTools
import Foundation
import LogSyncContainer
import LogSyncModel

/// Every watch of the process and the directories that the kernel watches for them. Lives on one thread.
///
/// Paths in here are resolved; hints speak of the path that was asked for.
final class WatchTable {
    private var tools = InotifyTools()
    private let control: CInt
    private var watches: [Int: Watch] = [:]
    private var directories: [CInt: Directory] = [:]
    private var descriptors: [String: CInt] = [:]

    /// One directory that the kernel watches: by path, the watches that it serves, those too whose roots it is above. Links
    /// and bind mounts may give it several paths.
    private typealias Directory = [String: Set<Int>]

    /// Deeper folders are not of any layout of ours.
    private static let maximumDepth = 16
    private static let folderEvents =
        IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF
    /// Adding to a mask, because one directory may serve watches that ask for different events.
    private static let flags = Int64(IN_ONLYDIR) | Int64(IN_DONT_FOLLOW) | Int64(IN_MASK_ADD)

    /// - Throws: ``LogSyncError/Code/ioError`` where the kernel gives no inotify instance.
    init(control: ControlFile) throws(LogSyncError) {
        defer { unlink(control.path) }
        if let number = InotifyTools.initialize() { throw LogSyncError.cannotWatch("folders", number) }
        switch tools.watch(control.path, events: Int64(IN_MODIFY)) {
        case .success(let descriptor): self.control = descriptor
        case .failure(let failure): throw LogSyncError.cannotWatch("folders", failure.number)
        }
    }

    /// Serves for ever: sleeps until an event or a command comes.
    func serve(_ inbox: CommandInbox) -> Never {
        while true {
            for command in inbox.takeCommands() { command(self) }
            if let event = tools.nextEvent() { handle(event) }
        }
    }

    // MARK: - Watches

    /// Begins a watch. Returns why it cannot be had, or nil.
    func add(_ watch: Watch) -> LogSyncError? {
        guard let resolved = realpath(watch.asked, nil) else { return LogSyncError.cannotWatch(watch.asked, errno) }
        var watch = watch
        watch.root = String(cString: resolved)
        free(resolved)
        watches[watch.id] = watch
        if let number = addTree(watch.root, for: watch, depth: 0, news: .none) {
            cancel(watch.id)
            return LogSyncError.cannotWatch(watch.asked, number)
        }
        addAbove(watch)
        return nil
    }

    /// Ends a watch; nobody reads its hints any more.
    func cancel(_ id: Int) {
        guard watches.removeValue(forKey: id) != nil else { return }
        for (descriptor, directory) in directories {
            for (path, ids) in directory where ids.contains(id) {
                // A directory that has gone took its watch along; what says so may still be in the queue.
                let isAlive = (try? PosixFileSystem().status(path, followingLinks: false)) != nil
                detach([id], path, descriptor, isAlive: isAlive)
            }
        }
    }

    /// Ends a watch whose root is at its path no more.
    private func end(_ id: Int) {
        let sink = watches[id]?.sink
        cancel(id)
        sink?.send(.overflow)
        sink?.finish()
    }

    /// How many directories the kernel watches for all watches together.
    var directoryCount: Int { directories.count }

    // MARK: - Directories

    /// Whether directories that are found are news to the watch.
    private enum News {
        /// They were there when the watch began.
        case none
        /// They are new: what is in them may have come before they were watched.
        case new
        /// Events were lost: directories that are watched already may have others that are not.
        case unknown
    }

    /// Watches a directory and those below it, each before it is listed, so that nothing falls between.
    ///
    /// - Returns: an errno where the directory itself, or for want of watches any other, cannot be watched.
    private func addTree(_ path: String, for watch: Watch, depth: Int, news: News) -> CInt? {
        var events = Int64(Self.folderEvents) | Self.flags
        if watch.names != nil { events |= Int64(IN_MODIFY) }
        switch tools.watch(path, events: events) {
        case .failure(let failure):
            return depth == 0 || failure.number == ENOSPC || failure.number == ENOMEM ? failure.number : nil
        case .success(let descriptor):
            let isNew = attach(watch.id, path, descriptor)
            guard isNew || news == .unknown else { return nil }
            if isNew, news != .none { hint(watch, .changed(directory: path, name: nil)) }
            guard watch.recursive, depth < Self.maximumDepth else { return nil }
            // What cannot be listed has vanished or is not readable; a later event or the next full scan tells.
            guard let entries = try? PosixFileSystem().list(path, statuses: true) else { return nil }
            for entry in entries where entry.status?.isDirectory ?? false {
                let failure = addTree("\(path)/\(entry.name)", for: watch, depth: depth + 1, news: news)
                if let failure { return failure }
            }
            return nil
        }
    }

    /// Watches the directories above the root for being moved. One that may not be read cannot be watched.
    private func addAbove(_ watch: Watch) {
        for path in FolderPlace.above(watch.root) {
            if let descriptor = descriptors[path] {
                _ = attach(watch.id, path, descriptor)
            } else if case .success(let descriptor) = tools.watch(path, events: Int64(IN_MOVE_SELF) | Self.flags) {
                _ = attach(watch.id, path, descriptor)
            }
        }
    }

    /// Returns whether the watch did not have the directory at this path already.
    private func attach(_ id: Int, _ path: String, _ descriptor: CInt) -> Bool {
        var ids: Set<Int> = []
        if let old = descriptors[path], old != descriptor {
            // Another directory has taken the path; the watches of the old one go with the path.
            ids = directories[old]?[path] ?? []
            directories[old]?[path] = nil
            if directories[old]?.isEmpty ?? false { directories[old] = nil }
        }
        ids.formUnion(directories[descriptor]?[path] ?? [])
        let isNew = descriptors[path] != descriptor || !ids.contains(id)
        ids.insert(id)
        directories[descriptor, default: [:]][path] = ids
        descriptors[path] = descriptor
        return isNew
    }

    private func detach(_ ids: Set<Int>, _ path: String, _ descriptor: CInt, isAlive: Bool) {
        directories[descriptor]?[path]?.subtract(ids)
        guard directories[descriptor]?[path]?.isEmpty ?? false else { return }
        directories[descriptor]?[path] = nil
        if descriptors[path] == descriptor { descriptors[path] = nil }
        guard directories[descriptor]?.isEmpty ?? false else { return }
        directories[descriptor] = nil
        if isAlive { tools.end(descriptor) }
    }

    /// Ends what is watched at and below a path that was renamed away; its watches would go on under the old path.
    private func dropTree(_ path: String, for ids: Set<Int>) {
        for (below, descriptor) in descriptors where below == path || below.hasPrefix(path + "/") {
            detach(ids, below, descriptor, isAlive: true)
        }
    }

    // MARK: - Events

    private func handle(_ event: InotifyTools.Event) {
        if event.has(IN_Q_OVERFLOW) {
            handleOverflow()
        } else if event.descriptor == control {
            return
        } else if event.has(IN_IGNORED) {
            for (path, ids) in directories[event.descriptor] ?? [:] {
                detach(ids, path, event.descriptor, isAlive: false)
                for id in ids where watches[id]?.isAt(orBelow: path) ?? false { end(id) }
            }
        } else if event.has(IN_MOVE_SELF) {
            for (path, ids) in directories[event.descriptor] ?? [:] {
                for id in ids where watches[id]?.isAt(orBelow: path) ?? false { end(id) }
            }
        } else if let name = event.name {
            for (path, ids) in directories[event.descriptor] ?? [:] { handle(event, name, path, ids) }
        }
    }

    private func handle(_ event: InotifyTools.Event, _ name: String, _ path: String, _ ids: Set<Int>) {
        let child = "\(path)/\(name)"
        for watch in ids.sorted().compactMap({ watches[$0] }) where watch.covers(path) {
            let isAsked = watch.names.map { path == watch.root && $0.contains(name) } ?? !event.has(IN_MODIFY)
            if isAsked { hint(watch, .changed(directory: path, name: name)) }
            guard event.has(IN_ISDIR), watch.recursive else { continue }
            if event.has(IN_MOVED_FROM) { dropTree(child, for: [watch.id]) }
            if event.has(IN_CREATE) || event.has(IN_MOVED_TO) {
                let depth = child.dropFirst(watch.root.count).count(where: { $0 == "/" })
                if addTree(child, for: watch, depth: depth, news: .new) != nil { watch.sink.send(.overflow) }
            }
        }
    }

    /// Directories may have come and gone unseen.
    private func handleOverflow() {
        for watch in watches.values.sorted(by: { $0.id < $1.id }) {
            if addTree(watch.root, for: watch, depth: 0, news: .unknown) != nil {
                end(watch.id)
            } else {
                watch.sink.send(.overflow)
            }
        }
    }

    private func hint(_ watch: Watch, _ hint: FolderHint) {
        watch.sink.send(hint.renamed(from: watch.root, to: watch.asked))
    }
}
