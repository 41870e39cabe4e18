#ifndef LOGSYNC_CINOTIFYTOOLS_H
#define LOGSYNC_CINOTIFYTOOLS_H

// NB: <sys/inotify.h> has to come first, or the library's header brings its own, conflicting, event struct.
#include <sys/inotify.h>
#include <inotifytools/inotifytools.h>
#include <inotifytools/inotify.h>

#endif
