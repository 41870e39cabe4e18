import Foundation
import LogSyncContainer
import LogSyncModel
import LogSyncStore

extension Replicator {
    /// Explains what is wrong with a store and its folder, or with the contents of a folder, and what helps.
    ///
    /// It reads much and changes nothing.
    ///
    /// - Parameter path: a store; or a container, or a content folder.
    /// - Throws: `noStore` where nothing is there; `notReplicated`, `invalidStore` or `newerFormat` where it is a file
    ///   that is no store. Everything else is a finding.
    public static func doctor(_ path: String, configuration: SyncConfiguration) async throws -> DoctorReport {
        if FolderTarget.isDirectory(path) {
            let founder = Founder(configuration: configuration, container: path, content: "")
            return try await founder.doctor(StorePlace.absolute(path))
        }
        let replicator = try Replicator(store: path, configuration: configuration)
        do {
            let report = try await replicator.doctor()
            await replicator.close()
            return report
        } catch {
            await replicator.close()
            throw error
        }
    }

    /// Explains what is wrong with this store and its folder.
    func doctor() throws -> DoctorReport {
        try look { store in
            var report = DoctorReport(path: store.place.path)
            report.findings = try StoreExamination(store: store).findings()
            return report
        }
    }
}

/// What ``Replicator/doctor(_:configuration:)`` found.
public struct DoctorReport: Sendable, Encodable {
    public let format = 1
    /// The store or the folder.
    public var path: String
    /// The gravest first.
    public var findings: [Finding] = [] {
        didSet { findings = Self.sorted(findings) }
    }

    public var outcome: Outcome { Outcome(findings: findings) }

    init(path: String) {
        self.path = path
    }

    private static func sorted(_ findings: [Finding]) -> [Finding] {
        let order: [Finding.Severity] = [.damage, .trouble, .note]
        return order.flatMap { severity in findings.filter { $0.severity == severity } }
    }

    private enum CodingKeys: String, CodingKey {
        case format, path, findings
    }
}

extension Founder {
    fileprivate func doctor(_ path: String) throws -> DoctorReport {
        var report = DoctorReport(path: path)
        let target = FolderTarget(path, fileSystem: configuration.fileSystem)
        for folder in target.folders {
            report.findings += FolderExamination(folder: folder, configuration: configuration).findings()
        }
        if let failure = target.failure {
            report.findings.append(target.finding(failure, at: path))
        } else if target.folders.isEmpty {
            report.findings.append(
                Finding(
                    "no-content", .trouble, "no content folder is here", at: path,
                    why: "it is empty, unmounted or wiped, or not the folder that was meant",
                    help: "mount it, or run logsync rebuild on a store to write its content folder anew"))
        }
        return report
    }
}

/// The content folders that a path stands for: itself, or those in it.
struct FolderTarget {
    let folders: [ContentFolder]
    /// Why there may be more of them; nil where everything could be looked at.
    let failure: LogSyncError?

    init(_ path: String, fileSystem: any FileSystem) {
        var search = Search(fileSystem: fileSystem)
        let url = URL(fileURLWithPath: path)
        if search.isContent(path), let name = ContentName(url.lastPathComponent) {
            let container = url.deletingLastPathComponent().path
            folders = [ContentFolder(container: container, name: name, fileSystem: fileSystem)]
            failure = nil
            return
        }
        let names = search.names(in: path).filter { search.isContent("\(path)/\($0)") }
        folders = names.sorted { $0.description < $1.description }
            .map { ContentFolder(container: path, name: $0, fileSystem: fileSystem) }
        failure = search.failure
    }

    /// What the failure means for who examines all that is at `path`.
    func finding(_ failure: LogSyncError, at path: String) -> Finding {
        guard !folders.isEmpty else { return FolderExamination.unavailable(failure, at: path) }
        // Beside contents that can be seen it is most likely none.
        return Finding(
            "unreadable", .note, "something here may not be looked at", at: path, why: failure.message,
            help: "where it is a content folder, let this user read it")
    }

    /// Looks for content folders, and remembers the first look that failed for more than absence.
    private struct Search {
        let fileSystem: any FileSystem
        var failure: LogSyncError?

        mutating func isContent(_ path: String) -> Bool {
            let marker = look { [fileSystem] () throws(FileSystemError) in
                try fileSystem.status(path + "/logsync.json", followingLinks: false)
            }
            let peers = look { [fileSystem] () throws(FileSystemError) in
                try fileSystem.status(path + "/peers", followingLinks: false)
            }
            return marker?.isFile ?? false || peers?.isDirectory ?? false
        }

        mutating func names(in path: String) -> [ContentName] {
            let entries = look { [fileSystem] () throws(FileSystemError) in
                try fileSystem.list(path, statuses: false)
            }
            return (entries ?? []).compactMap { ContentName($0.name) }
        }

        private mutating func look<Result>(_ body: () throws(FileSystemError) -> Result) -> Result? {
            do throws(FileSystemError) {
                return try body()
            } catch {
                if !error.isAbsence, failure == nil { failure = error.explained(kept: "nothing was changed") }
                return nil
            }
        }
    }

    static func isDirectory(_ path: String) -> Bool {
        var isDirectory: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory.boolValue
    }
}
