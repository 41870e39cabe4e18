import Foundation

/// What a power cut would undo of a process's changes to files outside the store.
///
/// The worst that POSIX allows: of a file that was not synchronized nothing is left but its name, and a name that was
/// given, changed or taken away is as it was until its directory is synchronized. Directories are taken to last.
struct UnsyncedFiles {
    private enum Change {
        case created(String)
        /// With what the new name had.
        case renamed(String, String, former: Data?)
        case removed(String, Data)
    }

    private var changes: [Change] = []
    /// Files whose bytes are not on the disk.
    private var unwritten: Set<String> = []

    mutating func created(_ path: String) {
        changes.append(.created(path))
        unwritten.insert(path)
    }

    /// To be told before it is done.
    mutating func renaming(_ path: String, to newPath: String) {
        changes.append(.renamed(path, newPath, former: FileManager.default.contents(atPath: newPath)))
        unwritten.remove(newPath)
        if unwritten.remove(path) != nil { unwritten.insert(newPath) }
    }

    /// To be told before it is done.
    mutating func removing(_ path: String) {
        guard let data = FileManager.default.contents(atPath: path) else { return }
        changes.append(.removed(path, unwritten.contains(path) ? Data() : data))
        unwritten.remove(path)
    }

    mutating func synchronized(file path: String) { unwritten.remove(path) }

    mutating func synchronized(directory: String) {
        func isIn(_ path: String) -> Bool { (path as NSString).deletingLastPathComponent == directory }
        var lasting: Set<String> = []
        // A file that lasts under its new name is not taken back from its old one.
        changes = changes.reversed().filter { change in
            switch change {
            case .created(let path): return !isIn(path) && !lasting.contains(path)
            case .removed(let path, _): return !isIn(path)
            case .renamed(let path, let newPath, _):
                guard isIn(newPath) || lasting.contains(newPath) else { return true }
                lasting.insert(path)
                return false
            }
        }.reversed()
    }

    mutating func undo() {
        let manager = FileManager.default
        for path in unwritten where manager.fileExists(atPath: path) { write(Data(), path) }
        for change in changes.reversed() {
            switch change {
            case .created(let path): unlink(path)
            case .removed(let path, let data): write(data, path)
            case .renamed(let path, let newPath, let former):
                rename(newPath, path)
                if let former { write(former, newPath) }
            }
        }
        changes = []
        unwritten = []
    }

    private func write(_ data: Data, _ path: String) {
        guard FileManager.default.createFile(atPath: path, contents: data) else {
            preconditionFailure("\(path) cannot be written")
        }
    }
}
