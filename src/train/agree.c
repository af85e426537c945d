/* What the ranks of a fit have to have alike before it begins: every rank makes the same optimizer steps, rows and
 * checkpoints, so a rank with a shorter epoch or another option would leave the others waiting in theirs until the time
 * limit. Each tells the lengths and options it has, and where they differ all say what each rank has. */
#include "coll/coll.h"
#include "lazy/mesh/mesh.h"
#include "train/train_int.h"

enum { OPTIONS = 128 };
_Static_assert(sizeof(xt_trainer_opts) <= OPTIONS * sizeof(int), "a hash for each option");
typedef struct lengths {
    char refused[512]; /* why this rank's options or loaders are; "" */
    int64_t train, validations; /* batches of an epoch; loaders of a validation */
    int64_t val[8]; /* batches of each, where their programs have collectives; else 0 */
    int64_t max_steps, max_epochs, accumulate; /* the trainer's options */
    uint64_t options[OPTIONS]; /* hashes of all of them; 0: one that is a rank's own */
} lengths;

/* A rank may have its own of what only it shows or looks for, and of what is compared by what it comes to. */
static bool is_own(const char *option) {
    static const char *const names[] = {"limit_train_batches",
                                        "limit_val_batches",
                                        "limit_test_batches",
                                        "progress_bar",
                                        "limit_predict_batches",
                                        "run_name",
                                        "runs_dir",
                                        "loggers",
                                        "signals",
                                        "model_summary",
                                        "resume",
                                        "ckpt",
                                        "seed"};
    for (size_t i = 0; i < BASE_COUNT(names); i++)
        if (strcmp(names[i], option) == 0) return true;
    return false;
}

static void option_text(const xt_trainer *t, size_t i, str *out) {
    xt_status_free(options_get(train_option_rows, train_option_count, &t->o, train_option_rows[i].name, out));
}

/* The mesh of a strategy that the command line asks for is made when the fit begins. */
static bool has_collectives(const xt_trainer *t) {
    return lazy_spmd() || (t->o.strategy && strcmp(t->o.strategy, "ddp") != 0);
}

static lengths mine_of(const xt_trainer *t, xt_status refused) {
    lengths l = {.train = t->train_limit,
                 .validations = t->val ? 1 + (int64_t)t->n_vals : 0,
                 .max_steps = t->o.max_steps,
                 .max_epochs = t->o.max_epochs,
                 .accumulate = t->o.accumulate_grad_batches};
    if (refused) snprintf(l.refused, sizeof l.refused, "%s", status_message(refused));
    for (int64_t i = 0; has_collectives(t) && i < l.validations; i++)
        l.val[i] = i ? t->val_limits[i - 1] : t->val_limit;
    for (size_t i = 0; i < train_option_count; i++) {
        str text = STR_INIT;
        if (is_own(train_option_rows[i].name)) continue;
        option_text(t, i, &text);
        l.options[i] = hash_bytes(str_cstr(&text), text.len, (hash128){1, 1}).lo | 1;
        str_free(&text);
    }
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

/* Of the first option that is not the same on all ranks, which all of them see, each tells its value. */
static xt_status options_differ(const xt_trainer *t, const lengths *all, int n) {
    enum { MOST = 16, BYTES = 64 };
    size_t which = train_option_count;
    for (size_t i = train_option_count; i-- > 0;)
        for (int r = 1; r < n; r++)
            if (all[r].options[i] != all[0].options[i]) which = i;
    if (which == train_option_count) return NULL;
    char mine[BYTES] = "", *values;
    str text = STR_INIT;
    option_text(t, which, &text);
    snprintf(mine, sizeof mine, "%s", text.len ? str_cstr(&text) : "none");
    str_free(&text);
    XT_TRY(lazy_ranks_gather(mine, sizeof mine, &values));
    str list = STR_INIT;
    for (int r = 0; r < n && r < MOST; r++)
        str_printf(&list, "%srank %d has %s", r ? ", " : "", r, values + (size_t)r * BYTES);
    if (n > MOST) str_printf(&list, ", and so on");
    xt_status s = status_new(XT_FAILED_PRECONDITION, NULL,
                             "xt_fit: the ranks have different options: of %s %s; every rank makes the same optimizer "
                             "steps, rows and checkpoints: give all trainers the same option",
                             train_option_rows[which].name, str_cstr(&list));
    str_free(&list);
    base_free(values);
    return s;
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
    if (!met && !s) met = options_differ(t, all, n);
    base_free(all);
    if (!s) return met;
    xt_status_free(met);
    return s;
}
