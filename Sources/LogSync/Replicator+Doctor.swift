import Foundation
import LogContainer
import LogModel
import LogStore

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
        if target.folders.isEmpty {
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

    init(_ path: String, fileSystem: any FileSystem) {
        func isContent(_ path: String) -> Bool {
            // What cannot be looked at is none that could be examined.
            let marker = try? fileSystem.status(path + "/logsync.json", followingLinks: false)
            let peers = try? fileSystem.status(path + "/peers", followingLinks: false)
            return marker?.isFile ?? false || peers?.isDirectory ?? false
        }
        let url = URL(fileURLWithPath: path)
        if isContent(path), let name = ContentName(url.lastPathComponent) {
            let container = url.deletingLastPathComponent().path
            folders = [ContentFolder(container: container, name: name, fileSystem: fileSystem)]
            return
        }
        let names = ((try? fileSystem.list(path, statuses: false)) ?? []).compactMap { ContentName($0.name) }
        folders = names.filter { isContent("\(path)/\($0)") }.sorted { $0.description < $1.description }
            .map { ContentFolder(container: path, name: $0, fileSystem: fileSystem) }
    }

    static func isDirectory(_ path: String) -> Bool {
        var isDirectory: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory.boolValue
    }
}
