/* An optimizer's state for checkpoints: tensors by PyTorch's names ("conv1.weight.exp_avg", "optimizer.step"), and the
 * rest as one JSON text. Values may be restored before the states exist: they wait by name for the first step. */
#include <cjson/cJSON.h>
#include <math.h>

#include "base/saved.h"
#include "ir/interp.h"
#include "optim/lbfgs.h"
#include "optim/optim.h"

typedef struct loaded {
    const ir_type *type;
    max_align_t data[];
} loaded;

/* --- of an optimizer whose state is no parameter's --- */
static const lbfgs_listing *listing_of(const xt_optimizer *o) {
    return (const lbfgs_listing *)o->lbfgs;
}

int optim_lbfgs_tensors(const xt_optimizer *o) {
    return listing_of(o)->tensors(o);
}

xt_tensor optim_lbfgs_tensor(const xt_optimizer *o, int i, char *name, size_t n) {
    return listing_of(o)->tensor(o, i, name, n);
}

void optim_lbfgs_forget(xt_optimizer *o) {
    if (o->lbfgs) listing_of(o)->forget(o);
}

void optim_lbfgs_free(xt_optimizer *o) {
    if (o->lbfgs) listing_of(o)->free(o);
}

const ir_type *optim_waiting(const xt_optimizer *o, const char *name, const void **out_data) {
    const loaded *l = o->loaded ? map_get(o->loaded, name, strlen(name)) : NULL;
    if (l && out_data) *out_data = l->data;
    return l ? l->type : NULL;
}

xt_status optim_each_waiting(const xt_optimizer *o, optim_waiting_fn fn, void *user) {
    size_t at = 0, n;
    const void *key;
    void *v;
    while (o->loaded && map_next(o->loaded, &at, &key, &n, &v)) {
        const loaded *l = v;
        char name[1024];
        snprintf(name, sizeof name, "%.*s", (int)n, (const char *)key);
        XT_TRY(fn(user, name, l->type, l->data));
    }
    return NULL;
}

void optim_forget_waiting(xt_optimizer *o, const char *name) {
    if (o->loaded) base_free(map_remove(o->loaded, name, strlen(name)));
}

static void said(xt_optimizer *o, xt_tensor state) {
    for (size_t p = 0; p < o->n; p++)
        for (int k = 0; k < o->kind->n_states; k++)
            if (o->params[p].state[k].slot == state.slot) o->params[p].unsaid &= ~(1u << k);
}

xt_status optim_restore(xt_optimizer *o, const char *name, const ir_type *type, const void *data) {
    optim_lbfgs_forget(o); /* which has none in use then */
    for (int i = 0; !o->lbfgs && i < xt_optimizer_tensors(o); i++) {
        if (strcmp(xt_optimizer_tensor_name(o, i), name) != 0) continue;
        if (lazy_type(xt_optimizer_tensor(o, i)) != type)
            return status_new(XT_INVALID_ARGUMENT, NULL, "the optimizer state %s has another shape or dtype now", name);
        said(o, xt_optimizer_tensor(o, i));
        return lazy_state_write(xt_optimizer_tensor(o, i), data, ir_type_bytes(type));
    }
    if (!o->loaded) o->loaded = map_new();
    loaded *l = base_malloc(sizeof *l + ir_type_bytes(type)), *old = NULL;
    if (!l) return status_oom(ir_type_bytes(type), name);
    l->type = type;
    memcpy(l->data, data, ir_type_bytes(type));
    if (o->loaded && map_put(o->loaded, name, strlen(name), l, (void **)&old)) {
        base_free(old);
        scaler_waits(o);
        return NULL;
    }
    base_free(l);
    return status_oom(ir_type_bytes(type), name);
}

xt_tensor optim_new_state(const xt_src *src, xt_optimizer *o, const char *name, const ir_type *type, double fill) {
    loaded *l = o->loaded ? map_remove(o->loaded, name, strlen(name)) : NULL;
    if (l && l->type != type)
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src,
                             "the checkpoint's optimizer state %s has another shape than the parameter now", name));
    array init = {0};
    xt_status s = !l && fill != 0 ? array_new(type, &init) : NULL;
    if (s) lazy_fail(s);
    for (int64_t i = 0; init.data && i < type->count; i++) array_set(&init, i, fill);
    xt_tensor t = lazy_state_new(src, LAZY_OPTIMIZER, name, type->dtype, (int)type->rank, type->dims,
                                 l && l->type == type ? (void *)l->data : init.data);
    if (init.data) array_free(&init);
    base_free(l);
    return t;
}

void optim_state_free(xt_optimizer *o) {
    for (size_t i = 0; i < o->n; i++) {
        for (int k = 0; k < o->kind->n_states; k++)
            if (lazy_type(o->params[i].state[k])) xt_drop_at(XT_HERE, o->params[i].state[k]);
        base_free(o->params[i].name);
    }
    for (size_t i = 0; i < o->n_counters; i++)
        if (lazy_type(o->counters[i].count)) xt_drop_at(XT_HERE, o->counters[i].count);
    base_free(o->params);
    base_free(o->slots);
    base_free(o->counters);
    map_free(o->loaded, base_free);
    map_free(o->loaded_counter, NULL);
}

/* --- the tensors, in a fixed order: scaler, counts, states by parameter --- */
static xt_tensor nth(const xt_optimizer *o, int i, char *name, size_t n) {
    if (o->scaler && lazy_type(o->scaler->scale)) {
        if (i == 0 || i == 1) {
            snprintf(name, n, "%s", scaler_names[i]);
            return i ? o->scaler->tracker : o->scaler->scale;
        }
        i -= 2;
    }
    if (i < (int)o->n_counters) {
        snprintf(name, n, i ? "optimizer.step.%d" : "optimizer.step", i);
        return o->counters[i].count;
    }
    if (o->lbfgs) return optim_lbfgs_tensor(o, i, name, n);
    i -= (int)o->n_counters;
    for (size_t p = 0; p < o->n; p++)
        for (int k = 0; k < o->kind->n_states; k++)
            if (o->params[p].state[k].slot && i-- == 0) {
                snprintf(name, n, "%s.%s", o->params[p].name, o->kind->state_names[k]);
                return o->params[p].state[k];
            }
    return (xt_tensor){0};
}

int xt_optimizer_tensors(const xt_optimizer *o) {
    if (!o) return 0;
    if (o->lbfgs) return optim_lbfgs_tensors(o);
    int n = (int)o->n_counters + (o->scaler && lazy_type(o->scaler->scale) ? 2 : 0);
    for (size_t p = 0; p < o->n; p++)
        for (int k = 0; k < o->kind->n_states; k++) n += o->params[p].state[k].slot != 0;
    return n;
}

xt_tensor xt_optimizer_tensor(const xt_optimizer *o, int i) {
    char name[1100];
    xt_tensor t = o && i >= 0 ? nth(o, i, name, sizeof name) : (xt_tensor){0};
    return t.slot ? t : lazy_none("xt_optimizer_tensor: number %d, which this optimizer has not", i);
}

const char *xt_optimizer_tensor_name(const xt_optimizer *o, int i) {
    char name[1100];
    if (!o || i < 0 || !nth(o, i, name, sizeof name).slot) return NULL;
    return intern_text(intern(name));
}

/* --- the rest --- */
/* Whose count is whose, of parameters that no pass has made since the state was loaded. */
static void add_waiting_counters(const xt_optimizer *o, cJSON *counters) {
    size_t at = 0, n;
    const void *key;
    void *number;
    while (o->loaded_counter && map_next(o->loaded_counter, &at, &key, &n, &number)) {
        char name[1024];
        snprintf(name, sizeof name, "%.*s", (int)n, (const char *)key);
        cJSON_AddNumberToObject(counters, name, (double)((uintptr_t)number - 1));
    }
}

char *optim_state_text(const xt_optimizer *o) {
    cJSON *all = cJSON_CreateObject(), *groups = cJSON_AddArrayToObject(all, "groups"),
          *counters = cJSON_AddObjectToObject(all, "counters");
    cJSON *schedules = cJSON_AddArrayToObject(all, "schedules");
    cJSON_AddStringToObject(all, "kind", o->name->name);
    cJSON_AddNumberToObject(all, "steps", (double)o->updater.steps);
    for (size_t i = 0; i < o->n_groups; i++) {
        cJSON *g = cJSON_CreateObject();
        cJSON_AddItemToObject(g, "lr", json_number(o->groups[i].h.lr));
        cJSON_AddItemToObject(g, "momentum", json_number(o->groups[i].h.momentum));
        cJSON_AddItemToArray(groups, g);
    }
    for (size_t i = 0; i < o->n; i++)
        if (o->params[i].counter >= 0) cJSON_AddNumberToObject(counters, o->params[i].name, o->params[i].counter);
    add_waiting_counters(o, counters);
    for (size_t i = 0; i < o->n_schedulers; i++) {
        char *s = schedule_text(o->schedulers[i]);
        cJSON *state = s ? cJSON_CreateRaw(s) : NULL;
        if (state) cJSON_AddItemToArray(schedules, state);
        base_free(s);
    }
    char *text = cJSON_PrintUnformatted(all), *out = text ? base_strdup(text) : NULL;
    cJSON_free(text);
    cJSON_Delete(all);
    return out;
}

static xt_status load_counters(xt_optimizer *o, const cJSON *counters) {
    const cJSON *c;
    map_free(o->loaded_counter, NULL);
    o->loaded_counter = NULL;
    o->loaded_one = cJSON_GetArraySize(counters) == 0;
    cJSON_ArrayForEach(c, counters) {
        int64_t at = 0;
        XT_TRY(saved_number("counter", cJSON_IsNumber(c) ? c->valuedouble : NAN, 0, 1000000, &at));
        uintptr_t number = (uintptr_t)at + 1;
        if (!o->loaded_counter) o->loaded_counter = map_new();
        if (!o->loaded_counter || !map_put(o->loaded_counter, c->string, strlen(c->string), (void *)number, NULL))
            return status_oom(64, "an optimizer's step counts");
    }
    return NULL;
}

/* PyTorch's class of a kind that a state names; of one that is not known here, the name itself. */
static const char *title_of(const char *name) {
    static const optim_name known[] = {
#define OPTIMIZER(name, title, options) {#name, title},
#include "optim/optimizers.def"
#undef OPTIMIZER
        {"lbfgs", "LBFGS"}
    };
    for (size_t i = 0; i < BASE_COUNT(known); i++)
        if (strcmp(known[i].name, name) == 0) return known[i].title;
    return name;
}

/* Tensors of another kind would wait by their names for ever, and its rate would be this one's. */
static xt_status same_kind(const xt_optimizer *o, const cJSON *all) {
    const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(all, "kind"));
    if (!kind || strcmp(kind, o->name->name) == 0) return NULL;
    return status_new(XT_INVALID_ARGUMENT, NULL,
                      "the state is of %s, and the optimizer is %s: a state goes into an optimizer of its own kind; "
                      "make it with xt_%s, or begin without the state",
                      title_of(kind), o->name->title, kind);
}

xt_status optim_state_load(xt_optimizer *o, const char *json) {
    cJSON *all = cJSON_Parse(json), *groups = cJSON_GetObjectItemCaseSensitive(all, "groups"), *g;
    const cJSON *steps = cJSON_GetObjectItemCaseSensitive(all, "steps"),
                *schedules = cJSON_GetObjectItemCaseSensitive(all, "schedules");
    xt_status s = NULL;
    size_t i = 0;
    if (!cJSON_IsArray(groups) || !cJSON_IsNumber(steps))
        s = status_new(XT_DATA_LOSS, NULL, "the optimizer's state is no JSON of an optimizer");
    else
        s = same_kind(o, all);
    if (!s && cJSON_GetArraySize(groups) != (int)o->n_groups)
        s = status_new(XT_INVALID_ARGUMENT, NULL, "the optimizer was saved with %d groups and has %zu now",
                       cJSON_GetArraySize(groups), o->n_groups);
    int64_t taken = 0;
    if (!s) s = saved_number("steps", steps->valuedouble, 0, SAVED_COUNT, &taken);
    if (!s) s = load_counters(o, cJSON_GetObjectItemCaseSensitive(all, "counters"));
    if (!s && cJSON_GetArraySize(schedules) != (int)o->n_schedulers)
        s = status_new(XT_INVALID_ARGUMENT, NULL,
                       "the optimizer was saved with %d learning rate schedules and has %zu now",
                       cJSON_GetArraySize(schedules), o->n_schedulers);
    for (size_t k = 0; k < o->n_schedulers && !s; k++)
        s = schedule_load(o->schedulers[k], cJSON_GetArrayItem(schedules, (int)k));
    if (!s && !o->loaded && !(o->loaded = map_new())) s = status_oom(64, "an optimizer's state");
    if (!s) {
        o->updater.steps = taken;
        o->loaded_for = -1;
        for (size_t p = 0; p < o->n; p++) o->params[p].counter = -1, o->params[p].unsaid = ~0u;
        cJSON_ArrayForEach(g, groups) {
            const cJSON *lr = cJSON_GetObjectItemCaseSensitive(g, "lr"),
                        *m = cJSON_GetObjectItemCaseSensitive(g, "momentum");
            if (cJSON_IsNumber(lr)) o->groups[i].h.lr = lr->valuedouble;
            if (cJSON_IsNumber(m)) o->groups[i].h.momentum = m->valuedouble;
            i++;
        }
    }
    cJSON_Delete(all);
    return s;
}
