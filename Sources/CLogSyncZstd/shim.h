#ifndef LOGSYNC_CZSTD_H
#define LOGSYNC_CZSTD_H

#include <zstd.h>
#include <zstd_errors.h>

#endif
