#include "CLogSyncSQLite.h"

static int count;
static char **arguments;

/// NB: glibc hands the arguments to constructors, too. Swift reads them from /proc/self/cmdline, and has none where /proc is
/// not mounted. May go when `CommandLine.arguments` does without.
__attribute__((constructor)) static void keep_arguments(int argc, char **argv) {
    count = argc;
    arguments = argv;
}

int logsync_argument_count(void) {
    return count;
}

const char *logsync_argument(int index) {
    return index < count ? arguments[index] : 0;
}
