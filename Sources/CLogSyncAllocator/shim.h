#ifndef LOGSYNC_CALLOCATOR_H
#define LOGSYNC_CALLOCATOR_H

// NB: Swift's Glibc module leaves this header out; it may go once mallopt can be had from there.
#include <malloc.h>

#endif
