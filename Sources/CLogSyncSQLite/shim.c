#include "CLogSyncSQLite.h"

int logsync_db_config(sqlite3 *db, int option, int value, int *state) {
    return sqlite3_db_config(db, option, value, state);
}

static sqlite3_file *main_file(sqlite3 *db) {
    sqlite3_file *file = 0;
    int code = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    return code == SQLITE_OK && file != 0 && file->pMethods != 0 ? file : 0;
}

int logsync_lock_alone(sqlite3 *db) {
    sqlite3_file *file = main_file(db);
    if (file == 0) return SQLITE_MISUSE;
    int code = file->pMethods->xLock(file, SQLITE_LOCK_EXCLUSIVE);
    // It may have come to half of that, and keep others from opening the database.
    if (code != SQLITE_OK) file->pMethods->xUnlock(file, SQLITE_LOCK_SHARED);
    return code;
}

void logsync_unlock_alone(sqlite3 *db) {
    sqlite3_file *file = main_file(db);
    if (file != 0) file->pMethods->xUnlock(file, SQLITE_LOCK_SHARED);
}

sqlite3_destructor_type logsync_sqlite_transient(void) {
    return SQLITE_TRANSIENT;
}

int logsync_leave_out_memory_statistics(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

int logsync_synchronize_log(sqlite3 *db) {
    sqlite3_file *file = 0;
    int code = sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
    if (code != SQLITE_OK || file == 0 || file->pMethods == 0) return code;
    return file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
}
