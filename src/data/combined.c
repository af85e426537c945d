/* Several loaders as one: a step takes a batch of each, or of one after the other. Where each of them stands follows
 * from the combined loader's epoch and batch alone, so a resumed run finds all of them where the unbroken one had them,
 * and what each read ahead is used as long as nobody moves it. */
#include "base/handle.h"
#include "data/loader_int.h"
#include "lazy/core/noted.h"

struct loader_combined {
    int n;
    xt_combined_mode mode;
    xt_loader **loaders;
    xt_batch *parts; /* of the newest batch */
};

xt_loader *combined_first(const xt_loader *l) {
    while (l->combined) l = l->combined->loaders[0];
    return (xt_loader *)l;
}

int loader_parts(const xt_loader *l, xt_loader *const **out) {
    bool apart = l && l->combined && l->combined->mode == XT_SEQUENTIAL;
    if (apart) *out = l->combined->loaders;
    return apart ? l->combined->n : 0;
}

void combined_each(const xt_loader *l, void (*fn)(xt_loader *part)) {
    for (int k = 0; l->combined && k < l->combined->n; k++) fn(l->combined->loaders[k]);
}

void combined_free(xt_loader *l) {
    loader_combined *c = l->combined;
    if (!c) return;
    for (int k = 0; k < c->n; k++) {
        c->loaders[k]->owned = false;
        xt_loader_free(c->loaders[k]);
    }
    base_free(c->loaders);
    base_free(c->parts);
    base_free(c);
    l->combined = NULL;
}

/* Moves a loader to this batch of its own, which need not be in its epoch `epoch` any more. One that stands there
 * already goes on with what it has read ahead. */
static void place(xt_loader *part, int64_t epoch, int64_t index) {
    epoch += index / part->batches;
    index %= part->batches;
    if (part->next >= part->batches) {
        part->next = 0;
        part->epoch++;
    }
    if (part->epoch != epoch || part->next != index) xt_loader_set_epoch(part, epoch, index);
}

static xt_status take(const xt_src *src, xt_loader *part, xt_batch *out) {
    bool end = false;
    out->index = part->next;
    out->epoch = part->epoch;
    XT_TRY(loader_fill(src, part, out, &end));
    if (end)
        return status_new(XT_OUT_OF_RANGE, src,
                          "xt_combined_loader: the stream %s ended before its batch %lld; each loader needs the number "
                          "of batches that its .limit says",
                          part->ds->name, (long long)part->next);
    part->next++;
    lazy_note_batch(part, out->size < loader_full_size(part));
    return NULL;
}

static xt_status sequential(const xt_src *src, xt_loader *l, xt_batch *out) {
    const loader_combined *c = l->combined;
    int64_t index = l->next, epoch = l->epoch;
    int k = 0;
    while (index >= c->loaders[k]->batches) index -= c->loaders[k++]->batches;
    place(c->loaders[k], epoch, index);
    XT_TRY(take(src, c->loaders[k], out));
    out->loader = k;
    out->index = l->next;
    out->epoch = epoch;
    return NULL;
}

xt_status combined_fill(const xt_src *src, xt_loader *l, xt_batch *out) {
    loader_combined *c = l->combined;
    if (c->mode == XT_SEQUENTIAL) return sequential(src, l, out);
    int64_t size = 0, tokens = 0;
    for (int k = 0; k < c->n; k++) {
        xt_loader *part = c->loaders[k];
        c->parts[k] = (xt_batch){0};
        if (c->mode == XT_MAX_SIZE && l->next >= part->batches) continue;
        int64_t passes = (l->batches + part->batches - 1) / part->batches; /* of this one in an epoch of all */
        place(part, l->epoch * passes, l->next);
        XT_TRY(take(src, part, &c->parts[k]));
        size += c->parts[k].size;
        tokens += c->parts[k].tokens;
    }
    *out = c->parts[0];
    out->size = size;
    out->tokens = tokens;
    out->index = l->next;
    out->epoch = l->epoch;
    out->parts = c->parts;
    out->n_parts = c->n;
    return NULL;
}

/* --- making --- */
static int64_t batches_of(int n, xt_loader *const *loaders, xt_combined_mode mode) {
    int64_t out = loaders[0]->batches;
    for (int k = 1; k < n; k++) {
        int64_t b = loaders[k]->batches;
        if (mode == XT_SEQUENTIAL)
            out += b;
        else if (mode == XT_MIN_SIZE ? b < out : b > out)
            out = b;
    }
    return out;
}

static xt_status check(int n, xt_loader *const *loaders, xt_combined_mode mode) {
    if (n < 1)
        return status_new(XT_INVALID_ARGUMENT, NULL, "xt_combined_loader: %d loaders; at least one is needed", n);
    for (int k = 0; k < n; k++) {
        const xt_loader *l = loaders[k];
        if (l->batches < 0)
            return status_new(
                XT_INVALID_ARGUMENT, NULL,
                "xt_combined_loader: loader %d reads the stream %s, whose number of batches nobody knows; "
                "give it .limit",
                k, l->ds->name);
        if (l->owned)
            return status_new(XT_INVALID_ARGUMENT, NULL, "xt_combined_loader: loader %d is part of a combined one", k);
        if (mode == XT_SEQUENTIAL &&
            memcmp(combined_first(l)->types, combined_first(loaders[0])->types, sizeof l->types))
            log_once(
                "combined loaders of other shapes", XT_SEV_INFO,
                "xt_combined_loader: loader %d has other shapes than the first: each shape has a program of its own",
                k);
    }
    return NULL;
}

/* A loader that stands in the list twice is taken once. */
static xt_status own(int n, xt_loader *const *loaders, loader_combined *c) {
    for (int k = 0; k < n; k++) {
        if (loaders[k]->owned)
            return status_new(XT_INVALID_ARGUMENT, NULL,
                              "xt_combined_loader: loader %d stands in the list twice; each needs a place of its own",
                              k);
        loaders[k]->owned = true;
        lazy_disown(loaders[k]);
        c->loaders[c->n++] = loaders[k];
    }
    return NULL;
}

static xt_status make(int n, xt_loader *const *loaders, xt_combined_mode mode, xt_loader **out) {
    XT_TRY(check(n, loaders, mode));
    xt_loader *l = loader_new();
    if (!l) return status_clone(lazy_pending());
    *out = l;
    l->parts = loaders[0]->parts;
    l->batches = batches_of(n, loaders, mode);
    l->combined = base_calloc(1, sizeof *l->combined);
    if (!l->combined) return status_oom(sizeof *l->combined, "a combined loader");
    l->combined->mode = mode;
    l->combined->loaders = base_calloc((size_t)n, sizeof(xt_loader *));
    l->combined->parts = base_calloc((size_t)n, sizeof(xt_batch));
    if (!l->combined->loaders || !l->combined->parts) return status_oom((size_t)n * sizeof(xt_batch), "its batches");
    return own(n, loaders, l->combined);
}

xt_loader *xt_combined_loader_opt(const xt_src *src, int n, xt_loader *const *loaders, xt_combined_opts o) {
    SRC_CALLED_FROM(src);
    xt_loader *l = NULL;
    xt_status s = make(n, loaders, o.mode, &l);
    if (!s) return l;
    lazy_fail(status_at(s, src));
    if (l) {
        if (!l->combined || !l->combined->loaders) {
            base_free(l->combined);
            l->combined = NULL;
        }
        xt_loader_free(l);
    }
    for (int k = 0; k < n && loaders; k++) {
        bool before = false;
        for (int i = 0; i < k; i++) before = before || loaders[i] == loaders[k];
        if (!before && handle_look(HANDLE_loader, loaders[k]) == HANDLE_LIVES && !loaders[k]->owned)
            xt_loader_free(loaders[k]);
    }
    return NULL;
}
