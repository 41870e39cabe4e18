#ifndef LOGSYNC_TEST_PROCESS_H
#define LOGSYNC_TEST_PROCESS_H

/// Nothing to call: what a process of tests needs before SQLite is first used is done when it is loaded.

#endif
