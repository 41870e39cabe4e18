#ifndef LOGSYNC_CSQLITESHIM_H
#define LOGSYNC_CSQLITESHIM_H

#include <sqlite3.h>

/// Sets or reads a boolean connection option. `sqlite3_db_config` is variadic, which Swift cannot call.
/// `value` is 0, 1, or -1 to leave it alone; the option's state afterwards is written to `state`.
int logsync_db_config(sqlite3 *db, int option, int value, int *state);

/// SQLITE_TRANSIENT, a cast that Swift cannot express.
sqlite3_destructor_type logsync_sqlite_transient(void);

#endif
