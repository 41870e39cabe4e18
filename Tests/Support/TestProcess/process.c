#include "TestProcess.h"

#include <sqlite3.h>

/* The tool does so as well. Many tests run at once in a process, and waited for each other at every allocation of SQLite. */
__attribute__((constructor)) static void leave_out_memory_statistics(void) {
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}
