import Foundation

extension posix_spawnattr_t {
    /// Has a child begin with no signal masked and none ignored. Foundation's `Process` hands on the mask that Dispatch has set,
    /// and the child is deaf.
    ///
    /// - Parameter flags: what else `posix_spawnattr_setflags` is to be told.
    /// Source: <https://man7.org/linux/man-pages/man3/posix_spawn.3.html>.
    mutating func resetSignals(and flags: Int32 = 0) {
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&self, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&self, &signals)
        posix_spawnattr_setflags(&self, Int16(flags | Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF)))
    }
}
