/* States that every rank holds whole (data parallel training without a mesh): comparing them by hash, and
 * giving all ranks the value of rank 0. Every rank calls these at the same place; they wait for the step before
 * and for each other. */
#include <stdlib.h>

#include "coll/coll.h"
#include "lazy/mesh/mesh.h"
#include "lazy/core/ctx.h"
#include "lazy/program/program.h"

typedef struct network { /* what must be equal before values can be compared */
    uint64_t text; /* bytes of what say_network says */
    hash128 hash;
} network;

/* "fc1.weight 50x320", a line a parameter or buffer. */
static xt_status say_network(size_t n, const xt_tensor *states, const char *const *names, str *out) {
    for (size_t i = 0; i < n; i++) {
        const ir_type *t = lazy_type(states[i]);
        str_printf(out, "%s", names[i]);
        if (t) str_printf(out, " %s", xt_dtype_name(t->dtype));
        for (uint32_t k = 0; t && k < t->rank; k++) str_printf(out, "%s%lld", k ? "x" : " ", (long long)t->dims[k]);
        str_putc(out, '\n');
    }
    return out->failed ? status_oom(n * 32, "comparing ranks") : NULL;
}

static void say_line(const char *line, const char *end, str *out) {
    if (line >= end)
        str_append(out, "nothing more");
    else
        str_appendn(out, line, (size_t)((const char *)memchr(line, '\n', (size_t)(end - line)) - line));
}

/* The first line in which two networks differ, of both. */
static xt_status other_network(const char *what, int r, const char *a, size_t n_a, const char *b, size_t n_b) {
    size_t n = n_a < n_b ? n_a : n_b, i = 0, line = 0;
    for (; i < n && a[i] == b[i]; i++)
        if (a[i] == '\n') line = i + 1;
    str text = STR_INIT;
    str_append(&text, "rank 0 has ");
    say_line(a + line, a + n_a, &text);
    str_printf(&text, ", rank %d has ", r);
    say_line(b + line, b + n_b, &text);
    xt_status s = status_new(
        XT_FAILED_PRECONDITION, NULL,
        "%s: rank %d has another network than rank 0; first difference: %s; every rank must build the same one", what,
        r, str_cstr(&text));
    str_free(&text);
    return s;
}

/* Texts of other lengths travel in room for the longest. */
static xt_status show_networks(coll_group *g, const char *what, const str *mine, const network *all, int other) {
    size_t room = 1;
    for (int r = 0; r < coll_size(g); r++) room = all[r].text > room ? (size_t)all[r].text : room;
    char *own = base_calloc(room, 1), *texts = base_calloc((size_t)coll_size(g), room);
    xt_status s = own && texts ? NULL : status_oom(room * (size_t)coll_size(g), "comparing ranks");
    if (!s && mine->len) memcpy(own, mine->data, mine->len);
    if (!s) s = coll_all_gather(g, own, room, texts);
    if (!s)
        s = other_network(what, other, texts, (size_t)all[0].text, texts + (size_t)other * room,
                          (size_t)all[other].text);
    base_free(own);
    base_free(texts);
    return s;
}

static xt_status same_network(coll_group *g, const char *what, size_t n, const xt_tensor *states,
                              const char *const *names) {
    str text = STR_INIT;
    network mine = {0}, *all = base_calloc((size_t)coll_size(g), sizeof *all);
    xt_status s =
        all ? say_network(n, states, names, &text) : status_oom((size_t)coll_size(g) * sizeof *all, "comparing ranks");
    mine.text = text.len;
    mine.hash = hash_bytes(str_cstr(&text), text.len, (hash128){n, 1});
    if (!s) s = coll_all_gather(g, &mine, sizeof mine, all);
    for (int r = 1; r < coll_size(g) && !s; r++)
        if (!hash_equal(all[r].hash, all[0].hash)) s = show_networks(g, what, &text, all, r);
    str_free(&text);
    base_free(all);
    return s;
}

static xt_status value_hash(xt_tensor t, const char *name, hash128 *out) {
    const ir_type *type = lazy_type(t);
    size_t n = type ? ir_type_bytes(type) : 0;
    void *data = base_malloc(n ? n : 1);
    xt_status s = data ? lazy_state_read(t, data, n) : status_oom(n, name);
    if (!s) *out = hash_bytes(data, n, (hash128){0});
    base_free(data);
    return s;
}

xt_status lazy_replicas_compare(const char *what, size_t n, const xt_tensor *states, const char *const *names,
                                hash128 *out_all) {
    coll_group *g;
    XT_TRY(coll_run_group(&g));
    XT_TRY(same_network(g, what, n, states, names));
    hash128 *mine = base_calloc(n + 1, sizeof *mine);
    xt_status s = mine ? NULL : status_oom(n * sizeof *mine, "comparing ranks");
    for (size_t i = 0; i < n && !s; i++) s = value_hash(states[i], names[i], &mine[i]);
    if (!s && n) s = coll_all_gather(g, mine, n * sizeof *mine, out_all);
    base_free(mine);
    return s;
}

/* What the step being recorded has read of the state is the new value as well. */
static xt_status replace(lazy_ctx *c, xt_tensor t, void *data) {
    lazy_slot *s = lazy_slot_of(c, t);
    lazy_buf *old = s->buf;
    lazy_host_drop(s);
    s->host = data;
    s->has_host = true;
    s->buf = NULL;
    if (!old) return NULL;
    xt_status e = lazy_upload_state(c, s);
    if (e) {
        s->buf = old;
        return e;
    }
    for (size_t k = 0; k < c->n_leaves; k++) {
        lazy_leaf *leaf = &c->leaves[k];
        if (leaf->buf != old || leaf->slot != t.slot || leaf->generation != t.generation) continue;
        lazy_buf_release(leaf->buf);
        lazy_buf_retain(s->buf);
        leaf->buf = s->buf;
    }
    lazy_buf_release(old);
    return NULL;
}

xt_status lazy_replicas_take(xt_tensor state, const char *name) {
    coll_group *g;
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, state) : NULL;
    if (!s || s->failed) return status_new(XT_INVALID_ARGUMENT, NULL, "%s is gone", name);
    XT_TRY(coll_run_group(&g));
    size_t n = ir_type_bytes(s->type);
    void *data = base_malloc(n ? n : 1);
    xt_status e = data ? lazy_state_read(state, data, n) : status_oom(n, name);
    if (!e) e = coll_broadcast(g, 0, data, n);
    if (!e && world_get()->rank != 0) return replace(c, state, data);
    base_free(data);
    return e;
}

xt_status lazy_ranks_gather(const void *own, size_t n, char **out_all) {
    coll_group *g;
    *out_all = NULL;
    XT_TRY(coll_run_group(&g));
    char *all = base_calloc((size_t)coll_size(g), n);
    xt_status s = all ? coll_all_gather(g, own, n, all) : status_oom((size_t)coll_size(g) * n, "comparing ranks");
    if (s) base_free(all);
    if (!s) *out_all = all;
    return s;
}

void lazy_ranks_note(const char *key, const char *text) {
    coll_group *g;
    xt_status s = coll_run_group(&g);
    if (!s) s = coll_put(g, key, strlen(key), text, strlen(text));
    xt_status_free(s); /* a lost rank is told where it is waited for */
}

bool lazy_ranks_look(const char *key, char *out, size_t n) {
    coll_group *g;
    char *text = NULL;
    size_t got = 0;
    xt_status s = coll_run_group(&g);
    if (!s) s = coll_get(g, key, strlen(key), 0, &text, &got);
    if (!s) snprintf(out, n, "%.*s", (int)got, text);
    base_free(text);
    bool there = !s;
    xt_status_free(s);
    return there;
}

bool lazy_state_own(xt_tensor state) {
    lazy_ctx *c = lazy_ctx_get();
    const lazy_slot *s = c ? lazy_slot_of(c, state) : NULL;
    return s && s->own;
}

void lazy_state_set_own(xt_tensor state) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_slot *s = c ? lazy_slot_of(c, state) : NULL;
    if (s) s->own = true;
}

/* "train.c:8, in step 4", as the rank's note says; a rank that cannot be seen is nowhere. */
static void place_of(int rank, char *out, size_t n) {
    char note[400];
    bool seen = coll_run_last_note(rank, note, sizeof note);
    const char *step = seen ? strstr(note, "step ") : NULL, *end = seen ? strchr(note, ' ') : NULL;
    if (step && end && end < step)
        snprintf(out, n, "%.*s, in step %lld", (int)(end - note), note, strtoll(step + strlen("step "), NULL, 10));
    else
        snprintf(out, n, "at a place that cannot be seen");
}

int64_t lazy_rank_sequence(void) {
    return lazy_rank_check_started();
}

bool lazy_rank_is_past(int rank, int64_t sequence, char *out_there, size_t n) {
    char note[400];
    const char *p = coll_run_last_note(rank, note, sizeof note) ? strstr(note, "sequence ") : NULL;
    if (!p || strtoll(p + strlen("sequence "), NULL, 10) <= sequence) return false;
    place_of(rank, out_there, n);
    return true;
}

bool lazy_rank_goes_on(int rank, char *out_there, char *out_here, size_t n) {
    if (!lazy_rank_is_past(rank, lazy_rank_check_started(), out_there, n)) return false;
    place_of(world_get()->rank, out_here, n);
    return true;
}
