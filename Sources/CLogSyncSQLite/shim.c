#include "CLogSyncSQLite.h"

int logsync_db_config(sqlite3 *db, int option, int value, int *state) {
    return sqlite3_db_config(db, option, value, state);
}

sqlite3_destructor_type logsync_sqlite_transient(void) {
    return SQLITE_TRANSIENT;
}

int logsync_leave_out_memory_statistics(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}
