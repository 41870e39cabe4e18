import Foundation
import Trials

/// A store that is given well-formed nonsense: whatever the bytes choose, it merges or refuses it, adds up, and can be cloned.
enum StoreTarget {
    private static let trial: StoreTrial = {
        let directory = NSTemporaryDirectory() + "logsync-fuzz-\(ProcessInfo.processInfo.processIdentifier)"
        do {
            try? FileManager.default.removeItem(atPath: directory)
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            return try StoreTrial(in: directory)
        } catch {
            fatalError("no store could be made in \(directory): \(error)")
        }
    }()

    static func merge(_ bytes: [UInt8]) { expect { try trial.merge(bytes) } }
    static func join(_ bytes: [UInt8]) { expect { try trial.join(bytes) } }

    private static func expect(_ body: () throws -> some Any) {
        do {
            _ = try body()
        } catch {
            fatalError("\(error)")
        }
    }
}
