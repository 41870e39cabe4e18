#include "SQLiteSession.h"

int benchmark_bind_text(sqlite3_stmt *statement, int index, const char *text, int count) {
    return sqlite3_bind_text(statement, index, text, count, SQLITE_TRANSIENT);
}

static int abort_on_conflict(void *context, int conflict, sqlite3_changeset_iter *change) {
    (void)context, (void)conflict, (void)change;
    return SQLITE_CHANGESET_ABORT;
}

int benchmark_apply(sqlite3 *db, int count, void *changes) {
    return sqlite3changeset_apply(db, count, changes, 0, abort_on_conflict, 0);
}
