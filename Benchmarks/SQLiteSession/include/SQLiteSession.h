#ifndef LOGSYNC_SQLITESESSION_H
#define LOGSYNC_SQLITESESSION_H

// Both have to stand before sqlite3.h, which does not declare the session extension without them.
#define SQLITE_ENABLE_SESSION 1
#define SQLITE_ENABLE_PREUPDATE_HOOK 1
#include <sqlite3.h>

/// Binds a copy of `count` bytes of text: SQLITE_TRANSIENT is a cast that Swift cannot express.
int benchmark_bind_text(sqlite3_stmt *statement, int index, const char *text, int count);

/// Applies a change set; any conflict ends it with SQLITE_ABORT and undoes it.
int benchmark_apply(sqlite3 *db, int count, void *changes);

#endif
