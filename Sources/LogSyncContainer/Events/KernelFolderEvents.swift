import Dispatch
import Foundation
import Glibc
public import LogSyncModel

/// Hints straight from the kernel, by inotify's system calls and nothing else.
///
/// Only for file systems where the kernel hears of every change: see `reportsRemoteChanges(_:)`; poll the others. Each watch
/// takes one of the user's inotify instances (`fs.inotify.max_user_instances`), and a directory that it watches, or that is
/// above it, one of the watches.
///
/// Source: <https://man7.org/linux/man-pages/man7/inotify.7.html>.
public struct KernelFolderEvents: FolderEvents {
    public static let shared = KernelFolderEvents()

    /// Serves all watches of the process, one event after the other.
    private static let queue = DispatchQueue(label: "logsync.inotify", qos: .userInitiated)

    private let placeInterval: Duration

    /// - Parameter placeInterval: how long to wait between two looks at whether the path leads to the same directory.
    package init(placeInterval: Duration = FolderPlace.interval) { self.placeInterval = placeInterval }

    public func watch(directory: String, recursive: Bool, only names: Set<String>?) throws(LogSyncError)
        -> AsyncStream<FolderHint>
    {
        let (stream, sink) = HintSink.makeStream()
        let place = FolderPlace(directory)
        let watch = try KernelWatch(directory, recursive: recursive, names: names, sink)
        watch.begin(on: Self.queue)
        let looks = place?.watch(every: placeInterval, sink)
        sink.onEnd {
            looks?.cancel()
            Self.queue.async { watch.cancel() }
        }
        return stream
    }
}

/// One inotify instance: a directory, and those below it. Paths in here are resolved; hints speak of the path that was
/// asked for.
///
/// Unchecked because, once it has begun, the one queue of ``KernelFolderEvents`` alone calls it.
private final class KernelWatch: @unchecked Sendable {
    let descriptor: CInt
    private let asked: String
    private let root: String
    private let recursive: Bool
    private let names: Set<String>?
    private let sink: HintSink
    /// Says that events wait; nil once the watch has ended.
    private var source: (any DispatchSourceRead)?
    /// By watch descriptor. A directory that has several paths is known by the last.
    private var directories: [CInt: String] = [:]
    /// Watch descriptors of the directories above the root.
    private var above: Set<CInt> = []

    /// Deeper folders are not of any layout of ours.
    private static let maximumDepth = 16
    private static let events =
        IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF
    private static let aboveEvents = IN_MOVE_SELF | IN_ONLYDIR | IN_DONT_FOLLOW | IN_MASK_ADD

    init(_ asked: String, recursive: Bool, names: Set<String>?, _ sink: HintSink) throws(LogSyncError) {
        guard let resolved = realpath(asked, nil) else { throw LogSyncError.cannotWatch(asked, errno) }
        defer { free(resolved) }
        self.asked = asked
        root = String(cString: resolved)
        self.recursive = recursive
        self.names = names
        self.sink = sink
        descriptor = inotify_init1(CInt(IN_NONBLOCK | IN_CLOEXEC))
        guard descriptor >= 0 else { throw LogSyncError.cannotWatch(asked, errno) }
        if let number = addTree(root, depth: 0, isNew: false) {
            Glibc.close(descriptor)
            throw LogSyncError.cannotWatch(asked, number)
        }
        // One that may not be read cannot be watched.
        above = Set(
            FolderPlace.above(root)
                .map { inotify_add_watch(descriptor, $0, UInt32(Self.aboveEvents)) }
                .filter { $0 >= 0 })
    }

    func begin(on queue: DispatchQueue) {
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler { [self] in
            if !readEvents() { cancel() }
        }
        source.setCancelHandler { [self] in
            Glibc.close(descriptor)
            sink.finish()
        }
        self.source = source
        source.activate()
    }

    func cancel() {
        source?.cancel()
        source = nil
    }

    // MARK: Directories

    /// Watches a directory and those below it, each before it is listed, so that nothing falls between.
    ///
    /// - Parameter isNew: whether what is in them may have come before they were watched.
    /// - Returns: an errno where the directory itself, or for want of watches any other, cannot be watched.
    private func addTree(_ path: String, depth: Int, isNew: Bool) -> CInt? {
        var mask = UInt32(Self.events | IN_ONLYDIR | IN_DONT_FOLLOW)
        if names != nil { mask |= UInt32(IN_MODIFY) }
        let number = inotify_add_watch(descriptor, path, mask)
        guard number >= 0 else {
            return depth == 0 || errno == ENOSPC || errno == ENOMEM ? errno : nil
        }
        directories[number] = path
        if isNew { hint(.changed(directory: path, name: nil)) }
        guard recursive, depth < Self.maximumDepth else { return nil }
        // What cannot be listed has vanished or is not readable; a later event or the next full scan tells.
        guard let entries = try? PosixFileSystem().list(path, statuses: true) else { return nil }
        for entry in entries where entry.status?.isDirectory ?? false {
            if let failure = addTree("\(path)/\(entry.name)", depth: depth + 1, isNew: isNew) { return failure }
        }
        return nil
    }

    /// Ends what is watched at and below a path that was renamed away; its watches would go on under the old path.
    private func dropTree(_ path: String) {
        for (number, below) in directories where below == path || below.hasPrefix(path + "/") {
            directories[number] = nil
            inotify_rm_watch(descriptor, number)
        }
    }

    // MARK: Events

    /// Reads what waits. False where the directory is at its path no more.
    func readEvents() -> Bool {
        let size = 64 << 10
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 8)
        defer { buffer.deallocate() }
        while true {
            let count = read(descriptor, buffer.baseAddress, size)
            guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) }
            var offset = 0
            let header = MemoryLayout<inotify_event>.size
            while offset + header <= count {
                let event = buffer.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
                let length = Int(event.len)
                let name = buffer[offset + header..<min(count, offset + header + length)].prefix { $0 != 0 }
                offset += header + length
                guard handle(event, name.isEmpty ? nil : String(decoding: name, as: UTF8.self)) else {
                    sink.send(.overflow)
                    return false
                }
            }
        }
    }

    /// False where the directory that was asked for is at its path no more.
    private func handle(_ event: inotify_event, _ name: String?) -> Bool {
        func has(_ bit: CInt) -> Bool { event.mask & UInt32(bit) != 0 }
        if has(IN_Q_OVERFLOW) {
            // Directories may have come and gone unseen.
            guard addTree(root, depth: 0, isNew: false) == nil else { return false }
            sink.send(.overflow)
            return true
        }
        if has(IN_MOVE_SELF), above.contains(event.wd) { return false }
        guard let path = directories[event.wd] else { return true }
        if has(IN_IGNORED) {
            directories[event.wd] = nil
            return path != root
        }
        if has(IN_MOVE_SELF) { return path != root }
        guard let name else { return true }
        let isAsked = names.map { path == root && $0.contains(name) } ?? !has(IN_MODIFY)
        if isAsked { hint(.changed(directory: path, name: name)) }
        guard has(IN_ISDIR), recursive else { return true }
        let child = "\(path)/\(name)"
        if has(IN_MOVED_FROM) { dropTree(child) }
        if has(IN_CREATE) || has(IN_MOVED_TO) {
            let depth = child.dropFirst(root.count).count { $0 == "/" }
            if addTree(child, depth: depth, isNew: true) != nil { sink.send(.overflow) }
        }
        return true
    }

    private func hint(_ hint: FolderHint) { sink.send(hint.renamed(from: root, to: asked)) }
}
