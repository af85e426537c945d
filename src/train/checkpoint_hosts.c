/* Checkpoints of a run of several ranks, on hosts which may share a folder or not. All ranks call these at the same
 * place.
 *  - Which checkpoint a group goes on from that was started again: rank 0 of the group before noted its checkpoints on
 *    its own host, where other ranks may be now; so all say what they see, and the furthest counts.
 *  - Where a host does not have the file, it gets it from one that has: the bytes go once to each host, into an unnamed
 *    file of the first rank there, which the others reach through /proc; nothing is left behind.
 *  - Also on one host a path may name one file when a rank opens it and the next when another does, as a run that still
 *    goes on, or is dying, replaces it: what they have open is compared, and all go on from the furthest. */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/private_file.h"
#include "coll/coll.h"
#include "dist/restart.h"
#include "train/checkpoint.h"

enum { PIECE = 4 << 20, HOST_BYTES = 64 };

static bool several_hosts(void) {
    const world *w = world_get();
    return w->size > 1 && w->local_size < w->size;
}

/* How far the checkpoint is; -1 where it cannot be read. */
static int64_t step_in(const st_file *f) {
    int64_t step;
    const char *text = f ? st_get_meta(f, "global_step") : NULL;
    if (!f) return -1;
    if (!text) return 0; /* weights alone */
    return parse_i64(text, &step) ? step : -1;
}

static int64_t step_of(const char *path) {
    st_file *f = NULL;
    xt_status_free(st_open(path, &f));
    int64_t step = step_in(f);
    st_close(f);
    return step;
}

/* --- which --- */

typedef struct noted {
    int64_t step; /* -1: nothing is noted that can be read */
    char path[PATH_MAX];
} noted;

static noted own_note(void) {
    char *points[RESTART_POINTS];
    noted best = {.step = -1};
    restart_points(points);
    for (int i = 0; i < RESTART_POINTS; i++) {
        int64_t step = points[i] ? step_of(points[i]) : -1;
        if (step > best.step) {
            best.step = step;
            snprintf(best.path, sizeof best.path, "%s", points[i]);
        }
        base_free(points[i]);
    }
    return best;
}

xt_status checkpoint_restart_point(char **out) {
    char *points[RESTART_POINTS];
    *out = NULL;
    if (xt_restarts() == 0) return NULL;
    if (!several_hosts()) {
        restart_points(points);
        *out = points[0] ? points[0] : points[1];
        if (*out != points[1]) base_free(points[1]);
        return NULL;
    }
    size_t ranks = (size_t)world_get()->size;
    noted *all = base_calloc(ranks + 1, sizeof *all);
    coll_group *g;
    if (!all) return status_oom(ranks * sizeof *all, "checkpoints of all hosts");
    all[ranks] = own_note();
    xt_status s = coll_run_group(&g);
    if (!s) s = coll_all_gather(g, &all[ranks], sizeof *all, all);
    size_t best = 0;
    for (size_t r = 1; r < ranks && !s; r++)
        if (all[r].step > all[best].step) best = r;
    if (!s && all[best].step >= 0 && !(*out = base_strdup(all[best].path))) s = status_oom(PATH_MAX, "a checkpoint");
    base_free(all);
    return s;
}

/* --- bringing it to all hosts --- */

typedef struct seen { /* what a rank says of the file */
    int64_t step; /* -1: it does not have it */
    hash128 header;
    uint64_t bytes;
    char host[HOST_BYTES];
    int pid, fd; /* of the copy that this rank holds for its host; fd -1: none */
    int local_rank;
} seen;

static seen look(const st_file *f) {
    struct stat st;
    seen own = {.step = step_in(f), .fd = -1, .local_rank = world_get()->local_rank};
    if (f) own.header = st_header(f);
    if (f && fstat(st_descriptor(f), &st) == 0) own.bytes = (uint64_t)st.st_size;
    gethostname(own.host, sizeof own.host - 1);
    return own;
}

static bool same_file(const seen *a, const seen *b) {
    return a->step >= 0 && b->step >= 0 && a->bytes == b->bytes && hash_equal(a->header, b->header);
}

/* In TMPDIR, unnamed; where its file system knows no such files, in memory. */
static int unnamed_file(void) {
    const char *dir = getenv("TMPDIR");
    file_keep_standard();
    int fd = open(dir && *dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return fd >= 0 ? fd : memfd_create("xtrain-checkpoint", MFD_CLOEXEC);
}

typedef struct piece {
    int64_t n; /* < 0: the source cannot go on */
    char bytes[PIECE];
} piece;

/* fd: where it goes, -1: this rank only passes it on. A write that fails is kept until all has passed: others go on. */
static xt_status pass_pieces(coll_group *g, int source, int from, int fd, uint64_t bytes, piece *p) {
    xt_status late = NULL;
    for (uint64_t at = 0; at < bytes; at += (uint64_t)p->n) {
        uint64_t want = bytes - at < PIECE ? bytes - at : PIECE;
        if (coll_rank(g) == source) p->n = pread(from, p->bytes, want, (off_t)at) == (ssize_t)want ? (int64_t)want : -1;
        xt_status s = coll_broadcast(g, source, p, sizeof *p);
        if (!s && p->n <= 0) s = status_new(XT_DATA_LOSS, NULL, "rank %d could not read it to the end", source);
        if (s) {
            xt_status_free(late);
            return s;
        }
        if (fd >= 0 && !late && pwrite(fd, p->bytes, (size_t)p->n, (off_t)at) != (ssize_t)p->n)
            late = status_errno("writing the copy of a checkpoint to", "TMPDIR");
    }
    return late;
}

/* A rank of that host has it: the source's file, or a copy. */
static const seen *holder_on(const seen *all, int ranks, const char *host, int source) {
    for (int r = 0; r < ranks; r++)
        if (strcmp(all[r].host, host) == 0 && (all[r].fd >= 0 || same_file(&all[r], &all[source]))) return &all[r];
    return NULL;
}

/* One of each host that has none; every rank passes the bytes on. */
static xt_status copy_to_hosts(coll_group *g, int source, const checkpoint_source *c, const seen *all, int *out_fd) {
    bool some = false;
    const seen *own = &all[coll_rank(g)];
    *out_fd = -1;
    for (int r = 0; r < coll_size(g); r++) some = some || !holder_on(all, coll_size(g), all[r].host, source);
    if (!some) return NULL;
    piece *p = base_malloc(sizeof *p);
    int from = coll_rank(g) == source ? st_descriptor(c->f) : -1;
    if (own->local_rank == 0 && !holder_on(all, coll_size(g), own->host, source)) *out_fd = unnamed_file();
    if (p) memset(p, 0, sizeof *p);
    xt_status s = p ? pass_pieces(g, source, from, *out_fd, all[source].bytes, p) : status_oom(sizeof *p, c->path);
    base_free(p);
    return s;
}

/* What a rank of this host holds, by a descriptor of our own. */
static int open_held(const seen *all, int ranks, const seen *own, int source) {
    const seen *holder = holder_on(all, ranks, own->host, source);
    char path[64];
    int fd = -1;
    if (!holder || holder->fd < 0) return -1;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", holder->pid, holder->fd);
    xt_status_free(file_open_input(path, false, &fd, NULL));
    return fd;
}

static xt_status spread(coll_group *g, int source, checkpoint_source *c, seen *all) {
    int held = -1;
    seen own = all[coll_rank(g)];
    bool has = same_file(&own, &all[source]);
    xt_status s = copy_to_hosts(g, source, c, all, &held);
    own.pid = getpid();
    own.fd = s ? -1 : has ? st_descriptor(c->f) : held;
    xt_status told = coll_all_gather(g, &own, sizeof own, all);
    if (!s && !told && !has) {
        int fd = open_held(all, coll_size(g), &own, source);
        st_close(c->f);
        c->f = NULL;
        s = fd < 0 ? status_new(XT_UNAVAILABLE, NULL, "rank %d's copy of %s cannot be opened on host %s", source,
                                c->path, own.host)
                   : st_open_fd(fd, c->path, &c->f);
    }
    if (!told) told = coll_barrier(g, 0, "all ranks have the checkpoint");
    if (held >= 0) close(held); /* those that read it have descriptors of their own */
    if (told) {
        xt_status_free(s);
        return told;
    }
    return s;
}

static int find_source(const seen *all, int ranks) {
    int best = 0;
    for (int r = 1; r < ranks; r++)
        if (all[r].step > all[best].step) best = r;
    return best;
}

static xt_status look_everywhere(coll_group *g, checkpoint_source *c, seen *all, bool *out_passed) {
    int ranks = coll_size(g), lacking = 0, last = 0;
    seen own = look(c->f);
    XT_TRY(coll_all_gather(g, &own, sizeof own, all));
    int source = find_source(all, ranks);
    for (int r = 0; r < ranks; r++)
        if (!same_file(&all[r], &all[source])) {
            lacking++;
            last = r;
        }
    if (!lacking || all[source].step < 0) return NULL; /* all have it; or nobody, which opening it has told */
    if (coll_rank(g) == 0)
        log_msg(XT_SEV_INFO, "%d of %d ranks do not have %s (rank %d on host %s%s); rank %d on host %s passes it on",
                lacking, ranks, c->path, last, all[last].host, all[last].step < 0 ? "" : " has another of that name",
                source, all[source].host);
    *out_passed = true;
    return spread(g, source, c, all);
}

xt_status checkpoint_source_open(checkpoint_source *c) {
    size_t ranks = (size_t)world_get()->size;
    xt_status own = st_open(c->path, &c->f);
    if (ranks <= 1) return own;
    bool passed = false;
    coll_group *g;
    seen *all = base_calloc(ranks, sizeof *all);
    xt_status s = all ? coll_run_group(&g) : status_oom(ranks * sizeof *all, c->path);
    if (!s) s = look_everywhere(g, c, all, &passed);
    base_free(all);
    if (!s && !passed) return own;
    xt_status_free(own);
    return s ? status_context(s, "%s", c->path) : NULL;
}

void checkpoint_source_close(checkpoint_source *c) {
    st_close(c->f);
    base_free(c->path);
    *c = (checkpoint_source){0};
}
