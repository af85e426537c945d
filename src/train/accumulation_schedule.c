/* Another number of micro-batches a step from some epochs on. The loss is divided by data, so the programs stay. */
#include "train/train_int.h"

typedef struct schedule {
    int n;
    int64_t *epochs, *factors;
} schedule;

static void free_schedule(void *user) {
    schedule *s = user;
    base_free(s->epochs);
    base_free(s->factors);
    base_free(s);
}

static void epoch_start(xt_trainer *t, void *user) {
    const schedule *s = user;
    for (int i = 0; i < s->n; i++)
        if (t->epoch >= s->epochs[i]) t->accumulate = s->factors[i];
}

int64_t accumulation_change(const xt_trainer *t, int64_t epoch, int64_t *k) {
    int64_t next = INT64_MAX;
    for (size_t c = 0; c < t->n_callbacks; c++) {
        const schedule *s = callback_is(t->callbacks[c], &accumulation_schedule_desc) ? t->callbacks[c]->user : NULL;
        for (int i = 0; s && i < s->n; i++) {
            if (epoch >= s->epochs[i])
                *k = s->factors[i];
            else if (s->epochs[i] < next)
                next = s->epochs[i];
        }
    }
    return next;
}

static xt_status fit_start(xt_trainer *t, void *user) {
    (void)user;
    return t->task->manual_optimization
               ? status_new(XT_INVALID_ARGUMENT, NULL,
                            "xt_accumulation_schedule: the task optimizes by itself (.manual_optimization)")
               : NULL;
}

const xt_callback_desc accumulation_schedule_desc = {.struct_size = sizeof(xt_callback_desc),
                                                     .name = "accumulation_schedule",
                                                     .fit_start = fit_start,
                                                     .epoch_start = epoch_start,
                                                     .free_user = free_schedule};

static xt_status check(const xt_accumulation_schedule_opts *o) {
    if (o->n < 1 || !o->epochs || !o->factors)
        return status_new(XT_INVALID_ARGUMENT, NULL, "n = %d entries; at least one epoch and factor are needed", o->n);
    for (int i = 0; i < o->n; i++)
        if (o->factors[i] < 1 || o->epochs[i] < 0 || (i && o->epochs[i] <= o->epochs[i - 1]))
            return status_new(XT_INVALID_ARGUMENT, NULL,
                              "entry %d is epoch %lld, factor %lld; epochs rise from 0 on, factors are at least 1", i,
                              (long long)o->epochs[i], (long long)o->factors[i]);
    return NULL;
}

xt_callback *xt_accumulation_schedule_opt(const xt_src *src, xt_accumulation_schedule_opts o) {
    SRC_CALLED_FROM(src);
    xt_status s = check(&o);
    schedule *m = s ? NULL : base_calloc(1, sizeof *m);
    size_t bytes = s ? 0 : (size_t)o.n * sizeof(int64_t);
    if (m) *m = (schedule){o.n, base_malloc(bytes), base_malloc(bytes)};
    if (!s && (!m || !m->epochs || !m->factors)) s = status_oom(bytes, "a callback");
    if (s) {
        lazy_fail(status_context(s, "xt_accumulation_schedule"));
        if (m) free_schedule(m);
        return NULL;
    }
    memcpy(m->epochs, o.epochs, bytes);
    memcpy(m->factors, o.factors, bytes);
    return callback_make(&accumulation_schedule_desc, m);
}
