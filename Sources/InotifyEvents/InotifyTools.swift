import CLogSyncInotifyTools
import Foundation

/// libinotifytools, as far as it is used here, with what is known of it. To be called on one thread only.
///
/// Sources: `inotifytools.h` and `inotifytools.cpp` of version 3.22.
struct InotifyTools {
    /// How many names were given out. Every watch has a spelling of its own, see ``spell(_:)``.
    private var spellings: UInt64 = 0

    struct Event {
        var descriptor: CInt
        var mask: UInt32
        /// nil where it is about the watched directory itself.
        var name: String?

        func has(_ flag: some BinaryInteger) -> Bool { mask & UInt32(truncatingIfNeeded: flag) != 0 }
    }

    /// The library waits by `select`, which ends the process where a descriptor has a higher number.
    private static let highestDescriptor = CInt(1023)

    /// Returns an errno, or nil.
    static func initialize() -> CInt? {
        // The lowest that is free, which the library gets.
        let next = dup(STDERR_FILENO)
        if next >= 0 { close(next) }
        guard next <= highestDescriptor else { return EMFILE }
        let others = instances
        if let number = initializeLibrary() { return number }
        // NB: the library opens its instance so that every program which this process starts inherits it, and does not say
        // which it is. May go when it calls inotify_init1 with IN_CLOEXEC.
        for descriptor in instances.subtracting(others) { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        return nil
    }

    /// The descriptors of this process's inotify instances; none where /proc is not there.
    private static var instances: Set<CInt> {
        let open = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return Set(
            open.filter {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)"))
                    == "anon_inode:inotify"
            }.compactMap { CInt($0) })
    }

    private static func initializeLibrary() -> CInt? {
        inotifytools_initialize() != 0 ? nil : inotifytools_error()
    }

    /// Watches a directory or file. Watching what is watched already replaces the events and gives the same descriptor.
    mutating func watch(_ path: String, events: Int64) -> Result<CInt, Failure> {
        let spelled = spell(path)
        guard inotifytools_watch_file(spelled, CInt(truncatingIfNeeded: events)) != 0 else {
            return .failure(Failure(number: inotifytools_error()))
        }
        // The library adds a slash to what it finds to be a directory, which may have ceased to be one.
        for name in [spelled + "/", spelled] {
            let descriptor = inotifytools_wd_from_filename(name)
            if descriptor > 0 { return .success(descriptor) }
        }
        return .failure(Failure(number: ENOENT))
    }

    struct Failure: Error {
        let number: CInt
    }

    /// Ends a watch that is alive; ending a dead one prints and leaks.
    func end(_ descriptor: CInt) {
        inotifytools_remove_watch_by_wd(descriptor)
    }

    /// Waits for an event. Returns nil when nothing came for a minute, or a signal did.
    func nextEvent() -> Event? {
        guard let event = inotifytools_next_event(60) else { return nil }
        var name: String?
        if event.pointee.len > 0 {
            let start = UnsafeRawPointer(event).advanced(by: MemoryLayout<inotify_event>.size)
            name = String(cString: start.assumingMemoryBound(to: CChar.self))
        }
        return Event(descriptor: event.pointee.wd, mask: event.pointee.mask, name: name)
    }

    /// Another spelling of an absolute path, one that was never used before.
    ///
    /// NB: the library finds the descriptor of a watch by its path only, and when a directory was removed and made
    /// again it finds that of the dead one, which it never forgets. Leading slashes and dots make each path unlike any
    /// other without changing what it means. May go when the library returns descriptors.
    private mutating func spell(_ path: String) -> String {
        spellings += 1
        return String(spellings, radix: 2).map { $0 == "1" ? "/." : "/" }.joined() + "/" + path
    }
}
