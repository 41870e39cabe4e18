// What SQLite itself takes for a recorded transaction of one row, beside a plain one: statements prepared once, by hand.
//
//     cc -O2 -o /tmp/floor Benchmarks/floor.c -lsqlite3 && /tmp/floor FOLDER
//
// The contestants take turns; a figure is the median of the rounds, a ratio the median of each round's.

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PLAIN, CAPTURED, RECORDED, WITHOUT_INDEX, WITHOUT_FACTS, KINDS };
enum { ROUNDS = 15, TURNS = 8, WRITES = 100, STATEMENTS = 16 };

static const char *names[KINDS] = {
    "plain", "captured", "what a recorded one reads and writes", "without the index of transactions",
    "and with the facts that change in the outbox's row",
};

static const char *schema =
    "CREATE TABLE item(id INTEGER PRIMARY KEY, title TEXT NOT NULL);"
    "CREATE TABLE logsync_store(key TEXT PRIMARY KEY NOT NULL, value) WITHOUT ROWID;"
    "INSERT INTO logsync_store VALUES('format', 8), ('peer', x'00112233445566778899aabbccddeeff'), ('generation', 1),"
    "    ('last_time', 1), ('latest_time', 1), ('digest', 1), ('unsynchronized', 1);"
    "CREATE TABLE logsync_peer(number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, sequence INTEGER, chain BLOB);"
    "INSERT INTO logsync_peer VALUES(1, x'00112233445566778899aabbccddeeff', 0, zeroblob(32));"
    "CREATE TABLE logsync_outbox(peer INTEGER, sequence INTEGER, chain_before BLOB, chain BLOB, byte_count INTEGER,"
    "    published INTEGER NOT NULL DEFAULT 0, bytes BLOB, PRIMARY KEY(peer, sequence)) WITHOUT ROWID;"
    "CREATE TABLE logsync_transaction(token INTEGER PRIMARY KEY, peer INTEGER, sequence INTEGER, time INTEGER,"
    "    author TEXT, context TEXT, changes TEXT, mark INTEGER, dependencies BLOB, rows BLOB);"
    "CREATE TABLE logsync_pending_2(number INTEGER PRIMARY KEY, kind INTEGER NOT NULL, row INTEGER, ms INTEGER);"
    "CREATE TABLE logsync_clock_2(row INTEGER PRIMARY KEY, identity BLOB, peer INTEGER, sequence INTEGER, time INTEGER,"
    "    digest INTEGER, digests BLOB, extra BLOB, uniques BLOB, conflict INTEGER);"
    "CREATE UNIQUE INDEX logsync_clock_2_identity ON logsync_clock_2(identity) WHERE identity IS NOT NULL;";

static const char *trigger =
    "CREATE TRIGGER logsync_insert_2 AFTER INSERT ON item BEGIN"
    "    INSERT INTO logsync_pending_2(kind, row, ms)"
    "    VALUES(1, NEW.id, CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)); END";

struct contestant {
    sqlite3 *database;
    char path[512];
    sqlite3_stmt *statements[STATEMENTS];
    int count;
};

static void fail(sqlite3 *database, const char *sql) {
    fprintf(stderr, "%s: %s\n", sqlite3_errmsg(database), sql);
    exit(1);
}

static void execute(struct contestant *of, const char *sql) {
    if (sqlite3_exec(of->database, sql, NULL, NULL, NULL) != SQLITE_OK) fail(of->database, sql);
}

static void add(struct contestant *to, const char *sql) {
    sqlite3_stmt **place = &to->statements[to->count++];
    if (sqlite3_prepare_v3(to->database, sql, -1, SQLITE_PREPARE_PERSISTENT, place, NULL) != SQLITE_OK)
        fail(to->database, sql);
}

static void transaction(struct contestant *of) {
    for (int index = 0; index < of->count; index++) {
        int code;
        while ((code = sqlite3_step(of->statements[index])) == SQLITE_ROW) {}
        if (code != SQLITE_DONE) fail(of->database, sqlite3_sql(of->statements[index]));
        sqlite3_reset(of->statements[index]);
    }
}

static void open_contestant(struct contestant *of, int kind, const char *folder) {
    snprintf(of->path, sizeof of->path, "%s/floor-%d.db", folder, kind);
    if (fopen(of->path, "wx") == NULL || sqlite3_open(of->path, &of->database) != SQLITE_OK) {
        fprintf(stderr, "%s is there already, or cannot be made\n", of->path);
        exit(1);
    }
    execute(of, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    execute(of, schema);
    if (kind == RECORDED)
        execute(of, "CREATE UNIQUE INDEX logsync_transaction_dot ON logsync_transaction(peer, sequence)");
    if (kind >= CAPTURED) execute(of, trigger);
    add(of, "BEGIN IMMEDIATE");
    add(of, "INSERT INTO item(title) VALUES('Pears, and what there is to say of them')");
    if (kind >= RECORDED) {
        add(of, "SELECT (SELECT value FROM logsync_store WHERE key = 'format'),"
                " (SELECT value FROM logsync_store WHERE key = 'generation'),"
                " (SELECT value FROM logsync_store WHERE key = 'unsynchronized'),"
                " (SELECT sequence FROM logsync_peer WHERE id = (SELECT value FROM logsync_store WHERE key = 'peer'))");
        add(of, "SELECT (SELECT max(number) FROM logsync_pending_2), (SELECT max(row) FROM logsync_clock_2)");
        add(of, "SELECT p.number, p.kind, p.row, p.ms, t.title FROM logsync_pending_2 AS p"
                " LEFT JOIN item AS t ON t.id = p.row ORDER BY p.number");
        add(of, "INSERT INTO logsync_clock_2(row, identity, peer, sequence, time, digest, digests)"
                " SELECT max(id), randomblob(16), 1, max(id), 1700000000000, 12345678901234, zeroblob(8) FROM item");
        add(of, "DELETE FROM logsync_pending_2 WHERE number < 1000000000");
        add(of, "INSERT INTO logsync_outbox(peer, sequence, chain_before, chain, byte_count, bytes)"
                " SELECT 1, max(id), randomblob(32), randomblob(32), 150, randomblob(150) FROM item");
        add(of, "INSERT INTO logsync_transaction(token, peer, sequence, time, author, changes, mark, rows)"
                " SELECT max(id), 1, max(id), 1700000000000, 'ann', '{\"item\":[1,0,0]}', 123456, zeroblob(20) FROM item");
    }
    if (kind == RECORDED || kind == WITHOUT_INDEX) {
        add(of, "UPDATE logsync_peer SET sequence = sequence + 1, chain = randomblob(32) WHERE number = 1");
        add(of, "INSERT OR REPLACE INTO logsync_store(key, value) VALUES('generation', random()),"
                " ('last_time', random()), ('latest_time', random()), ('digest', random())");
    }
    add(of, "COMMIT");
    // What is made once is made.
    for (int write = 0; write < WRITES; write++) transaction(of);
}

/// How many pages a commit writes into the log.
static double pages(struct contestant *of) {
    execute(of, "PRAGMA wal_checkpoint(TRUNCATE)");
    for (int write = 0; write < WRITES; write++) transaction(of);
    char log[600];
    snprintf(log, sizeof log, "%s-wal", of->path);
    FILE *file = fopen(log, "r");
    if (file == NULL) exit(1);
    fseek(file, 0, SEEK_END);
    double frames = (double)((ftell(file) - 32) / (4096 + 24));
    fclose(file);
    return frames / WRITES;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *values) {
    qsort(values, ROUNDS, sizeof values[0], compare);
    return values[ROUNDS / 2];
}

int main(int count, char **arguments) {
    static struct contestant contestants[KINDS];
    static double costs[KINDS][ROUNDS], ratios[KINDS][ROUNDS];
    if (count != 2) return 64;
    for (int kind = 0; kind < KINDS; kind++) open_contestant(&contestants[kind], kind, arguments[1]);
    for (int round = 0; round < ROUNDS; round++) {
        for (int turn = 0; turn < TURNS; turn++) {
            for (int place = 0; place < KINDS; place++) {
                int kind = (place + turn) % KINDS;
                double start = now();
                for (int write = 0; write < WRITES; write++) transaction(&contestants[kind]);
                costs[kind][round] += (now() - start) / (TURNS * WRITES);
            }
        }
        for (int kind = 0; kind < KINDS; kind++) ratios[kind][round] = costs[kind][round] / costs[PLAIN][round];
    }
    for (int kind = 0; kind < KINDS; kind++)
        printf("%-52s %6.1f us of CPU, %5.2f to plain, %4.1f pages\n", names[kind], median(costs[kind]),
               median(ratios[kind]), pages(&contestants[kind]));
    return 0;
}
