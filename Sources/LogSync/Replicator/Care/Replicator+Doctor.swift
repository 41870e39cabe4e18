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
        let founder = Founder(configuration: configuration, container: path, content: "")
        if await founder.isDirectory(path) { return try await founder.doctor() }
        do {
            let replicator = try await Replicator.open(store: path, configuration: configuration)
            let report = await Result { try await replicator.doctor() }
            await replicator.close()
            return try report.get()
        } catch let error as LogSyncError where error.code == .ioError {
            // On a disk that is quite full a database cannot be opened, not even to read.
            let place = try StorePlace(path).path
            guard let full = StoreExamination.disk(ofDatabase: place, configuration) else { throw error }
            var report = DoctorReport(path: place)
            report.findings = [full]
            return report
        } catch let error as LogSyncError where error.code == .noPermission {
            let place = try StorePlace(path).path
            guard let closed = StoreExamination.closedStateDirectory(of: place, configuration) else { throw error }
            var report = DoctorReport(path: place)
            report.findings = [closed]
            return report
        }
    }

    /// Explains what is wrong with this store and its folder.
    func doctor() async throws -> DoctorReport {
        let waiting = try await waitingTransactions()
        return try inspect { store in
            var report = DoctorReport(path: store.place.path)
            report.findings = try StoreExamination(store: store, waiting: waiting).findings()
            return report
        }
    }

    /// How long a daemon may take to publish what was recorded, on a machine that has much else to do.
    private static let publication = Duration.seconds(3)
    private static let interval = Duration.milliseconds(50)

    /// The transactions that were not published for as long as a daemon needs for that.
    private func waitingTransactions() async throws -> Set<Dot> {
        var waiting = try waitingNow()
        let end = ContinuousClock.now + Self.publication
        while !waiting.isEmpty, ContinuousClock.now < end {
            try await Task.sleep(for: Self.interval)
            waiting.formIntersection(try waitingNow())
        }
        return waiting
    }

    private func waitingNow() throws -> Set<Dot> {
        // A database that SQLite cannot read is for the examination to tell.
        try inspect { store in Set((try? store.store.outbox(unpublishedOnly: true))?.map(\.dot) ?? []) }
    }
}

extension Founder {
    func isDirectory(_ path: String) -> Bool { FolderTarget.isDirectory(path, configuration.fileSystem) }

    fileprivate func doctor() throws -> DoctorReport {
        let path = container
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
