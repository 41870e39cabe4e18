#ifndef LOGSYNC_SIMULATION_VFS_H
#define LOGSYNC_SIMULATION_VFS_H

#include <stdint.h>

/// A SQLite VFS over the default one that owns the time of day and randomness, and on which a process can die.
///
/// All of it is one state a process: the simulator runs one scenario at a time.

/// Registers it as the default VFS, once. Returns SQLite's result code.
int simulation_vfs_register(void);

/// Sets what `'now'` is in SQL, as Unix milliseconds.
void simulation_vfs_set_now(int64_t milliseconds);

/// Sets the state of the generator that SQLite's randomness comes from.
void simulation_vfs_seed(uint64_t seed);

/// From now on counts writes, truncations, syncs and deletions of databases and their journals, and dies at the one
/// that is number `changes`, from 1; 0 only counts. With `completes_last` that one is still made.
void simulation_vfs_arm(int64_t changes, int completes_last);

/// Ends counting. Returns how many changes were made since it began.
int64_t simulation_vfs_disarm(void);

/// Fails every call from now on, as after a death at a change of some other kind.
void simulation_vfs_kill(void);

int simulation_vfs_is_dead(void);

/// Calls work again: another process has begun. Connections from before have to be closed.
void simulation_vfs_revive(void);

/// From now on keeps what a power cut would undo: whatever was written and not synced.
void simulation_vfs_track_unsynced(int enabled);

/// Undoes every write that was not synced. No connection may be open.
void simulation_vfs_cut_power(void);

#endif
