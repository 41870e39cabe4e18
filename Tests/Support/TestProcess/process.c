#include "CLogSyncSQLite.h"
#include "TestProcess.h"

/* The tool does so as well. Many tests run at once in a process, and waited for each other at every allocation of SQLite. */
__attribute__((constructor)) static void leave_out_memory_statistics(void) {
    logsync_leave_out_memory_statistics();
}
