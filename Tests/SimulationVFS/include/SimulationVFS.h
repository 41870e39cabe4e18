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

/// How much of the change is made at which a process dies.
enum { SIMULATION_VFS_NOTHING, SIMULATION_VFS_WHOLE, SIMULATION_VFS_HALF };

/// From now on counts writes, truncations, syncs and deletions of databases and their journals, and dies at the one
/// that is number `changes`, from 1; 0 only counts. `extent` of that one is still made; only writes have halves.
void simulation_vfs_arm(int64_t changes, int extent);

/// Ends counting. Returns how many changes were made since it began.
int64_t simulation_vfs_disarm(void);

/// What a change since counting began was, from 0: `w`rite, `t`runcation, `s`ync or `d`eletion; 0 where there was none.
char simulation_vfs_change(int64_t index);

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
