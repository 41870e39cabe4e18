#include "SimulationVFS.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// Milliseconds from the Julian day's beginning to 1970.
static const int64_t unixEpoch = 210866760000000LL;

static sqlite3_vfs *base;
static sqlite3_vfs shim;
static int64_t now;
static uint64_t randomState;

static int isArmed;
static int64_t changesMade;
static int64_t changesAllowed;
static int extentOfLast;
static char *changeKinds;
static int64_t changeKindsLength;
static int isDead;

// MARK: What a power cut undoes

typedef struct Unsynced {
    struct Unsynced *next;
    char *path;
    int64_t offset;
    int64_t formerSize;
    int length;
    char *former;
} Unsynced;

static int tracksUnsynced;
static Unsynced *unsynced;

static void forgetUnsynced(const char *path) {
    Unsynced **link = &unsynced;
    while (*link) {
        Unsynced *entry = *link;
        if (path && strcmp(entry->path, path) != 0) {
            link = &entry->next;
            continue;
        }
        *link = entry->next;
        free(entry->path);
        free(entry->former);
        free(entry);
    }
}

// MARK: Files

typedef struct File {
    sqlite3_file base;
    char *path;
    int counts;
    sqlite3_file *real;
} File;

static File *fileOf(sqlite3_file *file) { return (File *)file; }
static sqlite3_file *realOf(sqlite3_file *file) { return fileOf(file)->real; }

static void noteChange(char kind) {
    if (changesMade >= changeKindsLength) {
        int64_t length = changeKindsLength ? changeKindsLength * 2 : 1024;
        char *longer = realloc(changeKinds, length);
        if (!longer) return;
        changeKinds = longer;
        changeKindsLength = length;
    }
    changeKinds[changesMade] = kind;
}

/// Says how much of a change is made (SIMULATION_VFS_…); afterwards the process may be dead.
static int mayChange(int counts, char kind) {
    if (isDead) return SIMULATION_VFS_NOTHING;
    if (!isArmed || !counts) return SIMULATION_VFS_WHOLE;
    noteChange(kind);
    changesMade++;
    if (changesAllowed == 0 || changesMade < changesAllowed) return SIMULATION_VFS_WHOLE;
    isDead = 1;
    return extentOfLast;
}

static void noteUnsynced(File *file, int64_t offset, int length) {
    sqlite3_int64 size = 0;
    Unsynced *entry = calloc(1, sizeof(Unsynced));
    file->real->pMethods->xFileSize(file->real, &size);
    entry->path = strdup(file->path);
    entry->offset = offset;
    entry->formerSize = size;
    entry->length = length;
    entry->former = calloc(1, length > 0 ? length : 1);
    if (length > 0) file->real->pMethods->xRead(file->real, entry->former, length, offset);
    entry->next = unsynced;
    unsynced = entry;
}

static int shimClose(sqlite3_file *file) {
    int code = realOf(file)->pMethods->xClose(realOf(file));
    free(fileOf(file)->path);
    fileOf(file)->path = NULL;
    return code;
}

static int shimRead(sqlite3_file *file, void *bytes, int length, sqlite3_int64 offset) {
    if (isDead) return SQLITE_IOERR_READ;
    return realOf(file)->pMethods->xRead(realOf(file), bytes, length, offset);
}

static int shimWrite(sqlite3_file *file, const void *bytes, int length, sqlite3_int64 offset) {
    int extent = mayChange(fileOf(file)->counts, 'w');
    if (extent == SIMULATION_VFS_NOTHING) return SQLITE_IOERR_WRITE;
    if (extent == SIMULATION_VFS_HALF) length /= 2;
    if (tracksUnsynced && fileOf(file)->counts) noteUnsynced(fileOf(file), offset, length);
    int code = realOf(file)->pMethods->xWrite(realOf(file), bytes, length, offset);
    return isDead ? SQLITE_IOERR_WRITE : code;
}

static int shimTruncate(sqlite3_file *file, sqlite3_int64 size) {
    if (mayChange(fileOf(file)->counts, 't') != SIMULATION_VFS_WHOLE) return SQLITE_IOERR_TRUNCATE;
    if (tracksUnsynced && fileOf(file)->counts) {
        sqlite3_int64 former = 0;
        realOf(file)->pMethods->xFileSize(realOf(file), &former);
        noteUnsynced(fileOf(file), size, former > size ? (int)(former - size) : 0);
    }
    int code = realOf(file)->pMethods->xTruncate(realOf(file), size);
    return isDead ? SQLITE_IOERR_TRUNCATE : code;
}

static int shimSync(sqlite3_file *file, int flags) {
    if (mayChange(fileOf(file)->counts, 's') != SIMULATION_VFS_WHOLE) return SQLITE_IOERR_FSYNC;
    if (tracksUnsynced) forgetUnsynced(fileOf(file)->path);
    int code = realOf(file)->pMethods->xSync(realOf(file), flags);
    return isDead ? SQLITE_IOERR_FSYNC : code;
}

static int shimFileSize(sqlite3_file *file, sqlite3_int64 *size) {
    if (isDead) return SQLITE_IOERR_FSTAT;
    return realOf(file)->pMethods->xFileSize(realOf(file), size);
}

static int shimLock(sqlite3_file *file, int level) {
    if (isDead) return SQLITE_IOERR_LOCK;
    return realOf(file)->pMethods->xLock(realOf(file), level);
}

// The kernel gives back a dead process's locks.
static int shimUnlock(sqlite3_file *file, int level) { return realOf(file)->pMethods->xUnlock(realOf(file), level); }

static int shimCheckReservedLock(sqlite3_file *file, int *result) {
    if (isDead) return SQLITE_IOERR_CHECKRESERVEDLOCK;
    return realOf(file)->pMethods->xCheckReservedLock(realOf(file), result);
}

static int shimFileControl(sqlite3_file *file, int operation, void *argument) {
    return realOf(file)->pMethods->xFileControl(realOf(file), operation, argument);
}

static int shimSectorSize(sqlite3_file *file) { return realOf(file)->pMethods->xSectorSize(realOf(file)); }

static int shimDeviceCharacteristics(sqlite3_file *file) {
    return realOf(file)->pMethods->xDeviceCharacteristics(realOf(file));
}

static int shimShmMap(sqlite3_file *file, int region, int size, int extend, void volatile **result) {
    if (isDead) return SQLITE_IOERR_SHMMAP;
    return realOf(file)->pMethods->xShmMap(realOf(file), region, size, extend, result);
}

static int shimShmLock(sqlite3_file *file, int offset, int count, int flags) {
    if (isDead && (flags & SQLITE_SHM_LOCK)) return SQLITE_IOERR_SHMLOCK;
    return realOf(file)->pMethods->xShmLock(realOf(file), offset, count, flags);
}

static void shimShmBarrier(sqlite3_file *file) { realOf(file)->pMethods->xShmBarrier(realOf(file)); }

static int shimShmUnmap(sqlite3_file *file, int deletes) {
    return realOf(file)->pMethods->xShmUnmap(realOf(file), isDead ? 0 : deletes);
}

static const sqlite3_io_methods methods = {
    2, shimClose, shimRead, shimWrite, shimTruncate, shimSync, shimFileSize, shimLock, shimUnlock,
    shimCheckReservedLock, shimFileControl, shimSectorSize, shimDeviceCharacteristics, shimShmMap, shimShmLock,
    shimShmBarrier, shimShmUnmap,
};

static int shimOpen(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags, int *outFlags) {
    (void)vfs;
    File *opened = fileOf(file);
    memset(opened, 0, sizeof(File));
    if (isDead) return SQLITE_CANTOPEN;
    opened->real = (sqlite3_file *)(opened + 1);
    opened->counts = name && (flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL));
    int code = base->xOpen(base, name, opened->real, flags, outFlags);
    if (opened->real->pMethods) {
        opened->path = strdup(name ? name : "");
        opened->base.pMethods = &methods;
    }
    return code;
}

static int shimDelete(sqlite3_vfs *vfs, const char *name, int syncs) {
    (void)vfs;
    if (mayChange(1, 'd') != SIMULATION_VFS_WHOLE) return SQLITE_IOERR_DELETE;
    if (tracksUnsynced) forgetUnsynced(name);
    int code = base->xDelete(base, name, syncs);
    return isDead ? SQLITE_IOERR_DELETE : code;
}

static int shimAccess(sqlite3_vfs *vfs, const char *name, int flags, int *result) {
    (void)vfs;
    if (isDead) return SQLITE_IOERR_ACCESS;
    return base->xAccess(base, name, flags, result);
}

static int shimFullPathname(sqlite3_vfs *vfs, const char *name, int length, char *result) {
    (void)vfs;
    return base->xFullPathname(base, name, length, result);
}

static int shimRandomness(sqlite3_vfs *vfs, int length, char *bytes) {
    (void)vfs;
    for (int index = 0; index < length; index++) {
        randomState = randomState * 6364136223846793005ULL + 1442695040888963407ULL;
        bytes[index] = (char)(randomState >> 56);
    }
    return length;
}

static int shimSleep(sqlite3_vfs *vfs, int microseconds) {
    (void)vfs;
    return base->xSleep(base, microseconds);
}

static int shimCurrentTime(sqlite3_vfs *vfs, double *result) {
    (void)vfs;
    *result = (double)(now + unixEpoch) / 86400000.0;
    return SQLITE_OK;
}

static int shimCurrentTimeInt64(sqlite3_vfs *vfs, sqlite3_int64 *result) {
    (void)vfs;
    *result = now + unixEpoch;
    return SQLITE_OK;
}

static int shimGetLastError(sqlite3_vfs *vfs, int length, char *text) {
    (void)vfs;
    return base->xGetLastError ? base->xGetLastError(base, length, text) : 0;
}

int simulation_vfs_register(void) {
    if (base) return SQLITE_OK;
    // One thread at a time uses a connection, and nobody asks how much memory there is: counting it takes locks.
    sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 1024, 400);
    sqlite3_initialize();
    base = sqlite3_vfs_find(NULL);
    if (!base) return SQLITE_ERROR;
    memset(&shim, 0, sizeof(shim));
    shim.iVersion = 2;
    shim.szOsFile = (int)sizeof(File) + base->szOsFile;
    shim.mxPathname = base->mxPathname;
    shim.zName = "simulation";
    shim.xOpen = shimOpen;
    shim.xDelete = shimDelete;
    shim.xAccess = shimAccess;
    shim.xFullPathname = shimFullPathname;
    shim.xDlOpen = NULL;
    shim.xRandomness = shimRandomness;
    shim.xSleep = shimSleep;
    shim.xCurrentTime = shimCurrentTime;
    shim.xGetLastError = shimGetLastError;
    shim.xCurrentTimeInt64 = shimCurrentTimeInt64;
    return sqlite3_vfs_register(&shim, 1);
}

void simulation_vfs_set_now(int64_t milliseconds) { now = milliseconds; }
void simulation_vfs_seed(uint64_t seed) {
    randomState = seed;
    // SQLite takes a seed for its own generator once; this makes it ask again.
    sqlite3_randomness(0, NULL);
}

void simulation_vfs_arm(int64_t changes, int extent) {
    isArmed = 1;
    changesMade = 0;
    changesAllowed = changes;
    extentOfLast = extent;
}

int64_t simulation_vfs_disarm(void) {
    isArmed = 0;
    return changesMade;
}

char simulation_vfs_change(int64_t index) {
    return index >= 0 && index < changesMade && index < changeKindsLength ? changeKinds[index] : 0;
}

void simulation_vfs_kill(void) { isDead = 1; }
int simulation_vfs_is_dead(void) { return isDead; }
void simulation_vfs_revive(void) { isDead = 0; }

void simulation_vfs_track_unsynced(int enabled) {
    tracksUnsynced = enabled;
    forgetUnsynced(NULL);
}

void simulation_vfs_cut_power(void) {
    for (Unsynced *entry = unsynced; entry; entry = entry->next) {
        int descriptor = open(entry->path, O_WRONLY | O_CLOEXEC);
        if (descriptor < 0) continue;
        // What cannot be undone stays written, which a power cut may do as well.
        if (entry->length > 0 && pwrite(descriptor, entry->former, entry->length, entry->offset) < 0) {}
        if (ftruncate(descriptor, entry->formerSize) != 0) {}
        close(descriptor);
    }
    forgetUnsynced(NULL);
}
