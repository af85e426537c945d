/* Whether the ranks' loaders divide the samples alike. Which samples a rank reads follows from its rank and from
 * numbers that all ranks must have in common: the batch, the dataset's length, the order. Where one of them differs,
 * some samples are read twice and others never, and nothing else shows it. So before the first optimizer step, where
 * ranks meet anyway, each says what its loader divides by. Of loaders that do not divide (.shard = XT_OFF), of streams,
 * whose own functions pick each rank's share, and of batches from elsewhere, nothing is asked. */
#include "coll/coll.h"
#include "lazy/lazy.h"
#include "lazy/mesh/mesh.h"

typedef struct divided { /* by each rank, as bytes */
    int64_t parts, samples, batch, batches;
    uint64_t seed; /* 0 where the order is the dataset's */
    int64_t shuffled;
    char line[200];
} divided;

static divided mine(void) {
    const lazy_shard *s = &lazy_position_of_thread()->shard;
    divided d = {.parts = s->parts, .samples = s->samples, .batch = s->batch, .batches = s->batches};
    char line[256];
    d.shuffled = s->shuffle;
    if (s->shuffle) d.seed = s->seed;
    snprintf(d.line, sizeof d.line, "%s", src_text(s->made, line, sizeof line));
    return d;
}

static bool alike(const divided *a, const divided *b) {
    return a->samples == b->samples && a->batch == b->batch && a->batches == b->batches && a->seed == b->seed &&
           a->shuffled == b->shuffled;
}

static void describe(str *out, int rank, const divided *d, bool seeds) {
    str_printf(out, "%srank %d takes batches of %lld, %lld an epoch, of %lld samples", out->len ? "; " : "", rank,
               (long long)d->batch, (long long)d->batches, (long long)d->samples);
    if (seeds && d->shuffled) str_printf(out, ", shuffled with seed %llu", (unsigned long long)d->seed);
    if (seeds && !d->shuffled) str_append(out, ", not shuffled");
    str_printf(out, " (%s)", d->line);
}

static xt_status differ(int rank, const divided *first, const divided *other) {
    bool seeds = first->seed != other->seed || first->shuffled != other->shuffled;
    str text = STR_INIT;
    describe(&text, 0, first, seeds);
    describe(&text, rank, other, seeds);
    xt_status s = status_new(
        XT_FAILED_PRECONDITION, NULL,
        "the ranks' loaders divide their samples in different ways: %s. Some samples would be read by several ranks "
        "and others by none: give all ranks the same dataset, .batch, .limit, .shuffle and .seed, or each rank a "
        "dataset of its own with .shard = XT_OFF",
        str_cstr(&text));
    str_free(&text);
    return s;
}

xt_status lazy_shards_agree(void) {
    coll_group *g;
    XT_TRY(coll_run_group(&g));
    divided own = mine(), *all = base_calloc((size_t)coll_size(g), sizeof *all);
    xt_status s = all ? coll_all_gather(g, &own, sizeof own, all)
                      : status_oom((size_t)coll_size(g) * sizeof *all, "comparing the ranks' loaders");
    for (int r = 1; !s && r < coll_size(g); r++)
        if (all[0].parts > 1 && all[r].parts > 1 && !alike(&all[0], &all[r])) s = differ(r, &all[0], &all[r]);
    base_free(all);
    return s;
}
