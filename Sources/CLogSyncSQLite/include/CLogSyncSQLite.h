#ifndef LOGSYNC_CSQLITESHIM_H
#define LOGSYNC_CSQLITESHIM_H

#include <sqlite3.h>

/// Sets or reads a boolean connection option. `sqlite3_db_config` is variadic, which Swift cannot call.
/// `value` is 0, 1, or -1 to leave it alone; the option's state afterwards is written to `state`.
int logsync_db_config(sqlite3 *db, int option, int value, int *state);

/// Has the write-ahead log of the main database, or its journal, synchronized with the disk, through SQLite's own file of it.
/// Returns SQLITE_OK where there is none that is open.
int logsync_synchronize_log(sqlite3 *db);

/// Has the main database for this connection alone until it is closed, as SQLite itself does where it removes the log with the
/// last connection: call it right before that, outside of transactions, of a database whose log is open. Returns SQLITE_BUSY
/// where any other connection has it open; then nothing has changed.
int logsync_lock_alone(sqlite3 *db);

/// Gives that back, of a connection that was not closed after all.
void logsync_unlock_alone(sqlite3 *db);

/// SQLITE_TRANSIENT, a cast that Swift cannot express.
sqlite3_destructor_type logsync_sqlite_transient(void);

/// Has SQLite count no memory for the rest of the process, under a lock at every allocation. Call it before anything else
/// of SQLite (`sqlite3_config` is variadic); returns SQLITE_MISUSE where it came too late.
int logsync_leave_out_memory_statistics(void);

/// The arguments that the process was started with, its name the first; NULL from the last on. They are read without /proc.
int logsync_argument_count(void);
const char *logsync_argument(int index);

#endif
