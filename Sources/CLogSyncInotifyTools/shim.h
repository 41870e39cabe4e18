#ifndef LOGSYNC_CINOTIFYTOOLS_H
#define LOGSYNC_CINOTIFYTOOLS_H

// NB: <sys/inotify.h> has to come first, or the library's header brings its own, conflicting, event struct.
#include <sys/inotify.h>
#include <inotifytools/inotifytools.h>
#include <inotifytools/inotify.h>

#include <sys/prctl.h>

// NB: Swift cannot call prctl, which is variadic, and its Glibc module lacks pthread_setname_np.
static inline void logsync_name_this_thread(const char *name) {
    prctl(PR_SET_NAME, name, 0, 0, 0);
}

#endif
