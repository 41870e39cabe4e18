import LogSyncContainer
import LogSyncModel
import Logging

extension Replicator {
    /// Does what the findings of ``doctor(_:configuration:)`` advise, as far as that can lose nothing: a rescan, a sync,
    /// putting conflict copies in the place of originals that are missing or damaged, and deleting those of sound ones. What
    /// asks for a decision, as `rebuild` or `peers retire`, is left to people.
    ///
    /// - Parameters:
    ///   - path: a store; or a container, or a content folder, in which only files are put back or deleted.
    ///   - dryRun: only says what would be done.
    ///   - willRepair: is told each before it is done.
    /// - Returns: what is wrong afterwards, and what was done. A repair that fails is told, and the others go on.
    /// - Throws: as `doctor`; `CancellationError`.
    public static func repair(
        _ path: String, dryRun: Bool = false, configuration: SyncConfiguration,
        willRepair: @Sendable (DoctorReport.Repair) throws -> Void = { _ in }
    ) async throws -> DoctorReport {
        var report = try await doctor(path, configuration: configuration)
        let finder = Founder(configuration: configuration, container: path, content: "")
        let isStore = await !finder.isDirectory(path)
        let own = isStore ? try? await ownFolder(path, configuration) : nil
        let contents =
            isStore
            ? [own?.content].compactMap(\.self)
            : FolderTarget(report.path, fileSystem: configuration.fileSystem).folders
        var repairs = plan(report, isStore: isStore, own: own?.path)
        for index in repairs.indices {
            try willRepair(repairs[index])
            guard !dryRun else { continue }
            do {
                try await perform(repairs[index], in: contents, configuration)
                repairs[index].done = true
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                let error = LogSyncError(wrapping: error, at: repairs[index].place)
                configuration.logger.error("\(repairs[index].place): \(error)")
                repairs[index].error = error.message
            }
        }
        if repairs.contains(where: \.done) { report = try await doctor(path, configuration: configuration) }
        report.repairs = repairs
        return report
    }

    private static func ownFolder(_ path: String, _ configuration: SyncConfiguration) async throws -> PeerFolder {
        try await with(path, configuration) { try await $0.ownFolder() }
    }

    private func ownFolder() throws -> PeerFolder { try inspect { $0.content.peer($0.peer) } }

    /// In the order in which they are done: what is recorded is published afterwards.
    private static func plan(
        _ report: DoctorReport, isStore: Bool, own: String?
    ) -> [DoctorReport.Repair] {
        func codes(_ isWanted: (Finding) -> Bool) -> [String] {
            report.findings.filter(isWanted).map(\.code).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
        }
        var repairs: [DoctorReport.Repair] = []
        let unseen = codes { ["no-triggers", "uncaptured-changes"].contains($0.code) }
        let isSound = !report.findings.contains { $0.code == "corrupt-database" }
        if isStore, isSound {
            if !unseen.isEmpty {
                repairs.append(DoctorReport.Repair(action: .rescan, place: report.path, findings: unseen))
            }
            let unpublished = codes { finding in
                ["pending", "outbox"].contains(finding.code)
                    || finding.severity != .note && finding.code != "conflict-copy"
                        && own.map { finding.place.hasPrefix($0 + "/") } ?? false
            }
            if !unpublished.isEmpty || !unseen.isEmpty {
                repairs.append(DoctorReport.Repair(action: .sync, place: report.path, findings: unpublished + unseen))
            }
        }
        // Of two copies of one file the first is put back, and the other is needed no more.
        for action in [DoctorReport.Repair.Action.restore, .remove] {
            for finding in report.findings where finding.repair == action {
                repairs.append(DoctorReport.Repair(action: action, place: finding.place, findings: [finding.code]))
            }
        }
        return repairs
    }

    private static func perform(
        _ repair: DoctorReport.Repair, in contents: [ContentFolder], _ configuration: SyncConfiguration
    ) async throws {
        switch repair.action {
        case .rescan: try await with(repair.place, configuration) { _ = try await $0.rescan() }
        case .sync: try await with(repair.place, configuration) { _ = try await $0.sync() }
        case .restore, .remove:
            guard let content = contents.first(where: { repair.place.hasPrefix($0.path + "/") }),
                let copy = ConflictCopy(path: String(repair.place.dropFirst(content.path.count + 1)))
            else { throw ConflictCopyExamination.changed(repair.place) }
            try ConflictCopyExamination(content: content).settle(copy)
        }
    }

    private static func with<T: Sendable>(
        _ path: String, _ configuration: SyncConfiguration, _ body: (Replicator) async throws -> T
    ) async throws -> T {
        let replicator = try await Replicator.open(store: path, configuration: configuration)
        do {
            let result = try await body(replicator)
            await replicator.close()
            return result
        } catch {
            await replicator.close()
            throw error
        }
    }
}
