/* Groups: opening by name, argument checks, one collective at a time, the failed state, and the shared-memory
 * transport's row. */
#include "coll/coll_int.h"

#include <math.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "coll/segment.h"

int64_t coll_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

double coll_default_timeout(void) {
    int64_t seconds;
    return env_int("XT_TIMEOUT", &seconds) && seconds > 0 ? (double)seconds : 300.0;
}

int64_t coll_deadline(double seconds) {
    if (!(seconds > 0)) seconds = coll_default_timeout();
    if (seconds > 1e9) seconds = 1e9; /* 30 years: INFINITY means no limit */
    return coll_now() + (int64_t)(seconds * 1e9);
}

const char *call_kind_name(unsigned kind) {
    static const char *const names[] = {"the start of the run", "barrier",   "all_reduce",
                                        "all_gather",           "broadcast", "all_to_all",
                                        "reduce_scatter",       "permute"};
    return kind < BASE_COUNT(names) ? names[kind] : "?";
}

void call_text(const call_desc *c, str *out) {
    str_append(out, call_kind_name(c->kind));
    if (c->kind == CALL_ALL_REDUCE || c->kind == CALL_REDUCE_SCATTER)
        str_printf(out, "(%s) of %s,", reduce_name((coll_op)c->op), xt_dtype_name((xt_dtype)c->dtype));
    if (c->kind == CALL_BROADCAST) str_printf(out, " from rank %u,", c->root);
    if (c->kind >= CALL_ALL_REDUCE) str_printf(out, " %llu bytes", (unsigned long long)c->bytes);
}

/* --- the row of shared memory --- */

static xt_status shm_barrier(coll_group *g, int64_t deadline, const char *what) {
    call_desc call = {.kind = CALL_BARRIER};
    return segment_step(g->state, &call, deadline, what);
}

static void shm_note(coll_group *g, const char *doing) {
    segment_note(g->state, doing);
}

static bool shm_peer_note(coll_group *g, int rank, char *out, size_t n) {
    const segment *s = g->state;
    if (rank < 0 || rank >= s->size || !n) return false;
    snprintf(out, n, "%.*s", COLL_NOTE_SIZE - 1, s->slots[rank].note);
    return out[0] != 0;
}

static void shm_leaving(coll_group *g, coll_end end, const char *how) {
    segment *s = g->state;
    segment_say_end(&s->slots[s->rank], end, how);
}

static void shm_fates(coll_group *g, str *out) {
    segment_fates(g->state, out);
}

static xt_status shm_own_among(coll_group *g, coll_group *sub, int64_t deadline) {
    size_t n = (size_t)sub->size * sizeof *sub->places;
    int *places = base_malloc(n);
    if (!places) return status_oom(n, "a group of ranks");
    memcpy(places, sub->members, n);
    return shm_among(g, sub, places, deadline);
}

static void shm_fail(coll_group *g, const char *why) {
    segment_leave(g->state, SLOT_FAILED, why);
}

static void shm_close(coll_group *g) {
    segment *s = g->state;
    if (!(g->parent ? g->parent : g)->failed) segment_leave(s, SLOT_CLOSED, NULL);
    segment_detach(s);
    base_free(s);
}

static const coll_transport shm_transport = {
    .barrier = shm_barrier,
    .put = shm_put,
    .get = shm_get,
    .advance = shm_advance,
    .all_gather = shm_all_gather,
    .broadcast = shm_broadcast,
    .all_to_all = shm_all_to_all,
    .reduce_scatter = shm_reduce_scatter,
    .permute = shm_permute,
    .among = shm_own_among,
    .note = shm_note,
    .peer_note = shm_peer_note,
    .leaving = shm_leaving,
    .fates = shm_fates,
    .fail = shm_fail,
    .close = shm_close,
};

xt_status shm_open_group(const char *name, coll_group *g, const coll_group *among, int64_t deadline) {
    segment *s = base_calloc(1, sizeof *s);
    if (!s) return status_oom(sizeof *s, "a group of ranks");
    xt_status st = segment_attach(name, g->rank, g->size, deadline, s);
    if (st) {
        base_free(s);
        return st;
    }
    if (among) {
        s->parent = among->state;
        s->places = g->places;
    }
    g->state = s;
    g->transport = &shm_transport;
    call_desc call = {.kind = CALL_JOIN};
    return segment_step(s, &call, deadline, call_kind_name(CALL_JOIN));
}

/* --- groups --- */

xt_status coll_create(int size, char **out_name) {
    *out_name = NULL;
    if (size > 1 && mpi_spans_hosts()) {
        *out_name = base_strdup("mpi:made");
        return *out_name ? NULL : status_oom(9, "the name of a group");
    }
    return shm_create(size, out_name);
}

xt_status coll_derive_name(const char *name, const char *tag, char **out_name) {
    str text = STR_INIT;
    if (name[0] == '/') { /* pid, file number and token of the maker make a word */
        str_append(&text, "of");
        for (const char *p = name + strlen("/proc"); *p; p++) str_putc(&text, *p == '/' || *p == ':' ? '-' : *p);
    } else {
        str_append(&text, name);
    }
    str_printf(&text, ".%s", tag);
    if (text.failed) {
        str_free(&text);
        return status_oom(strlen(name) + strlen(tag) + 2, "the name of a group");
    }
    *out_name = text.data;
    return NULL;
}

/* A group of one: the same code over a segment nobody else knows. */
static xt_status open_solo(coll_group *g, int64_t deadline) {
    char *name = NULL;
    XT_TRY(shm_create(1, &name));
    xt_status st = shm_open_group(name, g, NULL, deadline);
    coll_destroy(name);
    base_free(name);
    return st;
}

static xt_status open_by_name(const char *name, coll_group *g, int64_t deadline) {
    if (g->size == 1) return open_solo(g, deadline);
    if (!name || !name[0])
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "rank %d of %d has no rendezvous: XT_RENDEZVOUS is empty; start the ranks by xt_launch, "
                          "xtrain launch or mpirun, or give all of them the same word in XT_RENDEZVOUS",
                          g->rank, g->size);
    if (strncmp(name, "mpi:", 4) == 0) return mpi_open_group(name + 4, g, deadline);
    return shm_open_group(name, g, NULL, deadline);
}

xt_status group_new(int rank, int size, coll_group **out) {
    coll_group *g = base_calloc(1, sizeof *g);
    if (!g) return status_oom(sizeof *g, "a group of ranks");
    g->rank = rank;
    g->size = size;
    pthread_mutex_init(&g->lock, NULL);
    *out = g;
    return NULL;
}

xt_status coll_open(const char *name, int rank, int size, double timeout, coll_group **out) {
    *out = NULL;
    if (size < 1 || rank < 0 || rank >= size)
        return status_new(XT_INVALID_ARGUMENT, NULL, "rank %d of %d; ranks go from 0 to size - 1", rank, size);
    coll_group *g = NULL;
    XT_TRY(group_new(rank, size, &g));
    xt_status st = open_by_name(name, g, coll_deadline(timeout));
    if (!st && name && !(g->name = base_strdup(name))) st = status_oom(strlen(name), "a group of ranks");
    if (st) {
        if (g->transport) g->transport->fail(g, status_text(st));
        g->failed = g->transport ? status_clone(st) : NULL;
        coll_close(g);
        return st;
    }
    *out = g;
    return NULL;
}

xt_status coll_twin(coll_group *g, const char *tag, double timeout, coll_group **out) {
    char *name = NULL;
    XT_TRY(strncmp(g->name ? g->name : "", "mpi:", 4) == 0 ? coll_derive_name(g->name, tag, &name)
                                                           : shm_twin_name(g, tag, coll_deadline(timeout), &name));
    xt_status st = coll_open(name, g->rank, g->size, timeout, out);
    if (g->rank == 0 || st) coll_destroy(name); /* all are in, or will not come */
    base_free(name);
    return st;
}

void coll_close(coll_group *g) {
    if (!g) return;
    for (coll_group *sub = atomic_load(&g->subs), *next; sub; sub = next) {
        next = sub->next;
        coll_close(sub);
    }
    if (g->transport) g->transport->close(g);
    xt_status_free(g->failed);
    pthread_mutex_destroy(&g->lock);
    base_free(g->name);
    base_free(g->members);
    base_free(g->places);
    base_free(g);
}

/* The group whose lock, jobs, notes and failed state count. */
static coll_group *whole_of(coll_group *g) {
    return g->parent ? g->parent : g;
}

int coll_rank(const coll_group *g) {
    return g->rank;
}
int coll_size(const coll_group *g) {
    return g->size;
}
void coll_set_tag(coll_group *g, uint64_t tag) {
    g->tag = tag;
}

void coll_note(coll_group *g, const char *doing) {
    g = whole_of(g);
    char whole_words[COLL_NOTE_SIZE];
    size_t n = strlen(doing);
    if (n >= sizeof whole_words) { /* a rank that is lost is told of by this: not with half a word */
        n = sizeof whole_words - 5;
        while (n > 0 && doing[n] != ' ') n--;
        snprintf(whole_words, sizeof whole_words, "%.*s ...", (int)n, doing);
        doing = whole_words;
    }
    g->transport->note(g, doing);
}

/* Runs the jobs that were started, to `last` or all of them (NULL); without a deadline only as far as nobody has to
 * be waited for. */
static xt_status advance(coll_group *g, const coll_job *last, int64_t deadline) {
    while (g->first_job && !(last && last->done)) {
        coll_job *j = g->first_job;
        XT_TRY(g->transport->advance(g, j, deadline));
        if (!j->done) return NULL;
        g->first_job = j->next;
        if (!g->first_job) g->last_job = NULL;
    }
    return NULL;
}

/* Every collective is bracketed by these two. */
static xt_status enter(coll_group *g) {
    coll_group *w = whole_of(g);
    pthread_mutex_lock(&w->lock);
    if (g != w) g->tag = w->tag;
    if (!w->failed) return NULL;
    pthread_mutex_unlock(&w->lock);
    return status_context(status_clone(w->failed), "this group of ranks has failed before");
}

static xt_status leave(coll_group *g, xt_status st);

static xt_status enter_alone(coll_group *g) { /* what was started comes first */
    XT_TRY(enter(g));
    xt_status st = whole_of(g)->first_job ? advance(whole_of(g), NULL, coll_deadline(0)) : NULL;
    return st ? leave(g, st) : NULL;
}

static xt_status leave(coll_group *g, xt_status st) {
    coll_group *w = whole_of(g);
    if (st) {
        g->first_job = g->last_job = w->first_job = w->last_job = NULL;
        w->failed = status_clone(st);
        w->transport->fail(w, status_text(st));
        if (g != w && g->transport) g->transport->fail(g, status_text(st));
    }
    pthread_mutex_unlock(&w->lock);
    return st;
}

void group_give_up(coll_group *g, const char *why) {
    /* else a thread waits in it: the others are told all the same, and it ends as they do */
    bool idle = pthread_mutex_trylock(&g->lock) == 0;
    bool first = !idle || !g->failed;
    if (idle && first) g->failed = status_new(XT_ABORTED, NULL, "%s", why);
    if (first) g->transport->fail(g, why);
    if (idle) pthread_mutex_unlock(&g->lock);
}

xt_status coll_barrier(coll_group *g, double timeout, const char *what) {
    XT_TRY(enter_alone(g));
    return leave(g, g->transport->barrier(g, coll_deadline(timeout), what ? what : "barrier"));
}

xt_status coll_put(coll_group *g, const char *key, size_t key_size, const char *value, size_t value_size) {
    if (key_size == 0 || key_size > 4096 || value_size > COLL_VALUE_MAX)
        return status_new(
            XT_INVALID_ARGUMENT, NULL,
            "a key of %zu and a value of %zu bytes for the ranks' key-value store; at most 4096 and %zu are possible",
            key_size, value_size, COLL_VALUE_MAX);
    g = whole_of(g);
    return g->transport->put(g, key, key_size, value, value_size);
}

xt_status coll_get(coll_group *g, const char *key, size_t key_size, int timeout_ms, char **out, size_t *out_size) {
    *out = NULL;
    *out_size = 0;
    g = whole_of(g);
    return g->transport->get(g, key, key_size, coll_now() + (int64_t)timeout_ms * 1000000, out, out_size);
}

xt_status coll_start(coll_group *g, coll_op op, xt_dtype t, void *data, size_t count, coll_job *out) {
    size_t bytes;
    *out = (coll_job){.op = op, .dtype = t, .data = data, .count = count, .done = true};
    XT_TRY(reduce_check(op, t));
    if (!size_mul(count, xt_dtype_size(t), &bytes))
        return status_new(XT_INVALID_ARGUMENT, NULL, "all_reduce of %zu elements is too large", count);
    if (g->size == 1) return NULL;
    counter_add(COUNTER_collective_bytes, (int64_t)bytes);
    XT_TRY(g->parent ? enter_alone(g) : enter(g));
    if (!g->transport->advance) return leave(g, g->transport->all_reduce(g, op, t, data, count, coll_deadline(0)));
    out->done = false;
    out->tag = g->tag;
    if (g->last_job)
        g->last_job->next = out;
    else
        g->first_job = out;
    g->last_job = out;
    /* one list of started jobs is enough: that of the whole group */
    return leave(g, advance(g, NULL, g->parent ? coll_deadline(0) : 0));
}

xt_status coll_poll(coll_group *g) {
    XT_TRY(enter(g));
    return leave(g, advance(g, NULL, 0));
}

xt_status coll_finish(coll_group *g, coll_job *j) {
    if (j->done) return NULL;
    XT_TRY(enter(g));
    return leave(g, advance(g, j, coll_deadline(0)));
}

xt_status coll_all_reduce(coll_group *g, coll_op op, xt_dtype t, void *data, size_t count) {
    coll_job j;
    XT_TRY(coll_start(g, op, t, data, count, &j));
    return coll_finish(g, &j);
}

xt_status coll_all_gather(coll_group *g, const void *src, size_t bytes, void *dst) {
    counter_add(COUNTER_collective_bytes, (int64_t)bytes);
    XT_TRY(enter_alone(g));
    return leave(g, g->transport->all_gather(g, src, bytes, dst, coll_deadline(0)));
}

xt_status coll_broadcast(coll_group *g, int root, void *data, size_t bytes) {
    if (root < 0 || root >= g->size)
        return status_new(XT_INVALID_ARGUMENT, NULL, "broadcast from rank %d of %d", root, g->size);
    if (root == g->rank) counter_add(COUNTER_collective_bytes, (int64_t)bytes);
    XT_TRY(enter_alone(g));
    return leave(g, g->transport->broadcast(g, root, data, bytes, coll_deadline(0)));
}

xt_status coll_all_to_all(coll_group *g, const void *src, size_t bytes_each, void *dst) {
    counter_add(COUNTER_collective_bytes, (int64_t)bytes_each * g->size);
    XT_TRY(enter_alone(g));
    return leave(g, g->transport->all_to_all(g, src, bytes_each, dst, coll_deadline(0)));
}

xt_status coll_reduce_scatter(coll_group *g, coll_op op, xt_dtype t, const void *src, size_t count, void *dst) {
    size_t bytes;
    XT_TRY(reduce_check(op, t));
    if (!size_mul(count, xt_dtype_size(t) * (size_t)g->size, &bytes))
        return status_new(XT_INVALID_ARGUMENT, NULL, "reduce_scatter of %zu elements for each rank is too large",
                          count);
    counter_add(COUNTER_collective_bytes, (int64_t)bytes);
    XT_TRY(enter_alone(g));
    return leave(g, g->transport->reduce_scatter(g, op, t, src, count, dst, coll_deadline(0)));
}

xt_status coll_permute(coll_group *g, int to, int from, const void *src, size_t bytes, void *dst) {
    if (to >= g->size || from >= g->size)
        return status_new(XT_INVALID_ARGUMENT, NULL, "a permute to rank %d and from rank %d of %d", to, from, g->size);
    if (to >= 0) counter_add(COUNTER_collective_bytes, (int64_t)bytes);
    XT_TRY(enter_alone(g));
    return leave(g, g->transport->permute(g, to, from, src, bytes, dst, coll_deadline(0)));
}

/* --- some ranks of a group --- */

static xt_status describe_sub(coll_group *g, const int *ranks, int n, coll_group **out) {
    coll_group *sub = NULL;
    int place = -1;
    for (int i = 0; i < n; i++) {
        if (ranks[i] < 0 || ranks[i] >= g->size)
            return status_new(XT_INVALID_ARGUMENT, NULL, "a group with rank %d of %d", ranks[i], g->size);
        if (ranks[i] == g->rank) place = i;
    }
    if (place < 0)
        return status_new(XT_INVALID_ARGUMENT, NULL, "rank %d is not in the group of ranks whose collective it calls",
                          g->rank);
    XT_TRY(group_new(place, n, &sub));
    sub->parent = g;
    sub->members = base_malloc((size_t)n * sizeof *sub->members);
    if (!sub->members) {
        coll_close(sub);
        return status_oom((size_t)n * sizeof *sub->members, "a group of ranks");
    }
    memcpy(sub->members, ranks, (size_t)n * sizeof *ranks);
    sub->key = hash_bytes(ranks, (size_t)n * sizeof *ranks, (hash128){(uint64_t)n, 1}).lo;
    *out = sub;
    return NULL;
}

xt_status coll_among(coll_group *g, const int *ranks, int n, coll_group **out) {
    for (coll_group *sub = atomic_load(&g->subs); sub; sub = sub->next)
        if (sub->size == n && memcmp(sub->members, ranks, (size_t)n * sizeof *ranks) == 0) return *out = sub, NULL;
    coll_group *sub = NULL;
    XT_TRY(describe_sub(g, ranks, n, &sub));
    xt_status st = enter_alone(g);
    if (st) {
        coll_close(sub);
        return st;
    }
    st = leave(g, g->transport->among(g, sub, coll_deadline(0)));
    if (st) {
        coll_close(sub);
        return st;
    }
    sub->next = atomic_load(&g->subs);
    atomic_store(&g->subs, sub);
    *out = sub;
    return NULL;
}
