/* Step counts on the device: one f32 scalar for all parameters that have been updated together so far. When some of
 * them get no gradient in a step (a branch not taken, a layer frozen later) they leave with a copy of the count;
 * parameters that join late begin a count of their own. So every parameter has exactly the count that PyTorch keeps a
 * parameter, at the price of one scalar in nearly all programs. */
#include "lazy/core/noted.h"
#include "ops/ops.h"
#include "optim/optim.h"

bool optim_counts(const xt_optimizer *o) {
    return o->kind->counts && o->kind->counts(&o->groups[0].h);
}

static void name_counter(size_t i, char *name, size_t n) {
    if (i == 0)
        snprintf(name, n, "optimizer.step");
    else
        snprintf(name, n, "optimizer.step.%zu", i);
}

static int new_counter(const xt_src *src, xt_optimizer *o) {
    char name[64];
    size_t n = o->n_counters;
    name_counter(n, name, sizeof name);
    optim_counter c = {.count = optim_new_state(src, o, name, ir_scalar(XT_F32), 0)};
    if (VEC_PUSH(o->counters, o->n_counters, o->cap_counters, c)) return (int)n;
    lazy_fail(status_oom(sizeof c, "an optimizer's step count"));
    return -1;
}

bool optim_counters_loaded(const xt_src *src, xt_optimizer *o) {
    for (char name[64]; optim_counts(o);) {
        name_counter(o->n_counters, name, sizeof name);
        if (!optim_waiting(o, name, NULL)) break;
        if (new_counter(src, o) < 0) return false;
    }
    return true;
}

int optim_counter_loaded(xt_optimizer *o, const char *param, bool has_state) {
    uintptr_t number = o->loaded_counter ? (uintptr_t)map_remove(o->loaded_counter, param, strlen(param)) : 0;
    if (!number && o->loaded_one && has_state) number = 1;
    return number && number <= o->n_counters ? (int)number - 1 : -1;
}

static bool place_new_params(const xt_src *src, xt_optimizer *o) {
    int fresh = -1;
    for (size_t i = 0; i < o->n; i++) {
        optim_param *p = &o->params[i];
        if (!p->active || p->counter >= 0) continue;
        if (fresh < 0) fresh = new_counter(src, o);
        if (fresh < 0) return false;
        p->counter = fresh;
    }
    return true;
}

/* A parameter that no pass has made since the state was loaded, which c counts: kept for good; NULL: none. `to`, unless
 * it is negative, counts all of them from here on. */
static const char *waits_behind(const xt_optimizer *o, int c, int to) {
    const char *first = NULL;
    size_t at = 0, n;
    const void *key;
    void *number;
    while (o->loaded_counter && map_next(o->loaded_counter, &at, &key, &n, &number)) {
        char name[1024];
        if ((uintptr_t)number != (uintptr_t)c + 1) continue;
        snprintf(name, sizeof name, "%.*s", (int)n, (const char *)key);
        if (!first) first = intern_text(intern(name));
        if (to >= 0) map_put(o->loaded_counter, key, n, (void *)((uintptr_t)to + 1), NULL);
    }
    return first;
}

/* Those that stay behind get a count of their own, which keeps the value. */
static bool split(const xt_src *src, xt_optimizer *o, int c) {
    bool active = false;
    const char *left = waits_behind(o, c, -1); /* one that stays behind */
    for (size_t i = o->n; i-- > 0;)
        if (o->params[i].counter == c) {
            active |= o->params[i].active;
            if (!o->params[i].active) left = o->params[i].name;
        }
    if (!active || !left) return true;
    int own = new_counter(src, o);
    if (own < 0) return false;
    if (!lazy_state_begins_as(o->counters[own].count, o->counters[c].count)) {
        ir_builder *b = lazy_begin(src);
        lazy_assign(o->counters[own].count,
                    lazy_wrap(ops_copy(b, lazy_value(o->counters[c].count)), "xt_optimizer_step"));
    }
    for (size_t i = 0; i < o->n; i++)
        if (o->params[i].counter == c && !o->params[i].active) o->params[i].counter = own;
    waits_behind(o, c, own);
    lazy_note_parted(src, left);
    return true;
}

static bool is_active(const xt_optimizer *o, int c) {
    for (size_t i = 0; i < o->n; i++)
        if (o->params[i].counter == c && o->params[i].active) return true;
    return false;
}

bool optim_count(const xt_src *src, xt_optimizer *o, ir_value *skip) {
    if (!optim_counts(o)) return true;
    if (!place_new_params(src, o)) return false;
    for (int c = 0, n = (int)o->n_counters; c < n; c++)
        if (!split(src, o, c)) return false;
    for (int c = 0; c < (int)o->n_counters; c++) {
        o->counters[c].now = NULL;
        if (!is_active(o, c)) continue;
        ir_builder *b = lazy_begin(src);
        ir_value *old = lazy_value(o->counters[c].count);
        ir_value *one = old ? ir_splat(b, old->type, 1) : NULL, *now = ir_add(b, old, one);
        o->counters[c].now = now;
        ir_value *kept = skip && old && now ? ir_select(b, skip, old, now) : now;
        lazy_assign(o->counters[c].count, lazy_wrap(kept, "xt_optimizer_step"));
    }
    return true;
}
