import Foundation
import LogSyncContainer
import LogSyncFormat
import LogSyncModel

/// Carries files between the peers' copies of the container, and does to them whatever folders have done to them.
final class Courier {
    /// The time that new files have.
    var now: Int64 = 0
    private let manager = FileManager.default
    /// Every file that was ever seen in its owner's copy: path within the container → bytes.
    private var archive: [String: Data] = [:]
    private var marker: [String: Data] = [:]
    /// What was read of files, by path.
    private var read: [String: (status: Seen, data: Data)] = [:]
    /// What one copy held when it was last carried to another.
    private var carried: [[String]: Set<String>] = [:]
    /// Whether what goes from a copy of somebody else's files goes from the other copies too.
    var carriesDeletions = false
    /// A copy as it was once, by container.
    private var former: [String: [String: Data]] = [:]

    /// Brings what lies in one peer's copy to another's. A peer's own subfolder is mirrored; of what it has from others
    /// only what is missing is taken.
    func carry(from: String, owner: String, to: String) throws {
        let sources = try files(from)
        // Sync engines have a guard like this too: the deletions of a folder that was wiped go nowhere.
        guard marker.isEmpty || marker.keys.allSatisfy({ sources[$0] != nil }) else { return }
        let targets = try files(to)
        for (path, data) in sources {
            if Self.isOf(owner, path) { archive[path] = data }
            if targets[path] == nil || Self.isOf(owner, path) && targets[path] != data {
                try write(data, to + "/" + path)
            }
        }
        for path in targets.keys where Self.isOf(owner, path) && sources[path] == nil {
            try manager.removeItem(atPath: to + "/" + path)
        }
        if carriesDeletions {
            for path in carried[[from, to], default: []] where sources[path] == nil && !Self.isOf(owner, path) {
                guard let data = targets[path], archive[path] == data else { continue }
                try manager.removeItem(atPath: to + "/" + path)
            }
        }
        carried[[from, to]] = Set(sources.keys)
    }

    /// Puts the marker back, which is nobody's own: a folder whose every copy has lost it is rebuilt by hand.
    func mark(_ container: String) throws {
        let present = try files(container)
        for (path, data) in marker where present[path] != data { try write(data, container + "/" + path) }
    }

    func hasDamagedMarker(_ container: String) throws -> Bool {
        let present = try files(container)
        return marker.contains { present[$0.key] != $0.value }
    }

    func rememberMarker(_ container: String) throws {
        marker = try files(container).filter { $0.key.hasSuffix("/logsync.json") }
    }

    /// Keeps a copy as it is, for a later roll-back.
    func remember(_ container: String) throws { former[container] = try files(container) }

    private static func isOf(_ owner: String, _ path: String) -> Bool { path.contains("/peers/\(owner)/") }

    // MARK: Faults

    /// - Parameter choice: picks the file, and what of it.
    func spoil(_ container: String, _ fault: Fault, choice: UInt64) throws {
        let present = try files(container)
        let paths = present.keys.sorted()
        func pick(_ paths: [String]) -> String? {
            paths.isEmpty ? nil : paths[Int(choice % UInt64(paths.count))]
        }
        switch fault {
        case .wipe:
            for name in try manager.contentsOfDirectory(atPath: container) {
                try manager.removeItem(atPath: container + "/" + name)
            }
            return
        case .rollBack:
            guard let former = former[container] else { return }
            for path in paths where former[path] == nil { try manager.removeItem(atPath: container + "/" + path) }
            for (path, data) in former { try write(data, container + "/" + path) }
            return
        case .resurrect:
            guard let path = pick(archive.keys.filter { present[$0] == nil }.sorted()), let data = archive[path] else {
                return
            }
            return try write(data, container + "/" + path)
        default: break
        }
        guard let path = pick(paths), let data = present[path] else { return }
        let full = container + "/" + path
        let (folder, name) = ((full as NSString).deletingLastPathComponent, (full as NSString).lastPathComponent)
        switch fault {
        case .truncate: try write(data.prefix(Int(choice >> 8) % (data.count + 1)), full)
        case .blank: try write(Data(count: data.count), full)
        case .flipBit:
            guard !data.isEmpty else { return }
            var damaged = data
            damaged[damaged.startIndex + Int(choice >> 8) % data.count] ^= 1 << UInt8(choice >> 4 & 7)
            try write(damaged, full)
        case .remove: try manager.removeItem(atPath: full)
        case .conflictCopy:
            let stem = (name as NSString).deletingPathExtension
            try write(
                data, "\(folder)/\(stem).sync-conflict-20260101-120000-ABCDEFG.\((name as NSString).pathExtension)")
        case .temporaryName: try write(data.prefix(data.count / 2), "\(folder)/.syncthing.\(name).tmp")
        case .duplicate:
            // The same bytes under a name that says other bytes.
            let changed = name.hasSuffix(".tlog") ? String(name.dropLast(9)) + "0000.tlog" : name + "~"
            try write(data, "\(folder)/\(changed)")
        case .wipe, .rollBack, .resurrect: break
        }
    }

    // MARK: Files

    /// What lies in a container, by path within it, without what is being written.
    private func files(_ container: String) throws -> [String: Data] {
        var found: [String: Data] = [:]
        try visit(container, "", &found)
        return found
    }

    /// A file is read again only where its status has changed.
    private func visit(_ container: String, _ folder: String, _ found: inout [String: Data]) throws {
        guard let directory = opendir(container + "/" + folder) else { return }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name == "." || name == ".." || name.hasPrefix(".logsync-") { continue }
            let path = folder.isEmpty ? name : folder + "/" + name
            let full = container + "/" + path
            var status = stat()
            guard lstat(full, &status) == 0 else { continue }
            if status.st_mode & S_IFMT == S_IFDIR {
                try visit(container, path, &found)
            } else if status.st_mode & S_IFMT == S_IFREG {
                let seen = Seen(status)
                if let known = read[full], known.status == seen {
                    found[path] = known.data
                } else {
                    let data = try Data(contentsOf: URL(fileURLWithPath: full))
                    read[full] = (seen, data)
                    found[path] = data
                }
            }
        }
    }

    private struct Seen: Equatable {
        var inode: UInt64
        var size: Int
        var seconds: Int
        var nanoseconds: Int

        init(_ status: stat) {
            inode = UInt64(status.st_ino)
            size = Int(status.st_size)
            seconds = status.st_mtim.tv_sec
            nanoseconds = status.st_mtim.tv_nsec
        }
    }

    /// How far the files that one peer's copy has of a peer go.
    func reach(of peer: PeerID, in container: String) throws -> UInt64 {
        try files(container).keys.filter { Self.isOf("\(peer)", $0) }.map { path in
            let name = (path as NSString).lastPathComponent
            return max(LogFileName(name)?.last ?? 0, SnapshotName(name)?.sequence ?? 0)
        }.max() ?? 0
    }

    func hasReceipt(of peer: PeerID, in container: String) throws -> Bool {
        try files(container).keys.contains { Self.isOf("\(peer)", $0) && $0.hasSuffix("/receipt.json") }
    }

    /// The sound log files that one peer's copy has of a peer.
    func logs(of peer: PeerID, in container: String) throws -> [[UInt8]] {
        try files(container).filter { $0.key.contains("/peers/\(peer)/logs/") && $0.key.hasSuffix(".tlog") }
            .compactMap { file in
                let bytes = [UInt8](file.value)
                // What is damaged tells nothing.
                guard let hash = try? LogFileReader(MemorySource(bytes)).verify(),
                    file.key.hasSuffix("\(hash.nameDigits).tlog")
                else { return nil }
                return bytes
            }
    }

    private func write(_ data: Data, _ path: String) throws {
        try manager.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try data.write(to: URL(fileURLWithPath: path))
        FileTimes.set(path, milliseconds: now)
    }
}
