/* Schedules as objects: stepping, sequences and chains, positions as JSON. Rates follow PyTorch's recursive forms, so
 * that chains compose as there. */
#include <cjson/cJSON.h>
#include <math.h>

#include "base/saved.h"
#include "base/handle.h"
#include "optim/schedule.h"

static void step(xt_scheduler *s);

xt_scheduler *schedule_new(const schedule_kind *k, xt_optimizer *opt, const char *what, xt_status e,
                           const schedule_numbers *n, xt_interval interval, bool begin) {
    xt_scheduler *s = NULL;
    if (!opt) { /* its own error is pending */
        xt_status_free(e);
        return NULL;
    }
    if (!e && (unsigned)interval > XT_EACH_STEP)
        e = status_new(XT_INVALID_ARGUMENT, NULL,
                       "%s.interval = %d is out of range: expected XT_EACH_EPOCH or XT_EACH_STEP", what, (int)interval);
    if (!e && n && n->cycles_momentum && !opt->kind->momentum)
        e = status_new(XT_INVALID_ARGUMENT, NULL, "%s: %s has no momentum to cycle; say .cycle_momentum = XT_OFF", what,
                       opt->name->title);
    if (!e &&
        (!(s = handle_new(HANDLE_scheduler, sizeof *s)) || !(s->base = base_calloc(opt->n_groups, sizeof *s->base)) ||
         !VEC_PUSH(opt->schedulers, opt->n_schedulers, opt->cap_schedulers, s)))
        e = status_oom(sizeof *s, what);
    if (e) {
        if (s) base_free(s->base);
        handle_free(s);
        lazy_fail(e);
        return NULL;
    }
    s->kind = k;
    s->made = src_intern(src_called_from);
    s->opt = opt;
    s->interval = interval;
    s->n_base = opt->n_groups;
    if (n) s->n = *n;
    s->at = -1;
    s->t_i = s->n.length;
    if (s->n.cycles_momentum) optim_move_momentum(opt);
    for (size_t g = 0; g < s->n_base; g++) {
        if (opt->groups[g].initial_lr < 0) opt->groups[g].initial_lr = opt->groups[g].h.lr;
        s->base[g] = opt->groups[g].initial_lr;
    }
    if (!begin) return s;
    s->initial = true;
    step(s);
    s->initial = false;
    return s;
}

void schedule_free(xt_scheduler *s) {
    if (!s) return;
    lazy_replay_forget(s);
    for (size_t i = 0; i < s->n_children; i++) schedule_free(s->children[i]);
    if (s->plateau) pthread_mutex_destroy(&s->plateau->lock);
    base_free(s->plateau);
    base_free(s->base);
    handle_free(s);
}

/* --- stepping --- */
static void apply(xt_scheduler *s, bool closed) {
    for (size_t g = 0; g < s->n_base && !s->refused; g++) {
        optim_hyper *h = &s->opt->groups[g].h;
        h->lr = closed && s->kind->closed ? s->kind->closed(s, g) : s->kind->rate(s, g, h->lr);
        if (s->n.cycles_momentum) h->momentum = s->kind->momentum(s);
    }
}

/* The step that making a schedule takes, of one that has been undone: what a sequence does with its first part, and
 * with a composite that takes over. */
static void first_step(xt_scheduler *s) {
    s->at = s->n_children ? 0 : -1;
    for (size_t i = 0; i < (s->kind == &schedule_sequential ? 1 : s->n_children); i++) first_step(s->children[i]);
    if (s->n_children) return;
    s->initial = true;
    step(s);
    s->initial = false;
}

static void step_sequence(xt_scheduler *s) {
    size_t i = 0;
    s->at++;
    while (i < s->n.n_milestones && s->n.milestones[i] <= s->at) i++;
    xt_scheduler *child = s->children[i];
    if (i == 0 || s->n.milestones[i - 1] != s->at)
        step(child);
    else if (child->n_children) {
        for (size_t g = 0; g < s->n_base; g++) s->opt->groups[g].h.lr = s->base[g];
        first_step(child);
    } else {
        child->at = 0;
        apply(child, true);
    }
}

void schedule_fail(const xt_scheduler *s, xt_status e) {
    lazy_fail(s->made ? status_at(e, src_get(s->made)) : e);
}

static void step_again(void *user) {
    step(user);
}

static void step_once(xt_scheduler *s, bool by_trainer) {
    if (!s) return; /* its own error is pending */
    schedule_watch_step(s, by_trainer);
    step(s);
    lazy_on_replay(&(lazy_replay){.before = step_again, .user = s});
}

static bool owned(const xt_optimizer *o, const xt_scheduler *s) {
    for (size_t i = 0; i < o->n_schedulers; i++)
        if (o->schedulers[i] == s) return true;
    return false;
}

void xt_schedule_step(xt_scheduler *s) {
    if (s && !owned(s->opt, s))
        schedule_fail(s, status_new(XT_INVALID_ARGUMENT, NULL,
                                    "xt_schedule_step: this %s schedule is a part of another one, which steps it; step "
                                    "that one",
                                    s->kind->name));
    else
        step_once(s, false);
}

void schedule_step_of_fit(xt_scheduler *s) {
    step_once(s, true);
}

static void step(xt_scheduler *s) {
    if (s->kind == &schedule_on_plateau)
        schedule_fail(s, status_new(XT_INVALID_ARGUMENT, NULL,
                                    "xt_schedule_step: a plateau schedule goes by a value; use xt_schedule_step_value "
                                    "or xt_schedule_step_tensor"));
    else if (s->kind == &schedule_chained) {
        s->at++;
        for (size_t i = 0; i < s->n_children; i++) step(s->children[i]);
    } else if (s->kind == &schedule_sequential)
        step_sequence(s);
    else {
        if (s->kind->advance)
            s->kind->advance(s);
        else
            s->at++;
        apply(s, false);
    }
}

double xt_schedule_lr(const xt_scheduler *s) {
    return s ? s->opt->groups[0].h.lr : 0;
}
int64_t xt_schedule_last_epoch(const xt_scheduler *s) {
    return s ? s->at : 0;
}

/* --- several --- */
const schedule_kind schedule_sequential = {.name = "sequential"}, schedule_chained = {.name = "chained"};

/* The parts leave the optimizer's list: their composite owns and steps them. */
static void adopt(xt_scheduler *s, xt_scheduler *child) {
    xt_optimizer *o = s->opt;
    s->children[s->n_children++] = child;
    for (size_t i = 0; i < o->n_schedulers; i++)
        if (o->schedulers[i] == child) {
            memmove(&o->schedulers[i], &o->schedulers[i + 1], (o->n_schedulers - i - 1) * sizeof *o->schedulers);
            o->n_schedulers--;
            return;
        }
}

static xt_status check_parts(const xt_optimizer *o, const char *what, const xt_sequence_opts *p, size_t *out_n) {
    size_t n = 0;
    while (n < XT_SCHEDULE_MOST && p->schedules[n]) n++;
    *out_n = n;
    if (n == 0) return status_new(XT_INVALID_ARGUMENT, NULL, "%s: .schedules is empty", what);
    for (size_t i = 0; i < n; i++) {
        if (!owned(o, p->schedules[i]))
            return status_new(XT_INVALID_ARGUMENT, NULL,
                              "%s: schedule %zu belongs to another optimizer or to another sequence", what, i);
        for (size_t k = 0; k < i; k++)
            if (p->schedules[k] == p->schedules[i])
                return status_new(XT_INVALID_ARGUMENT, NULL, "%s: schedules %zu and %zu are the same", what, k, i);
        if (p->schedules[i]->kind == &schedule_on_plateau)
            return status_new(XT_INVALID_ARGUMENT, NULL,
                              "%s: schedule %zu is a plateau schedule, which goes by a value", what, i);
    }
    return NULL;
}

static xt_status check_milestones(const xt_sequence_opts *p, size_t n) {
    for (size_t i = 0; i + 1 < n; i++)
        if (p->milestones[i] < 1 || (i && p->milestones[i] <= p->milestones[i - 1]))
            return status_new(
                XT_INVALID_ARGUMENT, NULL,
                "xt_sequential_schedule: %zu schedules need %zu rising milestones of at least 1; number %zu is %lld", n,
                n - 1, i, (long long)p->milestones[i]);
    return n < XT_SCHEDULE_MOST && p->milestones[n - 1]
               ? status_new(XT_INVALID_ARGUMENT, NULL,
                            "xt_sequential_schedule: %zu schedules need %zu milestones, there are more", n, n - 1)
               : NULL;
}

static void undo(xt_scheduler *s) {
    for (size_t i = 0; i < s->n_children; i++) undo(s->children[i]);
    if (s->n_children == 0) s->at--;
}

xt_scheduler *xt_sequential_schedule_opt(const xt_src *src, xt_optimizer *o, xt_sequence_opts p) {
    SRC_CALLED_FROM(src);
    size_t n = 0;
    if (!o) return NULL;
    xt_status e = check_parts(o, "xt_sequential_schedule", &p, &n);
    if (!e) e = check_milestones(&p, n);
    schedule_numbers numbers = {.n_milestones = n ? n - 1 : 0};
    memcpy(numbers.milestones, p.milestones, sizeof numbers.milestones);
    xt_scheduler *s = schedule_new(&schedule_sequential, o, "xt_sequential_schedule", e, &numbers, p.interval, false);
    if (!s) return NULL;
    for (size_t i = 0; i < n; i++) adopt(s, p.schedules[i]);
    for (size_t g = 0; g < o->n_groups; g++) o->groups[g].h.lr = o->groups[g].initial_lr;
    s->at = 0;
    undo(s);
    s->children[0]->initial = true;
    step(s->children[0]);
    s->children[0]->initial = false;
    return s;
}

xt_scheduler *xt_chained_schedule_opt(const xt_src *src, xt_optimizer *o, xt_sequence_opts p) {
    SRC_CALLED_FROM(src);
    size_t n = 0;
    if (!o) return NULL;
    xt_status e = check_parts(o, "xt_chained_schedule", &p, &n);
    xt_scheduler *s = schedule_new(&schedule_chained, o, "xt_chained_schedule", e, NULL, p.interval, false);
    for (size_t i = 0; s && i < n; i++) adopt(s, p.schedules[i]);
    if (s) s->at = 0;
    return s;
}

xt_scheduler *xt_warmup_schedule_opt(const xt_src *src, xt_optimizer *o, int64_t steps, xt_scheduler *then,
                                     xt_warmup_opts p) {
    SRC_CALLED_FROM(src);
    if (!o) return NULL;
    if (steps < 1) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, NULL, "xt_warmup_schedule: %lld steps; at least 1 is needed",
                             (long long)steps));
        return NULL;
    }
    xt_scheduler *rise =
        /* an error has `src` */
        xt_linear_schedule(o, .start_factor = p.start_factor, .total_iters = steps, .interval = p.interval);
    if (!rise || !then) return rise;
    return xt_sequential_schedule(o, .schedules = {rise, then}, .milestones = {steps}, .interval = p.interval);
}

/* --- position --- */
cJSON *json_number(double v) {
    char text[40];
    snprintf(text, sizeof text, "%.17g", v);
    return cJSON_CreateRaw(text);
}

static cJSON *state_of(const xt_scheduler *s) {
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "kind", s->kind->name);
    cJSON_AddNumberToObject(o, "last_epoch", (double)s->at);
    cJSON *base = cJSON_AddArrayToObject(o, "base_lrs");
    for (size_t g = 0; g < s->n_base; g++) cJSON_AddItemToArray(base, json_number(s->base[g]));
    if (s->t_cur || s->t_i) {
        cJSON_AddNumberToObject(o, "t_cur", (double)s->t_cur);
        cJSON_AddNumberToObject(o, "t_i", (double)s->t_i);
    }
    if (s->plateau) {
        if (isfinite(s->plateau->best)) cJSON_AddItemToObject(o, "best", json_number(s->plateau->best));
        cJSON_AddNumberToObject(o, "num_bad_epochs", (double)s->plateau->bad);
        cJSON_AddNumberToObject(o, "cooldown_counter", (double)s->plateau->cooling);
    }
    if (s->n_children) {
        cJSON *all = cJSON_AddArrayToObject(o, "schedules");
        for (size_t i = 0; i < s->n_children; i++) cJSON_AddItemToArray(all, state_of(s->children[i]));
    }
    return o;
}

char *schedule_text(const xt_scheduler *s) {
    cJSON *o = state_of(s);
    char *text = cJSON_PrintUnformatted(o), *out = text ? base_strdup(text) : NULL;
    cJSON_free(text);
    cJSON_Delete(o);
    return out;
}

size_t xt_schedule_save(const xt_scheduler *s, char *buf, size_t n) {
    char *text = s ? schedule_text(s) : NULL;
    size_t len = text ? strlen(text) : 0;
    if (n) snprintf(buf, n, "%s", text ? text : "");
    base_free(text);
    return len;
}

static double number(const cJSON *o, const char *key, double otherwise) {
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
    return cJSON_IsNumber(v) ? v->valuedouble : otherwise;
}

/* What counts, with the places where it is kept: one table for the look before and for the change. -1: no step yet. */
static xt_status counts(xt_scheduler *s, const cJSON *o, bool change) {
    int64_t none = 0;
    const struct {
        const char *key;
        int64_t *to, least, otherwise;
    } rows[] = {{"last_epoch", &s->at, -1, 0},
                {"t_cur", &s->t_cur, 0, s->t_cur},
                {"t_i", &s->t_i, s->t_i > 0, s->t_i}, /* t_cur is counted modulo it */
                {"num_bad_epochs", s->plateau ? &s->plateau->bad : &none, 0, 0},
                {"cooldown_counter", s->plateau ? &s->plateau->cooling : &none, 0, 0}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        int64_t v = rows[i].otherwise;
        const cJSON *n = cJSON_GetObjectItemCaseSensitive(o, rows[i].key);
        if (cJSON_IsNumber(n)) XT_TRY(saved_number(rows[i].key, n->valuedouble, rows[i].least, SAVED_COUNT, &v));
        if (change) *rows[i].to = v;
    }
    return NULL;
}

/* All checks before any change. */
static xt_status fits(xt_scheduler *s, const cJSON *o) {
    const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, "kind"));
    const cJSON *parts = cJSON_GetObjectItemCaseSensitive(o, "schedules"),
                *base = cJSON_GetObjectItemCaseSensitive(o, "base_lrs");
    if (!kind) return status_new(XT_DATA_LOSS, NULL, "the state of a schedule is no JSON of one");
    if (strcmp(kind, s->kind->name) != 0)
        return status_new(XT_INVALID_ARGUMENT, NULL, "the state is that of a %s schedule, this one is %s", kind,
                          s->kind->name);
    if (cJSON_GetArraySize(base) != (int)s->n_base || cJSON_GetArraySize(parts) != (int)s->n_children)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "the state is that of a schedule with %d groups and %d parts, this one has %zu and %zu",
                          cJSON_GetArraySize(base), cJSON_GetArraySize(parts), s->n_base, s->n_children);
    XT_TRY(counts(s, o, false));
    for (size_t i = 0; i < s->n_children; i++) XT_TRY(fits(s->children[i], cJSON_GetArrayItem(parts, (int)i)));
    return NULL;
}

static void load(xt_scheduler *s, const cJSON *o) {
    const cJSON *parts = cJSON_GetObjectItemCaseSensitive(o, "schedules"),
                *base = cJSON_GetObjectItemCaseSensitive(o, "base_lrs");
    xt_status_free(counts(s, o, true)); /* looked at by fits */
    s->refused = false;
    for (size_t g = 0; g < s->n_base; g++) {
        const cJSON *v = cJSON_GetArrayItem(base, (int)g);
        if (cJSON_IsNumber(v)) s->base[g] = v->valuedouble;
    }
    if (s->plateau) {
        s->plateau->best = number(o, "best", s->plateau->o.mode == XT_MAX ? -INFINITY : INFINITY);
    }
    for (size_t i = 0; i < s->n_children; i++) load(s->children[i], cJSON_GetArrayItem(parts, (int)i));
}

xt_status schedule_load(xt_scheduler *s, const cJSON *state) {
    XT_TRY(fits(s, state));
    load(s, state);
    return NULL;
}

xt_status xt_schedule_load(xt_scheduler *s, const char *json) {
    if (!s || !json) return status_new(XT_INVALID_ARGUMENT, NULL, "xt_schedule_load: a schedule and a text are needed");
    cJSON *o = cJSON_Parse(json);
    xt_status e = o ? schedule_load(s, o) : status_new(XT_DATA_LOSS, NULL, "the state of a schedule is no JSON");
    cJSON_Delete(o);
    return e;
}
