/* Files of states that ranks without a mesh each have whole, and save under one path: the file is rank 0's. Nobody
 * needs to come: rank 0 alone may save, another rank alone too, and each under a path of its own. So rank 0 leaves a
 * note of its saves of a path, and another rank that sees one of as many or more writes nothing, and waits until rank
 * 0's file is there. One that comes first writes, and rank 0's takes that file's place: a writer leaves a note too,
 * before it looks at rank 0's, and looks again before its file gets its name; rank 0 leaves its own, and waits before
 * it gives the name until no writer is at it. So one of the two sees the other.
 *
 * Rank 0's note: "NUMBER begins", then "NUMBER ends" or "NUMBER failed: WHY"; another's, by its rank: "writes", then
 * "not". */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "coll/coll.h"
#include "lazy/mesh/mesh.h"

static struct {
    pthread_mutex_t lock;
    map *saves; /* path -> how often this rank has saved it */
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* 0 without memory: then it is as if this rank saved alone. */
static int64_t count(const char *path) {
    pthread_mutex_lock(&known.lock);
    if (!known.saves) known.saves = map_new();
    intptr_t n = known.saves ? (intptr_t)map_get(known.saves, path, strlen(path)) + 1 : 0;
    if (n && !map_put(known.saves, path, strlen(path), (void *)n, NULL)) n = 0;
    pthread_mutex_unlock(&known.lock);
    return n;
}

static void note(const lazy_save *s, const char *what) {
    char text[400];
    snprintf(text, sizeof text, "%lld %s", (long long)s->number, what);
    lazy_ranks_note(s->key, text);
}

static void key_of(const lazy_save *s, int rank, char out[static 64]) {
    snprintf(out, 64, "%s/%d", s->key, rank);
}

static void note_writing(const lazy_save *s, const char *what) {
    char key[64];
    key_of(s, world_get()->rank, key);
    lazy_ranks_note(key, what);
}

static void rest(void) {
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

static int64_t limit(void) {
    return clock_ns() + (int64_t)(coll_default_timeout() * 1e9);
}

static void wait_for_writers(const lazy_save *s) {
    int64_t deadline = limit();
    for (int r = 1; r < world_get()->size; r++) {
        char key[64], text[16];
        key_of(s, r, key);
        while (lazy_ranks_look(key, text, sizeof text) && strcmp(text, "writes") == 0 && clock_ns() < deadline) rest();
    }
}

/* Rank 0's newest save of the path, if it is this one or a later one; *out_what: how far it is. */
static bool rank_0_is_there(const lazy_save *s, char *text, size_t n, const char **out_what) {
    char *end;
    if (!lazy_ranks_look(s->key, text, n) || strtoll(text, &end, 10) < s->number) return false;
    *out_what = end + 1;
    return true;
}

lazy_save lazy_save_begin(const char *path) {
    lazy_save s = {.path = path};
    char hex[33];
    if (world_get()->size < 2 || lazy_spmd()) return s;
    hash_hex(hash_bytes(path, strlen(path), (hash128){0}), hex);
    snprintf(s.key, sizeof s.key, "save/%s", hex);
    s.number = count(path);
    if (s.number && world_get()->rank == 0)
        note(&s, "begins");
    else if (s.number)
        note_writing(&s, "writes");
    return s;
}

bool lazy_save_is_rank_0s(const lazy_save *s, bool last, xt_status *out) {
    char text[400];
    const char *what;
    *out = NULL;
    if (s->number && world_get()->rank == 0 && last) wait_for_writers(s);
    if (!s->number || world_get()->rank == 0 || !rank_0_is_there(s, text, sizeof text, &what)) return false;
    note_writing(s, "not");
    int64_t deadline = limit();
    while (strcmp(what, "begins") == 0 && clock_ns() < deadline) {
        rest();
        if (!rank_0_is_there(s, text, sizeof text, &what)) what = "failed: it has left the run";
    }
    if (strcmp(what, "begins") == 0) what = "has not come to its end by the time limit (XT_TIMEOUT)";
    if (strcmp(what, "ends") != 0)
        *out = status_new(XT_ABORTED, NULL, "saving %s, which rank 0 writes: it %s", s->path, what);
    return true;
}

xt_status lazy_save_end(const lazy_save *s, xt_status e) {
    char what[360] = "ends";
    if (!s->number) return e;
    if (world_get()->rank != 0) {
        note_writing(s, "not");
        return e;
    }
    if (e) snprintf(what, sizeof what, "failed: %s", status_message(e));
    note(s, what);
    return e;
}
