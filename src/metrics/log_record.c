/* What xt_log, xt_log_value and xt_log_metric note: the metric that a name stands for in its stage, its options, which
 * agree in all calls, and the value and its weight, which wait for the step's end (log_step.c). */
#include <float.h>
#include <math.h>

#include "metrics/functions.h"
#include "metrics/log_int.h"

static void settle_options(log_stage s, xt_log_opts *o) {
    bool train = s == LOG_TRAIN;
    if (o->on_step == XT_DEFAULT) o->on_step = train ? XT_ON : XT_OFF;
    if (o->on_epoch == XT_DEFAULT) o->on_epoch = train ? XT_OFF : XT_ON;
    if (o->reduce == XT_REDUCE_DEFAULT) o->reduce = XT_MEAN;
}

static bool same_options(const xt_log_opts *a, const xt_log_opts *b) {
    return a->on_step == b->on_step && a->on_epoch == b->on_epoch && a->reduce == b->reduce &&
           a->sync_dist == b->sync_dist && (a->prog_bar == XT_ON) == (b->prog_bar == XT_ON);
}

/* The call under way is the trainer's own (log_own): the names of its columns are others than a task's. */
static __thread bool own_call;

/* The call differs from an earlier one of its name, or of its rows' name, at m->src. */
static void refuse_other(const log_metric *m, const xt_src *src, const char *name, const char *what) {
    char at[256];
    lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "%s \"%s\": logged at %s %s; give one of them another name",
                         log_call(), name, src_text(m->src, at, sizeof at), what));
}

/* What the name stands for in earlier calls is another kind of value. */
static void refuse_kind(const log_metric *m, const xt_src *src, const char *name, const log_kind *here) {
    const log_kind there = log_kind_of(m);
    char what[2 * LOG_KIND_BYTES + 32], text[2][LOG_KIND_BYTES];
    snprintf(what, sizeof what, "as %s, here as %s", log_kind_text(&there, text[0]), log_kind_text(here, text[1]));
    refuse_other(m, src, name, what);
}

static bool same_kind(const log_kind *a, const log_kind *b) {
    return log_kind_same(a, b) && (a->finish || a->reduce == b->reduce);
}

/* The task's value at `src` has the name of the trainer's own, which is of another kind. */
static void refuse_beside_own(const log_metric *own, const char *call, const xt_src *src, const char *name,
                              const log_kind *its) {
    const log_kind there = log_kind_of(own);
    char at[256], text[2][LOG_KIND_BYTES];
    lazy_fail(status_new(XT_INVALID_ARGUMENT, src,
                         "%s \"%s\": the trainer's own \"%s\" (of the training at %s) is %s, here it is %s; give this "
                         "one another name",
                         call ? call : "xt_log", name, own->name, src_text(own->src, at, sizeof at),
                         log_kind_text(&there, text[0]), log_kind_text(its, text[1])));
}

/* Stages have options of their own, but their rows share curves, tables and what callbacks watch: there a name is one
 * kind of value, reduced in one way, be it the trainer's own. */
static bool one_kind(const log_engine *e, log_stage stage, const log_metric *m, const xt_src *src) {
    const log_kind here = log_kind_of(m);
    for (int s = 0; s < LOG_STAGE_COUNT; s++) {
        size_t beside[LOG_BESIDE];
        if (s == (int)stage) continue;
        log_metrics_beside(&e->sets[s], m, beside);
        for (size_t i = 0; i < LOG_BESIDE; i++) {
            if (beside[i] == LOG_NONE) continue;
            const log_metric *other = &e->sets[s].metrics[beside[i]];
            const log_kind there = log_kind_of(other);
            if (same_kind(&there, &here) || other->restored || (other->own && m->own)) continue;
            if (strcmp(other->name, m->name) != 0 && !log_columns_shared(other, m)) continue;
            if (m->own)
                refuse_beside_own(m, other->call, src_get(other->src), other->name, &there);
            else if (other->own)
                refuse_beside_own(other, log_call(), src, m->name, &here);
            else
                refuse_kind(other, src, m->name, &here);
            return false;
        }
    }
    return true;
}

static log_metric *metric_new(log_engine *e, const xt_src *src, const char *name, const xt_log_opts *o,
                              const log_kind *kind) {
    log_set *set = &e->sets[e->stage];
    log_metric m = {.name = base_strdup(name),
                    .o = *o,
                    .call = log_call(),
                    .src = src_intern(src),
                    .at = set->used,
                    .kind = *kind,
                    .own = own_call};
    if (!m.name || !log_metric_push(set, m)) {
        base_free(m.name);
        lazy_fail(status_oom(sizeof m, "a metric"));
        return NULL;
    }
    if (!one_kind(e, e->stage, &set->metrics[set->n - 1], src) || !log_columns_free(e, set, set->n - 1, src)) {
        log_metric_pop(set);
        return NULL;
    }
    set->used += kind->count;
    return &set->metrics[set->n - 1];
}

static log_metric *metric_of(log_engine *e, const xt_src *src, const char *name, const xt_log_opts *o,
                             const log_kind *kind) {
    log_set *set = &e->sets[e->stage];
    size_t i = log_metric_named(set, name);
    if (i != LOG_NONE) {
        log_metric *m = &set->metrics[i];
        const log_kind before = log_kind_of(m);
        if (m->own && !m->restored && !own_call && !same_kind(&before, kind)) { /* its rows have that one's values */
            refuse_beside_own(m, log_call(), src, name, kind);
            return NULL;
        }
        m->restored = m->restored || m->own; /* its options are the task's from here on; log_own says so again */
        if (m->restored && m->kind.count != kind->count) {
            /* another metric than before, whose sums need other rows: these stay empty */
            log_metric_unname(set, i);
            m->o.on_step = m->o.on_epoch = m->o.sync_dist = XT_OFF;
            return metric_new(e, src, name, o, kind);
        }
        if (m->restored) {
            *m = (log_metric){.name = m->name,
                              .o = *o,
                              .call = log_call(),
                              .src = src_intern(src),
                              .at = m->at,
                              .kind = *kind,
                              .own = own_call,
                              .listed = m->listed,
                              .first_pending = m->first_pending};
            if (!one_kind(e, e->stage, m, src) || !log_columns_free(e, set, i, src)) {
                m->restored = true;
                return NULL;
            }
        }
        if (!same_options(&m->o, o)) {
            refuse_other(m, src, name,
                         "with other options (on_step, on_epoch, reduce, sync_dist, prog_bar must agree)");
            return NULL;
        }
        const log_kind there = log_kind_of(m);
        if (!log_kind_same(&there, kind)) {
            refuse_kind(m, src, name, kind);
            return NULL;
        }
        return m;
    }
    return metric_new(e, src, name, o, kind);
}

/* A kept tensor may be dropped behind the log call, before the step's end looks at the value. In a
 * compiled function that is an error, and a handle made anew at each recording would end its replays. */
static void hold_kept(const xt_src *src, log_pending *p) {
    if (p->is_number || p->weight.slot || !lazy_is_kept(p->value) || lazy_tracing()) return;
    xt_tensor shared = lazy_share(src, p->value);
    p->held = lazy_type(shared) != NULL;
    if (!p->held) lazy_begin(src);
    p->value = p->held ? shared : lazy_wrap(lazy_value(p->value), "xt_log");
}

typedef struct noted { /* what a log call gives */
    xt_tensor value, weight; /* value none: number */
    double number, weight_value;
    log_weigh weigh;
    log_kind kind; /* of a share `weight` is the denominator */
} noted;

/* As one_kind: between steps a value is the epoch's. */
static bool one_kind_between(const log_engine *e, const xt_src *src, const char *name, const log_metric *given) {
    log_metric as = *given;
    as.name = (char *)(uintptr_t)name;
    as.o.on_step = XT_OFF;
    as.o.on_epoch = XT_ON;
    settle_options(e->given_stage, &as.o);
    return one_kind(e, e->given_stage, &as, src);
}

/* Around an epoch or a pass: the value is of the epoch, whatever the stage's steps log by default. */
static void note_between(log_engine *e, const xt_src *src, const char *name, const noted *v, const xt_log_opts *o) {
    log_given g = {.metric = {.o = *o, .src = src_intern(src), .kind = v->kind},
                   .value = v->value,
                   .weight = v->weight,
                   .number = v->number,
                   .weight_value = v->weight_value};
    if (e->place == LOG_NOWHERE || e->place == LOG_CLOSED)
        lazy_fail(status_new(XT_FAILED_PRECONDITION, src,
                             "%s \"%s\": nothing is trained, validated or tested here (setup, teardown, "
                             "configure_optimizers, the start and end of a fit, "
                             "predictions); xt_trainer_log_host writes numbers at any time of a fit",
                             log_call(), name));
    else if (o->on_step == XT_ON || o->on_epoch == XT_OFF)
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src,
                             "%s \"%s\": %s, but between steps a value is of the whole epoch; log it in a hook of "
                             "the batches, or leave on_step and on_epoch unset",
                             log_call(), name, o->on_step == XT_ON ? "on_step is on" : "on_epoch is off"));
    else if (one_kind_between(e, src, name, &g.metric) && log_columns_between(e, src, name)) {
        if ((g.metric.name = base_strdup(name)))
            log_between_note(e, g);
        else
            lazy_fail(status_oom(strlen(name), "a logged value"));
    }
}

static bool good_call(const xt_src *src, const char *name, const xt_log_opts *o) {
    xt_status s = NULL;
    if (!name || !*name)
        s = status_new(XT_INVALID_ARGUMENT, src, "%s: the name is empty", log_call());
    else if ((int)o->reduce < 0 || o->reduce > XT_LAST)
        s = status_new(XT_INVALID_ARGUMENT, src,
                       "%s \"%s\": .reduce is %d; expected XT_MEAN, XT_SUM, XT_MIN, XT_MAX or XT_LAST", log_call(),
                       name, (int)o->reduce);
    else if (o->batch_size < -1)
        s = status_new(
            XT_INVALID_ARGUMENT, src,
            "%s \"%s\": .batch_size is %lld; the weight of a mean is not negative (-1: the size of the batch)",
            log_call(), name, (long long)o->batch_size);
    if (s) lazy_fail(s);
    return !s;
}

/* The name has a value in this step already, which the later one then joins: log_again. In a loop of the program's own
 * it may be the next iteration's, where an update or the line shows that the loop has come round; but behind an
 * iteration's update it is of that iteration, unless its place is above the update. What follows may show that it was
 * the next one's all the same (another loop's), so there both stand until the step's values are recorded. NULL: it
 * stands alone. */
static log_pending *there_already(log_engine *e, log_set *set, int which, const xt_src *src, size_t call) {
    size_t i = log_pending_first(set, (size_t)which);
    if (i == LOG_NONE) return NULL;
    log_pending *p = &set->pending[i];
    if (e->manual || lazy_tracing() || set->holds) return p;
    int64_t now = lazy_loop_steps();
    bool behind = lazy_call_is_behind(call), ahead = lazy_call_is_ahead(call) && !lazy_call_is_ahead(p->call);
    bool updated = (p->updates != now && !behind) || ahead, again = p->line == src_intern(src);
    bool round = set == &e->sets[LOG_TRAIN] ? updated && !lazy_loops_may_part() : updated || again;
    if (round) log_plain_round(e, set, which, behind ? now : p->updates, ahead);
    return NULL;
}

static log_metric *known(log_set *set, const char *name) {
    size_t i = log_metric_named(set, name);
    return i != LOG_NONE && !set->metrics[i].restored ? &set->metrics[i] : NULL;
}

/* The stage takes what a call gives: its name is new and its columns are free, or it agrees with the earlier calls. */
static bool takes(log_engine *e, log_stage s, const char *name, const xt_log_opts *given, log_kind kind, src_id line) {
    const log_metric *m = known(&e->sets[s], name);
    log_metric it = {.name = (char *)(uintptr_t)name, .o = *given};
    settle_options(s, &it.o);
    kind.reduce = it.o.reduce;
    if (m) {
        const log_kind there = log_kind_of(m);
        return (!line || m->src == line) && same_options(&m->o, &it.o) && log_kind_same(&there, &kind);
    }
    bool is_free = !line;
    char column[LOG_COLUMN_BYTES];
    for (int epoch = 0; epoch < 2 && is_free; epoch++) {
        log_column_name(&it, 0, epoch, column);
        is_free = (epoch ? it.o.on_epoch : it.o.on_step) != XT_ON || !log_columns_known(e, s, column);
    }
    return is_free;
}

/* Without xt_train a training goes on in evaluation mode behind a validation, and only its first update shows that
 * (log_pending_move). A line of the training's, whose call the validation cannot take beside its own, needs no update
 * to be known. */
static bool strays(log_engine *e, const xt_src *src, const char *name, const xt_log_opts *given, log_kind kind) {
    return !e->manual && e->stage == LOG_VALIDATE && takes(e, LOG_TRAIN, name, given, kind, src_intern(src)) &&
           !takes(e, LOG_VALIDATE, name, given, kind, 0);
}

void log_pending_refuse_strayed(log_engine *e) {
    log_set *set = &e->sets[LOG_TRAIN];
    for (size_t i = 0; i < set->n_pending; i++) {
        if (!set->pending[i].strayed) continue;
        const log_metric *m = &set->metrics[set->pending[i].metric];
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src_get(m->src),
                             "%s \"%s\": this line logs values of the training, but what is trained is in "
                             "evaluation mode and no optimizer has stepped; the validation logs such a name with other "
                             "options: call xt_train before the training goes on, or give one of them another name",
                             m->call, m->name));
        return;
    }
}

/* A weight of 0 is one (a batch without a valid token), and a mean of nothing else is no number: it has no place in a
 * row, which is said at the name's first value. */
static void tell_no_weight(const xt_src *src, const char *name, const xt_log_opts *o) {
    char key[192], line[256];
    bool mean = o->reduce == XT_REDUCE_DEFAULT || o->reduce == XT_MEAN;
    if (o->batch_size != 0 || !mean) return;
    snprintf(key, sizeof key, "no weight %.150s", name);
    log_once(key, XT_SEV_WARNING,
             "%s: %s \"%s\": .batch_size = 0 gives this value no weight in its mean, and rows in which all have "
             "none leave \"%s\" out; left out, .batch_size is the size of the batch (said once)",
             src_text(src_intern(src), line, sizeof line), log_call(), name, name);
}

/* In a step of the engine's stage. */
static void note_in_step(log_engine *e, const xt_src *src, const char *name, noted v, xt_log_opts o, bool strayed) {
    xt_log_opts given = o;
    settle_options(e->stage, &o);
    if (o.on_step == XT_OFF && o.on_epoch == XT_OFF) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src,
                             "%s \"%s\": on_step and on_epoch are both off, so it would never be written", log_call(),
                             name));
        return;
    }
    if (!known(&e->sets[e->stage], name)) tell_no_weight(src, name, &o);
    v.kind.reduce = o.reduce;
    log_metric *m = metric_of(e, src, name, &o, &v.kind);
    if (!m) return;
    m->given = given;
    if (m->loaders < e->loader_plus_1) m->loaders = e->loader_plus_1;
    log_set *set = &e->sets[e->stage];
    int which = (int)(m - set->metrics);
    size_t noted_call = e->manual ? SIZE_MAX : lazy_call_noted(src);
    if (set == &e->sets[LOG_TRAIN] && !e->manual) log_plain_goes_on(e, noted_call);
    log_pending *before = there_already(e, set, which, src, noted_call);
    log_pending p = {.metric = which,
                     .line = src_intern(src),
                     .updates = lazy_loop_steps(),
                     .call = noted_call,
                     .value = v.value,
                     .weight = v.weight,
                     .number = v.number,
                     .weight_value = v.weight_value,
                     .is_number = !v.value.slot,
                     .strayed = strayed,
                     .weigh = v.weigh};
    hold_kept(src, &p);
    if (before) {
        log_again(src, m, before, &p);
        return;
    }
    if (set->epoch_begins && !set->n_pending) set->first_call = p.call, set->first_step = lazy_step();
    if (log_pending_push(set, p)) return;
    log_pending_drop(&p);
    lazy_fail(status_oom(sizeof p, "a logged value"));
}

static void note(const xt_src *src, const char *name, noted v, xt_log_opts o) {
    if (lazy_refuse_in_loop(src, "logging")) return;
    log_engine *e = log_engine_get();
    if (!e || !good_call(src, name, &o)) return;
    if (!e->manual) lazy_at_work();
    if (log_muted(e, log_call(), name)) return;
    if (e->loader_plus_1 && strstr(name, "/dataloader_idx_")) {
        lazy_fail(
            status_new(XT_INVALID_ARGUMENT, src,
                       "%s \"%s\": with several validation loaders names end with /dataloader_idx_K by themselves",
                       log_call(), name));
        return;
    }
    if (e->place != LOG_IN_STEP) {
        note_between(e, src, name, &v, &o);
        return;
    }
    log_plain_stage(e);
    log_stage stage = e->stage;
    bool strayed = strays(e, src, name, &o, v.kind);
    if (strayed) e->stage = LOG_TRAIN;
    note_in_step(e, src, name, v, o, strayed);
    e->stage = stage;
}

void log_pending_move(log_engine *e, log_stage from, log_stage to) {
    log_set *set = &e->sets[from], *into = &e->sets[to];
    log_stage was = e->stage;
    e->stage = to;
    for (size_t i = 0; i < set->n_pending; i++) {
        log_pending p = set->pending[i];
        log_metric *m = &set->metrics[p.metric];
        xt_log_opts o = m->given;
        settle_options(e->stage, &o);
        const log_kind kind = log_kind_of(m);
        log_metric *of = metric_of(e, src_get(m->src), m->name, &o, &kind);
        if (of) of->given = m->given, of->call = m->call;
        p.metric = of ? (int)(of - into->metrics) : 0;
        if (!of || !log_pending_push(into, p)) log_pending_drop(&p);
    }
    set->n_pending = 0;
    log_pending_index(set);
    e->stage = was;
}

/* The size of a batch is a constant of the program, as its shapes are. What may change while the shapes stay is data: a
 * size that the call gives (tokens of this batch, say), and the samples of a batch whose end may be padding. A sum
 * never looks at the batch, and between steps there is none. */
static noted weighed(noted v, const xt_log_opts *o) {
    log_engine *e = log_engine_get();
    if (e) log_plain_stage(e);
    const lazy_pass at = e ? log_pass_of(e, &e->sets[e->stage]) : (lazy_pass){.batch_size = 1};
    bool in_step = e && e->place == LOG_IN_STEP && !e->mute;
    bool never = o->reduce == XT_SUM || o->reduce == XT_MIN || o->reduce == XT_MAX || o->reduce == XT_LAST;
    v.weight_value = in_step ? (double)at.batch_size : 1;
    if (o->reduce == XT_SUM || (never && o->batch_size == 0)) /* only a mean has weights */
        v.weight_value = 1;
    else if (o->batch_size >= 0) {
        v.weight_value = (double)o->batch_size;
        if (in_step) v.weigh = LOG_WEIGH_NUMBER;
    } else if (in_step && at.padded)
        v.weigh = LOG_WEIGH_SAMPLES;
    return v;
}

void xt_log_at(const xt_src *src, const char *name, xt_tensor t, xt_log_opts o) {
    log_calls("xt_log");
    const ir_type *type = lazy_type(t);
    lazy_begin(src);
    if (!type) {
        lazy_value(t); /* names a dead or none handle; an error tensor has its error pending already */
        return;
    }
    if (type->count != 1) {
        str text = STR_INIT;
        ir_type_print(type, &text);
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src,
                             "xt_log \"%s\": the tensor is %s; a logged value has one element (xt_mean of it?)",
                             name ? name : "", str_cstr(&text)));
        str_free(&text);
        return;
    }
    if (ir_dtype_is_complex(type->dtype)) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src,
                             "xt_log \"%s\": the tensor is complex; a logged value is one real number (xt_real, "
                             "xt_imag or xt_abs of it?)",
                             name ? name : ""));
        return;
    }
    note(src, name, weighed((noted){.value = t, .kind.count = 1}, &o), o);
}

void log_own(const xt_src *src, const char *name, const char *otherwise, xt_tensor t, xt_log_opts o) {
    log_engine *e = log_engine_get();
    log_set *set = e ? &e->sets[e->stage] : NULL;
    log_metric *m = set ? known(set, name) : NULL;
    if (m && !m->own && log_pending_first(set, (size_t)(m - set->metrics)) != LOG_NONE) return;
    if (m && !m->own) name = otherwise;
    char epoch[LOG_COLUMN_BYTES];
    snprintf(epoch, sizeof epoch, "%s_epoch", name);
    if (e && log_columns_known(e, e->stage, epoch)) o.on_epoch = XT_OFF; /* the task has one of its own */
    own_call = true;
    xt_log_at(src, name, t, o);
    own_call = false;
}

/* The sums are f32: what has no place there is another number in its row. */
static void tell_rounded(const xt_src *src, const char *name, double v) {
    char key[192], line[256];
    bool whole = v == rint(v) && fabs(v) >= 0x1p24 && fabs(v) <= 0x1p53 && (double)(float)v != v;
    if (!name || !isfinite(v) || !(fabs(v) > (double)FLT_MAX || whole)) return;
    snprintf(key, sizeof key, "rounded %.150s", name);
    log_once(
        key, XT_SEV_WARNING,
        "%s: xt_log_value \"%s\": %.17g is %.9g in its row: logged values are f32, which counts to 16777216 and has "
        "7 digits beyond that; log it in a larger unit, or a difference (said once)",
        src_text(src_intern(src), line, sizeof line), name, v, (double)(float)v);
}

void xt_log_value_at(const xt_src *src, const char *name, double v, xt_log_opts o) {
    log_calls("xt_log_value");
    tell_rounded(src, name, v);
    note(src, name, weighed((noted){.number = v, .kind.count = 1}, &o), o);
}

enum { MOST_SUMS = 1 << 20 };

static void log_sums_of(const xt_src *src, const char *name, xt_metric m, xt_log_opts o) {
    const ir_type *t = lazy_type(m.sums);
    if (!t) {
        lazy_value(m.sums);
        return;
    }
    if (t->count < 1 || t->count > MOST_SUMS)
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "xt_log_metric \"%s\": it has %lld sums; 1 to %d can be logged",
                             name ? name : "", (long long)t->count, MOST_SUMS));
    else
        note(src, name,
             (noted){.value = m.sums, .weight_value = 1, .kind = {.count = t->count, .finish = m.finish, .arg = m.arg}},
             o);
}

void xt_log_metric_at(const xt_src *src, const char *name, xt_metric m, xt_log_opts o) {
    log_calls("xt_log_metric");
    lazy_begin(src);
    if (m.finish) {
        log_sums_of(src, name, m, o);
        return;
    }
    if (!lazy_type(m.numerator) || !lazy_type(m.denominator)) {
        lazy_value(m.numerator);
        return;
    }
    xt_no_grad_begin();
    xt_tensor num = xt_cast_at(src, m.numerator, XT_F32), den = xt_cast_at(src, m.denominator, XT_F32);
    /* 0 of 0 weighs nothing and must not become a NaN */
    xt_tensor some = xt_maximum_at(src, den, xt_full_at(src, 1e-30, XT_F32, XT_DIMS_(0)));
    xt_tensor ratio = xt_div_at(src, num, some);
    xt_no_grad_end_at(NULL);
    note(src, name,
         (noted){.value = ratio,
                 .weight = den,
                 .weigh = LOG_WEIGH_TENSOR,
                 .kind = {.share = true, .count = 1, .arg = metric_share_settled(m.arg)}},
         o);
}
