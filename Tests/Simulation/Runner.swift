import Foundation
import SimulationVFS

/// Runs scenarios in a folder of its own, one at a time.
final class Runner {
    private let root: String
    private let kept: String?
    private var count = 0
    private(set) var yield = Yield()
    private var latestChanges: [FolderWorld.Place: FolderWorld.Changes] = [:]

    /// Memory where the machine has a folder in it: nothing here has to survive.
    /// - Parameter keeping: where the folders of scenarios that fail are kept; nil to keep none.
    init(keeping: String? = nil) throws {
        kept = keeping
        let base = FileManager.default.isWritableFile(atPath: "/dev/shm") ? "/dev/shm" : NSTemporaryDirectory()
        root = "\(base)/logsync-simulation-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        guard simulation_vfs_register() == 0 else {
            throw Failure(.program, "the simulation's VFS cannot be registered")
        }
    }

    deinit {
        // What is left in memory or among temporary files is the system's to clear away.
        try? FileManager.default.removeItem(atPath: root)
    }

    /// Runs a scenario with folders, and counts the changes at which its processes might die.
    func changes(of scenario: Scenario) async -> (failure: Failure?, changes: [FolderWorld.Place: FolderWorld.Changes])
    {
        let failure = await failure(of: scenario)
        return (failure, latestChanges)
    }

    /// Returns what was wrong; nil where nothing was.
    func failure(of scenario: Scenario, trace: @escaping (String) -> Void = { _ in }) async -> Failure? {
        count += 1
        var isFailed = true
        let directory = "\(root)/\(count)"
        do {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            defer {
                // Kept or not: the next scenario has a folder of its own.
                if let kept, isFailed {
                    try? FileManager.default.copyItem(atPath: directory, toPath: "\(kept)/\(count)")
                }
                try? FileManager.default.removeItem(atPath: directory)
            }
            let world: any World =
                scenario.hasFolders
                ? try FolderWorld(scenario, directory: directory) : try StoreWorld(scenario, directory: directory)
            do {
                try await world.run(trace: trace)
                yield += world.yield
                if let world = world as? FolderWorld { latestChanges = world.changes }
                await world.close()
            } catch {
                await world.close()
                throw error
            }
            isFailed = false
            return nil
        } catch let failure as Failure {
            return failure
        } catch {
            return Failure(.error, "\(error)")
        }
    }
}
