/* What the ranks of a fit have to have alike before it begins: every rank makes the same optimizer steps, so a rank
 * with a shorter epoch would leave the others waiting in theirs until the time limit. Each tells the lengths it has,
 * and where they differ all say what each rank has. */
#include "coll/coll.h"
#include "lazy/mesh/mesh.h"
#include "train/train_int.h"

typedef struct lengths {
    char refused[512]; /* why this rank's options or loaders are; "" */
    int64_t train, validations; /* batches of an epoch; loaders of a validation */
    int64_t val[8]; /* batches of each, where their programs have collectives; else 0 */
    int64_t max_steps, max_epochs, accumulate; /* the trainer's options */
} lengths;

static lengths mine_of(const xt_trainer *t, xt_status refused) {
    lengths l = {.train = t->train_limit,
                 .validations = t->val ? 1 + (int64_t)t->n_vals : 0,
                 .max_steps = t->o.max_steps,
                 .max_epochs = t->o.max_epochs,
                 .accumulate = t->o.accumulate_grad_batches};
    if (refused) snprintf(l.refused, sizeof l.refused, "%s", status_message(refused));
    for (int64_t i = 0; lazy_spmd() && i < l.validations; i++) l.val[i] = i ? t->val_limits[i - 1] : t->val_limit;
    return l;
}

/* "rank 0 has 10, rank 1 has 8": the first ranks, as many as a message bears. */
static void list(str *out, const lengths *all, int n, size_t at) {
    enum { MOST = 16 };
    for (int r = 0; r < n && r < MOST; r++)
        str_printf(out, "%srank %d has %lld", r ? ", " : "", r,
                   (long long)*(const int64_t *)(const void *)((const char *)&all[r] + at));
    if (n > MOST) str_printf(out, ", and so on");
}

static xt_status differ(const lengths *all, int n) {
    static const char alike[] = "every rank makes the same optimizer steps: give all trainers the same option";
    static const struct {
        size_t at, size;
        const char *what, *advice;
    } rows[] = {
        {offsetof(lengths, max_steps), sizeof all->max_steps, "optimizer steps (max_steps, -1: no limit)", alike},
        {offsetof(lengths, max_epochs), sizeof all->max_epochs, "epochs (max_epochs, -1: no limit)", alike},
        {offsetof(lengths, accumulate), sizeof all->accumulate, "batches in a step (accumulate_grad_batches)", alike},
        {offsetof(lengths, train), sizeof all->train, "batches in an epoch of their training loaders",
         "every rank makes the same optimizer steps: give all ranks the whole data, of which the loader takes each "
         "rank's part, or set limit_train_batches to the smallest"},
        {offsetof(lengths, validations), sizeof all->validations, "validation loaders",
         "all ranks validate together, or none: give each its part of the data"},
        {offsetof(lengths, val), sizeof all->val, "batches in their validation loaders",
         "on a mesh all ranks run each batch together: set limit_val_batches to the smallest"}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++)
        for (int r = 1; r < n; r++) {
            if (memcmp((const char *)&all[0] + rows[i].at, (const char *)&all[r] + rows[i].at, rows[i].size) == 0)
                continue;
            str text = STR_INIT;
            list(&text, all, n, rows[i].at);
            xt_status s =
                status_new(XT_FAILED_PRECONDITION, NULL, "xt_fit: the ranks have different numbers of %s: %s; %s",
                           rows[i].what, str_cstr(&text), rows[i].advice);
            str_free(&text);
            return s;
        }
    return NULL;
}

xt_status train_agree(const xt_trainer *t, xt_status s) {
    int n = world_get()->size;
    if (n < 2 || lazy_rehearsing() || !env_get("XT_RENDEZVOUS")) return s;
    lengths mine = mine_of(t, s), *all = base_calloc((size_t)n, sizeof *all);
    coll_group *g;
    xt_status met = all ? coll_run_group(&g) : status_oom((size_t)n * sizeof *all, "the ranks' lengths");
    if (!met) met = coll_all_gather(g, &mine, sizeof mine, all);
    for (int r = 0; !met && !s && r < n; r++)
        if (all[r].refused[0]) /* its own words may come too late: who hears of it first ends the run */
            met = status_new(XT_ABORTED, NULL, "xt_fit: rank %d has refused its fit: %.*s", r,
                             (int)sizeof all[r].refused, all[r].refused);
    if (!met && !s) met = differ(all, n);
    base_free(all);
    if (!s) return met;
    xt_status_free(met);
    return s;
}
