import Foundation
import Testing
import Trials

/// A share of what `make fuzz` does with its targets `merge` and `join`, from fixed seeds.
@Suite struct NonsenseTests {
    private let folder: TestFolder
    private let trial: StoreTrial
    private let failures = Failures()

    private final class Failures {
        private(set) var all: [String] = []
        func add(_ failure: String) { all.append(failure) }
    }

    init() throws {
        folder = try TestFolder()
        trial = try StoreTrial(in: folder.path)
    }

    private func bytes(_ seed: UInt64, count: Int) -> [UInt8] {
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        return (0..<count).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 56)
        }
    }

    /// Whatever is not refused by name has to leave a store that adds up, and can be told to others by a snapshot.
    private func attempt(_ seed: UInt64, _ body: () throws -> Void) throws {
        do {
            try body()
        } catch let failure as StoreTrial.Failure {
            failures.add("seed \(seed): \(failure)")
        }
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func aStoreMergesOrRefusesNonsenseAndItsSnapshotsCanBeRead(part: UInt64) throws {
        var merged = 0
        for number in 0..<25 {
            let seed = part * 1000 + UInt64(number)
            try attempt(seed) { merged += try trial.merge(bytes(seed, count: 700)) }
        }
        #expect(merged > 25, "hardly anything was merged")
        #expect(failures.all.isEmpty, "\(failures.all.joined(separator: "; "))")
    }

    @Test(arguments: [1, 2] as [UInt64])
    func aStoreJoinsOrRefusesSnapshotsOfNonsense(part: UInt64) throws {
        var joined = 0
        for number in 0..<25 {
            let seed = part * 1000 + UInt64(number)
            try attempt(seed) { joined += try trial.join(bytes(seed, count: 400)) ? 1 : 0 }
        }
        #expect(joined > 5, "hardly any was joined")
        #expect(failures.all.isEmpty, "\(failures.all.joined(separator: "; "))")
    }

    /// What libFuzzer found: a byte, others like it, and one more.
    @Test func aCloneOfNonsenseThatWasFoundAddsUp() throws {
        try trial.join([0xFF] + [UInt8](repeating: 0xF5, count: 66) + [0xFF])
    }

    /// What libFuzzer found: a snapshot of a clone of nonsense that had a row twice.
    @Test func aSnapshotOfACloneOfNonsenseHasEachRowOnce() throws {
        var bytes = [UInt8](repeating: 0xF1, count: 73)
        bytes[2] = 0x71
        bytes[7] = 0
        bytes[8] = 0
        bytes[14] = 0x21
        bytes[72] = 0x0A
        try trial.join(bytes)
    }
}
