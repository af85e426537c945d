/* Plain data parallel training: every rank holds a copy of the network. They begin with the values of rank 0, and can
 * be compared from time to time. Both exchange one hash a tensor; only what differs is sent. Buffers begin alike too,
 * but those that steps change (running statistics of batch norm, which the forward pass before the first step has moved
 * already) are each rank's own, and so are those of a run that goes on from a checkpoint. */
#include "lazy/mesh/mesh.h"
#include "optim/optim.h"

typedef struct copies {
    size_t n;
    xt_tensor *states;
    const char **names;
    hash128 *hashes; /* [ranks, n] */
} copies;

static void copies_free(copies *c) {
    base_free(c->states);
    base_free(c->names);
    base_free(c->hashes);
}

/* Buffers: of those that are no rank's own. */
static xt_status copies_read(const char *what, const xt_optimizer *o, bool buffers, copies *c) {
    size_t room = (size_t)xt_module_tensors(o->net) + 1, ranks = (size_t)world_get()->size;
    *c = (copies){0, base_calloc(room, sizeof *c->states), base_calloc(room, sizeof *c->names),
                  base_calloc(room * ranks, sizeof *c->hashes)};
    if (!c->states || !c->names || !c->hashes) return status_oom(room * ranks * sizeof *c->hashes, "comparing ranks");
    for (int i = 0; i < xt_module_tensors(o->net); i++) {
        if (!xt_module_tensor_is_param(o->net, i) && (!buffers || lazy_state_own(xt_module_tensor(o->net, i))))
            continue;
        c->states[c->n] = xt_module_tensor(o->net, i);
        c->names[c->n++] = xt_module_tensor_name(o->net, i);
    }
    return lazy_replicas_compare(what, c->n, c->states, c->names, c->hashes);
}

static bool differs(const copies *c, size_t i, int rank) {
    return !hash_equal(c->hashes[(size_t)rank * c->n + i], c->hashes[i]);
}

static bool differs_anywhere(const copies *c, size_t i) {
    for (int r = 1; r < world_get()->size; r++)
        if (differs(c, i, r)) return true;
    return false;
}

static bool has_copies(void) {
    return world_get()->size > 1 && !lazy_spmd();
}

bool replicas_begin(const xt_src *src, const char *what, xt_optimizer *o) {
    copies c = {0};
    if (o->replicated || !has_copies()) return true;
    size_t n = 0;
    const char *first = NULL;
    xt_status s = lazy_shards_agree();
    if (!s) s = copies_read(what, o, o->updater.steps == 0, &c);
    for (size_t i = 0; i < c.n && !s; i++) {
        if (!differs_anywhere(&c, i)) continue;
        if (n++ == 0) first = c.names[i];
        s = lazy_replicas_take(c.states[i], c.names[i]);
    }
    if (n && !s && world_get()->rank == 0)
        log_msg(XT_SEV_INFO,
                "%zu of %zu parameters and buffers (first: %s) began with other values on other ranks than on rank 0; "
                "all ranks now have those of rank 0",
                n, c.n, first);
    o->replicated = !s;
    copies_free(&c);
    if (s) lazy_fail(status_at(s, src));
    return !s;
}

/* "0, 2": the ranks that have rank 0's value of it (same), or have not. */
static void list_ranks(const copies *c, size_t i, bool same, str *out) {
    const char *sep = "";
    for (int r = 0; r < world_get()->size; r++) {
        if (differs(c, i, r) == same) continue;
        str_printf(out, "%s%d", sep, r);
        sep = ", ";
    }
}

bool replicas_check(const xt_src *src, xt_optimizer *o) {
    copies c = {0};
    if (o->check_every <= 0 || o->updater.steps == 0 || o->updater.steps % o->check_every || !has_copies()) return true;
    size_t n = 0, first = 0;
    xt_status s = copies_read("xt_optimizer_check_replicas", o, false, &c);
    for (size_t i = c.n; i-- > 0 && !s;)
        if (differs_anywhere(&c, i)) n++, first = i;
    if (n) {
        str same = STR_INIT, other = STR_INIT;
        list_ranks(&c, first, true, &same);
        list_ranks(&c, first, false, &other);
        s = status_new(XT_FAILED_PRECONDITION, NULL,
                       "replicas differ after step %lld: %s has one value on rank %s and another on rank %s; %zu of "
                       "%zu parameters differ. Was a parameter written, or a rank's loss or "
                       "optimizer chosen, by rank?",
                       (long long)o->updater.steps, c.names[first], str_cstr(&same), str_cstr(&other), n, c.n);
        o->check_every = 0;
        str_free(&same);
        str_free(&other);
    }
    copies_free(&c);
    if (s) lazy_fail(status_at(s, src));
    return !s;
}

void xt_optimizer_check_replicas_at(const xt_src *src, xt_optimizer *o, int64_t every) {
    SRC_CALLED_FROM(src);
    if (!o) return;
    if (every < 0)
        lazy_fail(status_new(XT_INVALID_ARGUMENT, NULL,
                             "xt_optimizer_check_replicas: every %lld steps; 0 (never) or more is needed",
                             (long long)every));
    else
        o->check_every = every;
}

void xt_optimizer_bucket_at(const xt_src *src, xt_optimizer *o, int64_t bytes) {
    SRC_CALLED_FROM(src);
    if (!o) return;
    if (bytes < 0)
        lazy_fail(status_new(XT_INVALID_ARGUMENT, NULL,
                             "xt_optimizer_bucket: %lld bytes; 0 (the default, %d) or more are needed",
                             (long long)bytes, OPTIM_BUCKET_BYTES));
    else
        o->bucket_bytes = bytes;
}
