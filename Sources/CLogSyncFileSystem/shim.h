#ifndef LOGSYNC_CFILESYSTEM_H
#define LOGSYNC_CFILESYSTEM_H

// NB: Swift's Glibc module leaves this header out; it may go once fstatfs can be had from there.
#include <sys/vfs.h>

// NB: nor has it O_PATH, which glibc shows to GNU sources only.
#include <fcntl.h>
static const int LOGSYNC_O_PATH = __O_PATH;

#endif
