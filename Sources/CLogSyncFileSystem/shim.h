#ifndef LOGSYNC_CFILESYSTEM_H
#define LOGSYNC_CFILESYSTEM_H

// NB: Swift's Glibc module leaves this header out; it may go once statfs can be had from there.
#include <sys/vfs.h>

#endif
