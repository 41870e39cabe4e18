import LogSyncModel
import SimulationVFS
import Synchronization

/// A peer's clock: the time that goes by for all, and how wrong it is here.
final class SimulatedClock: WallClock {
    private let milliseconds = Mutex<Int64>(0)

    func now() -> Int64 { milliseconds.withLock { $0 } }

    /// Sets it, and SQL's idea of it, which is one for the process: to be called before anything of the peer runs.
    func set(_ time: Int64) {
        milliseconds.withLock { $0 = time }
        simulation_vfs_set_now(time)
    }
}

/// A peer's random numbers.
final class SimulatedRandomness: Sendable {
    private let random: Mutex<Random>

    init(seed: UInt64) { random = Mutex(Random(seed: seed)) }

    func next() -> UInt64 { random.withLock { $0.next() } }
}

extension Death.Extent {
    /// As the VFS has it.
    var ofStore: Int32 {
        switch self {
        case .none: Int32(SIMULATION_VFS_NOTHING)
        case .half: Int32(SIMULATION_VFS_HALF)
        case .whole: Int32(SIMULATION_VFS_WHOLE)
        }
    }
}
