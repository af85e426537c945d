/* The recording side of the log engine: what xt_log calls note, and the few ops that add a step's values to the packed state. */
#include <math.h>

#include "metrics/log_int.h"

static __thread log_engine *engine;

static void engine_free(void *p) {
    log_engine *e = p;
    for (int s = 0; s < LOG_STAGE_COUNT; s++) {
        log_set *set = &e->sets[s];
        for (size_t i = 0; i < set->n; i++) base_free(set->metrics[i].name);
        base_free(set->metrics);
        base_free(set->pending);
        if (lazy_type(set->state)) xt_drop_at(XT_HERE, set->state);
        lazy_replay_forget(set);
        lazy_options_forget(set);
    }
    log_between_free(e);
    base_free(e);
    if (engine == e) engine = NULL;
}

log_engine *log_engine_get(void) {
    if (engine) return engine;
    log_engine *e = base_calloc(1, sizeof *e);
    if (!e) return NULL;
    e->every = 50;
    for (int s = 0; s < LOG_STAGE_COUNT; s++) e->sets[s].epoch_begins = e->sets[s].window_begins = true;
    lazy_own(e, engine_free);
    engine = e;
    log_observe_boundaries();
    return e;
}

log_engine *log_engine_peek(void) {
    return engine;
}

void log_set_stage(log_stage s) {
    log_engine *e = log_engine_get();
    if (e) e->stage = s;
}

void log_set_manual(bool on) {
    log_engine *e = log_engine_get();
    if (!e) return;
    e->manual = on;
    e->seen_steps = counter_get(COUNTER_optimizer_steps); /* of a plain loop that follows: only its own steps make rows */
}

log_place log_set_place(log_place place, log_stage of) {
    log_engine *e = log_engine_get();
    log_place was = e ? e->place : LOG_IN_STEP;
    if (e) e->place = place, e->given_stage = of;
    return was;
}

void log_forget_step(log_stage s) {
    log_engine *e = log_engine_peek();
    if (e) e->sets[s].n_pending = 0;
}

void log_set_mute(bool on) {
    log_engine *e = log_engine_get();
    if (e) e->mute = on, e->mute_said = false;
}

void log_set_loader(int k) {
    log_engine *e = log_engine_get();
    if (e) e->loader_plus_1 = k + 1;
}

void log_window_begin(void) {
    log_engine *e = log_engine_get();
    if (e) e->sets[e->stage].window_begins = true;
}

bool log_knows(log_stage s, const char *name) {
    log_engine *e = log_engine_peek();
    for (size_t i = 0; e && i < e->sets[s].n; i++)
        if (strcmp(e->sets[s].metrics[i].name, name) == 0 && !e->sets[s].metrics[i].restored) return true;
    return false;
}

void log_append_names(log_stage s, str *out) {
    log_engine *e = log_engine_peek();
    size_t before = out->len;
    for (size_t i = 0; e && i < e->sets[s].n; i++)
        if (!e->sets[s].metrics[i].restored) str_printf(out, "%s%s", out->len > before ? ", " : "", e->sets[s].metrics[i].name);
}

xt_status log_not_logged(const char *who, const char *name) {
    static const log_stage stages[] = {LOG_VALIDATE, LOG_TRAIN};
    const log_engine *e = log_engine_peek();
    str names = STR_INIT;
    const char **all = NULL, *near;
    size_t n = 0, cap = 0;
    for (size_t k = 0; k < BASE_COUNT(stages); k++) {
        for (size_t i = 0; e && i < e->sets[stages[k]].n; i++)
            if (!e->sets[stages[k]].metrics[i].restored && !VEC_PUSH(all, n, cap, e->sets[stages[k]].metrics[i].name)) break;
        if (k && names.len) str_append(&names, ", ");
        log_append_names(stages[k], &names);
    }
    near = text_nearest(name, all, n);
    xt_status s = status_new(XT_INVALID_ARGUMENT, NULL, "%s: monitor = %s was not logged; logged so far: %s%s%s%s", who, name, str_cstr(&names), near ? "; did you mean " : "", near ? near : "",
                             near ? "?" : "");
    base_free(all);
    str_free(&names);
    return s;
}

void log_names_anew(log_stage s) {
    log_engine *e = log_engine_peek();
    for (size_t i = 0; e && i < e->sets[s].n; i++) e->sets[s].metrics[i].restored = true;
    if (e) e->sets[s].fresh = false, e->sets[s].row_window = e->sets[s].window;
}

void log_epoch_begin(log_stage s) {
    log_engine *e = log_engine_get();
    if (e) e->sets[s].epoch_begins = e->sets[s].window_begins = true;
}

void xt_log_every_n_steps_at(const xt_src *src, int64_t n) {
    SRC_CALLED_FROM(src);
    log_engine *e = log_engine_get();
    if (n < 1)
        lazy_fail(status_new(XT_INVALID_ARGUMENT, NULL, "xt_log_every_n_steps: %lld; a period of at least 1 step is needed", (long long)n));
    else if (e)
        e->every = n;
}

/* --- xt_log -------------------------------------------------------------------------------------------------------------------------------- */
static void settle_options(log_engine *e, xt_log_opts *o) {
    bool train = e->stage == LOG_TRAIN;
    if (o->on_step == XT_DEFAULT) o->on_step = train ? XT_ON : XT_OFF;
    if (o->on_epoch == XT_DEFAULT) o->on_epoch = train ? XT_OFF : XT_ON;
    if (o->reduce == XT_REDUCE_DEFAULT) o->reduce = XT_MEAN;
}

static log_metric *metric_of(log_engine *e, const xt_src *src, const char *name, const xt_log_opts *o, int64_t count, xt_metric_finish finish,
                             double arg) {
    log_set *set = &e->sets[e->stage];
    for (size_t i = 0; i < set->n; i++) {
        log_metric *m = &set->metrics[i];
        if (strcmp(m->name, name) != 0) continue;
        if (m->restored && m->count != count) { /* another metric than before, whose sums need other rows: these stay empty */
            m->name[0] = 0;
            m->o.on_step = m->o.on_epoch = m->o.sync_dist = XT_OFF;
            continue;
        }
        if (m->restored) *m = (log_metric){m->name, *o, src_intern(src), m->at, count, finish, arg, false};
        if (m->o.on_step != o->on_step || m->o.on_epoch != o->on_epoch || m->o.reduce != o->reduce || m->o.sync_dist != o->sync_dist) {
            char at[256];
            lazy_fail(status_new(XT_INVALID_ARGUMENT, src,
                                 "xt_log \"%s\": logged at %s with other options (on_step, on_epoch, reduce, sync_dist must agree)", name,
                                 src_text(m->src, at, sizeof at)));
            return NULL;
        }
        if (m->count != count || m->finish != finish || m->arg != arg) {
            char at[256];
            lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "xt_log \"%s\": logged at %s as another metric (%lld sums there, %lld here)", name,
                                 src_text(m->src, at, sizeof at), (long long)m->count, (long long)count));
            return NULL;
        }
        return m;
    }
    log_metric m = {.name = base_strdup(name), .o = *o, .src = src_intern(src), .at = set->used, .count = count, .finish = finish, .arg = arg};
    if (!m.name || !VEC_PUSH(set->metrics, set->n, set->cap, m)) {
        base_free(m.name);
        lazy_fail(status_oom(sizeof m, "a metric"));
        return NULL;
    }
    set->used += count;
    return &set->metrics[set->n - 1];
}

typedef struct noted { /* what a log call gives */
    xt_tensor value, weight; /* value none: number */
    double number, weight_value;
    log_weigh weigh;
    int64_t count;
    xt_metric_finish finish;
    double arg;
} noted;

/* Around an epoch or a pass: the value is of the epoch, whatever the stage's steps log by default. */
static void note_between(log_engine *e, const xt_src *src, const char *name, const noted *v, const xt_log_opts *o) {
    log_given g = {.metric = {.o = *o, .src = src_intern(src), .count = v->count, .finish = v->finish, .arg = v->arg}, .value = v->value, .weight = v->weight, .number = v->number, .weight_value = v->weight_value};
    if (e->place == LOG_NOWHERE)
        lazy_fail(status_new(XT_FAILED_PRECONDITION, src, "xt_log \"%s\": nothing is trained, validated or tested here (setup, teardown, configure_optimizers, the start and end of a fit, predictions); "
                             "xt_trainer_log_host writes numbers at any time of a fit", name));
    else if (o->on_step == XT_ON || o->on_epoch == XT_OFF)
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "xt_log \"%s\": %s, but between steps a value is of the whole epoch; log it in a hook of the batches, or leave on_step and on_epoch unset", name,
                             o->on_step == XT_ON ? "on_step is on" : "on_epoch is off"));
    else if (!(g.metric.name = base_strdup(name)))
        lazy_fail(status_oom(strlen(name), "a logged value"));
    else
        log_between_note(e, g);
}

static bool good_call(const xt_src *src, const char *name, const xt_log_opts *o) {
    xt_status s = NULL;
    if (!name || !*name) s = status_new(XT_INVALID_ARGUMENT, src, "xt_log: the name is empty");
    else if ((int)o->reduce < 0 || o->reduce > XT_LAST)
        s = status_new(XT_INVALID_ARGUMENT, src, "xt_log \"%s\": .reduce is %d; expected XT_MEAN, XT_SUM, XT_MIN, XT_MAX or XT_LAST", name, (int)o->reduce);
    else if (o->batch_size < 0)
        s = status_new(XT_INVALID_ARGUMENT, src, "xt_log \"%s\": .batch_size is %lld; the weight of a mean is at least 1 (0: the size of the batch)", name, (long long)o->batch_size);
    if (s) lazy_fail(s);
    return !s;
}

static void note(const xt_src *src, const char *name, noted v, xt_log_opts o) {
    if (lazy_refuse_in_loop(src, "logging")) return;
    log_engine *e = log_engine_get();
    if (!e || !good_call(src, name, &o)) return;
    if (e->mute) {
        if (!e->mute_said && world_get()->rank == 0) log_msg(XT_SEV_WARNING, "xt_log \"%s\": the trainer is barebones, nothing is logged", name);
        e->mute_said = true;
        return;
    }
    if (e->loader_plus_1 && strstr(name, "/dataloader_idx_")) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "xt_log \"%s\": with several validation loaders names end with /dataloader_idx_K by themselves", name));
        return;
    }
    if (e->place != LOG_IN_STEP) {
        note_between(e, src, name, &v, &o);
        return;
    }
    settle_options(e, &o);
    if (o.on_step == XT_OFF && o.on_epoch == XT_OFF) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "xt_log \"%s\": on_step and on_epoch are both off, so it would never be written", name));
        return;
    }
    log_metric *m = metric_of(e, src, name, &o, v.count, v.finish, v.arg);
    if (!m) return;
    log_set *set = &e->sets[e->stage];
    int which = (int)(m - set->metrics);
    for (size_t i = 0; i < set->n_pending; i++)
        if (set->pending[i].metric == which) { /* twice in one step: as two samples of the mean, the later one wins */
            set->pending[i] = set->pending[--set->n_pending];
            break;
        }
    log_pending p = {.metric = which, .value = v.value, .weight = v.weight, .number = v.number, .weight_value = v.weight_value, .is_number = !v.value.slot, .weigh = v.weigh};
    if (!VEC_PUSH(set->pending, set->n_pending, set->cap_pending, p)) lazy_fail(status_oom(sizeof p, "a logged value"));
}

static double samples_now(void *user) {
    (void)user;
    return (double)lazy_position_of_thread()->batch_size;
}

/* The size of a batch is a constant of the program, as its shapes are. What may change while the shapes stay is data: a size that the call gives (tokens of
 * this batch, say), and the samples of a batch whose end may be padding. A sum never looks at the batch. */
static noted weighed(noted v, const xt_log_opts *o) {
    const log_engine *e = log_engine_get();
    bool in_step = e && e->place == LOG_IN_STEP && !e->mute;
    if (o->reduce == XT_SUM) v.weight_value = 1;
    else if (o->batch_size) {
        v.weight_value = (double)o->batch_size;
        if (in_step) v.weigh = LOG_WEIGH_NUMBER;
    } else if (v.value.slot && in_step && lazy_position_of_thread()->padded)
        v.weigh = LOG_WEIGH_SAMPLES;
    return v;
}

void xt_log_at(const xt_src *src, const char *name, xt_tensor t, xt_log_opts o) {
    const ir_type *type = lazy_type(t);
    lazy_begin(src);
    if (!type) {
        lazy_value(t); /* names a dead or none handle; an error tensor has its error pending already */
        return;
    }
    if (type->count != 1) {
        str text = STR_INIT;
        ir_type_print(type, &text);
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "xt_log \"%s\": the tensor is %s; a logged value has one element (xt_mean of it?)",
                             name ? name : "", str_cstr(&text)));
        str_free(&text);
        return;
    }
    if (ir_dtype_is_complex(type->dtype)) {
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "xt_log \"%s\": the tensor is complex; a logged value is one real number (xt_real, xt_imag or xt_abs of it?)", name ? name : ""));
        return;
    }
    note(src, name, weighed((noted){.value = t, .weight_value = (double)lazy_position_of_thread()->batch_size, .count = 1}, &o), o);
}

void xt_log_value_at(const xt_src *src, const char *name, double v, xt_log_opts o) {
    note(src, name, weighed((noted){.number = v, .weight_value = 1, .count = 1}, &o), o);
}

enum { MOST_SUMS = 1 << 20 };

static void log_sums_of(const xt_src *src, const char *name, xt_metric m, xt_log_opts o) {
    const ir_type *t = lazy_type(m.sums);
    if (!t) {
        lazy_value(m.sums);
        return;
    }
    if (t->count < 1 || t->count > MOST_SUMS)
        lazy_fail(status_new(XT_INVALID_ARGUMENT, src, "xt_log_metric \"%s\": it has %lld sums; 1 to %d can be logged", name ? name : "",
                             (long long)t->count, MOST_SUMS));
    else
        note(src, name, (noted){.value = m.sums, .weight_value = 1, .count = t->count, .finish = m.finish, .arg = m.arg}, o);
}

void xt_log_metric_at(const xt_src *src, const char *name, xt_metric m, xt_log_opts o) {
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
    xt_tensor some = xt_maximum_at(src, den, xt_full_at(src, 1e-30, XT_F32, XT_DIMS_(0))); /* 0 of 0 weighs nothing and must not become a NaN */
    xt_tensor ratio = xt_div_at(src, num, some);
    xt_no_grad_end_at(NULL);
    note(src, name, (noted){.value = ratio, .weight = den, .weigh = LOG_WEIGH_TENSOR, .count = 1}, o);
}

/* --- the packed update ------------------------------------------------------------------------------------------------------------------------ */
/* `count` numbers of f32: a tensor's elements, or its one element everywhere. */
static ir_value *part_of(ir_builder *b, ir_value *v, int64_t count) {
    v = ir_convert(b, v, XT_F32);
    if (v && v->type->count != count) return ir_broadcast_scalar(b, ir_reshape(b, v, 0, NULL), ir_tensor(XT_F32, 1, &count));
    return ir_reshape(b, v, 1, &count);
}

typedef struct logged { /* what a step's update adds */
    const log_pending *list;
    size_t n;
    bool switched; /* each has its `on` */
} logged;

static const log_pending *pending_of(const logged *l, size_t metric) {
    for (size_t i = 0; i < l->n; i++)
        if ((size_t)l->list[i].metric == metric) return &l->list[i];
    return NULL;
}

/* A list of `rows` numbers put together from tensors and, between them, host numbers; neighbouring numbers are one constant, so a step does not depend on how
 * many metrics are known that it does not log: one logged once under an `if` costs one program, not two. */
typedef struct column {
    ir_value **parts;
    size_t n;
    float *numbers;
    int64_t waiting;
} column;

static void put_number(column *c, double v, int64_t count) {
    while (count-- > 0) c->numbers[c->waiting++] = (float)v;
}
static void put_numbers_in(ir_builder *b, column *c) {
    if (c->waiting) c->parts[c->n++] = ir_constant(b, ir_tensor(XT_F32, 1, &c->waiting), c->numbers);
    c->waiting = 0;
}
static void put_tensor(ir_builder *b, column *c, ir_value *v, int64_t count) {
    put_numbers_in(b, c);
    c->parts[c->n++] = part_of(b, v, count);
}
static ir_value *whole(ir_builder *b, column *c) {
    put_numbers_in(b, c);
    return c->n == 1 ? c->parts[0] : ir_concatenate(b, c->n, c->parts, 0);
}

typedef struct lists { /* by row */
    ir_value *value, *weight, *on;
} lists;

/* What the step logs: value and weight, 0 and 0 where it logs nothing. */
static bool gather(ir_builder *b, const log_set *set, const logged *l, int64_t rows, lists *out) {
    size_t most = 2 * set->n + 2;
    ir_value **parts = base_calloc(3 * most, sizeof *parts);
    float *numbers = base_calloc(3 * (size_t)rows, sizeof *numbers);
    bool room = parts && numbers;
    column value = {.parts = parts, .numbers = numbers}, weight = value, on = value;
    if (room) weight.parts += most, weight.numbers += rows, on.parts += 2 * most, on.numbers += 2 * rows;
    for (size_t i = 0; room && i < set->n; i++) {
        const log_pending *p = pending_of(l, i);
        int64_t count = set->metrics[i].count;
        b->src = set->metrics[i].src; /* a metric logged under an `if` is named with its own line */
        if (p) put_tensor(b, &value, lazy_value(p->value), count);
        else put_number(&value, 0, count);
        if (p && p->weight.slot) put_tensor(b, &weight, lazy_value(p->weight), count);
        else put_number(&weight, p ? p->weight_value : 0, count);
        if (p && l->switched) put_tensor(b, &on, lazy_value(p->on), count);
        else put_number(&on, 0, count);
    }
    if (room) {
        put_number(&value, 0, rows - set->used);
        put_number(&weight, 0, rows - set->used);
        put_number(&on, 0, rows - set->used);
        *out = (lists){whole(b, &value), whole(b, &weight), l->switched ? whole(b, &on) : NULL};
    }
    base_free(parts);
    base_free(numbers);
    return room && out->value && out->weight && (out->on || !l->switched);
}

/* A list of rows, the same in every column of the state. */
static ir_value *across(ir_builder *b, ir_value *list, const ir_type *state) {
    const int64_t dim = 0;
    return ir_broadcast_in_dim(b, list, state, 1, &dim);
}

float *log_empty_rows(int64_t rows) {
    float *empty = base_calloc((size_t)rows * LOG_COLUMNS, sizeof *empty);
    for (int64_t r = 0; empty && r < rows; r++) empty[r * LOG_COLUMNS + LOG_LEAST] = INFINITY, empty[r * LOG_COLUMNS + LOG_MOST] = -INFINITY;
    return empty;
}

static bool logs_extreme(const log_metric *m) {
    return m->o.reduce == XT_MIN || m->o.reduce == XT_MAX;
}

typedef struct beginning { /* data of the step, scalars: */
    ir_value *epoch;  /* columns before it begin anew */
    ir_value *window; /* the stamp of the window that the step is in */
} beginning;

/* Smallest and largest values, where the step logs a metric that asks for them. on: NULL, or where it logs at all. */
static ir_value *with_extremes(ir_builder *b, const log_set *set, const logged *l, int64_t rows, ir_value *old, ir_value *v, ir_value *on, ir_value *sums) {
    bool *least = base_calloc(2 * (size_t)rows * LOG_COLUMNS, sizeof *least), *most = least ? least + rows * LOG_COLUMNS : NULL;
    if (!least) return NULL;
    for (size_t i = 0; i < l->n; i++) {
        const log_metric *m = &set->metrics[l->list[i].metric];
        for (int64_t at = m->at * LOG_COLUMNS; logs_extreme(m) && at < (m->at + m->count) * LOG_COLUMNS; at += LOG_COLUMNS) least[at + LOG_LEAST] = most[at + LOG_MOST] = true;
    }
    const ir_type *flags = ir_with_dtype(old->type, XT_BOOL);
    ir_value *low = ir_constant(b, flags, least), *high = ir_constant(b, flags, most);
    if (on) low = ir_and(b, low, on), high = ir_and(b, high, on);
    ir_value *out = ir_select(b, low, ir_minimum(b, old, v), ir_select(b, high, ir_maximum(b, old, v), sums));
    base_free(least);
    return out;
}

/* What of the state a step's update changes, as constants: [rows, LOG_COLUMNS], true where. */
typedef struct masks {
    bool *gain, *sum;     /* columns that add up; of them, those that add value * weight and not weight alone */
    bool *window, *stamp; /* of what the step logs: the columns of the window, and its number */
} masks;

static bool masks_make(const log_set *set, const logged *l, int64_t rows, masks *m) {
    size_t all = (size_t)rows * LOG_COLUMNS;
    bool *room = base_calloc(4 * all, sizeof *room);
    if (!room) return false;
    *m = (masks){room, room + all, room + 2 * all, room + 3 * all};
    for (size_t at = 0; at < all; at += LOG_COLUMNS) {
        m->gain[at + LOG_EPOCH_SUM] = m->gain[at + LOG_EPOCH_WEIGHT] = m->gain[at + LOG_WINDOW_SUM] = m->gain[at + LOG_WINDOW_WEIGHT] = true;
        m->sum[at + LOG_EPOCH_SUM] = m->sum[at + LOG_WINDOW_SUM] = true;
    }
    for (size_t i = 0; i < l->n; i++) {
        const log_metric *of = &set->metrics[l->list[i].metric];
        for (int64_t at = of->at * LOG_COLUMNS; at < (of->at + of->count) * LOG_COLUMNS; at += LOG_COLUMNS)
            m->window[at + LOG_WINDOW_SUM] = m->window[at + LOG_WINDOW_WEIGHT] = m->stamp[at + LOG_STAMP] = true;
    }
    return true;
}

/* The state without what is over: an epoch's columns, at its first step; those of a window, where the step logs something that was last logged in another one. */
static ir_value *begun(ir_builder *b, ir_value *state, const masks *m, ir_value *on, ir_value *epoch, ir_value *window) {
    const ir_type *t = state->type, *flags = ir_with_dtype(t, XT_BOOL);
    int64_t rows = t->dims[0], begin[2] = {0, LOG_STAMP}, end[2] = {rows, LOG_COLUMNS};
    float *empty = log_empty_rows(rows);
    if (!empty) return NULL;
    ir_value *over = ir_compare(b, IR_LT, ir_iota(b, t, 1), ir_broadcast_scalar(b, epoch, t));
    ir_value *old = ir_select(b, over, ir_constant(b, t, empty), state);
    ir_value *stamps = across(b, ir_reshape(b, ir_slice(b, state, begin, end, NULL), 1, &rows), t);
    ir_value *other = ir_and(b, ir_compare(b, IR_NE, stamps, window), ir_constant(b, flags, m->window));
    base_free(empty);
    return ir_select(b, on ? ir_and(b, other, on) : other, ir_splat(b, t, 0), old);
}

/* The next state. Few ops, for each is recorded and hashed in every step, and but for the list of values and that of the stamps all of them work element by
 * element, so that a device makes one loop of them: the sums of epoch and window gain value * weight, their weights the weight. */
static ir_value *updated(ir_builder *b, const log_set *set, const logged *l, ir_value *state, int64_t rows, const beginning *begins) {
    lists in = {NULL, NULL, NULL};
    masks m = {NULL, NULL, NULL, NULL};
    const ir_type *t = state->type, *flags = ir_with_dtype(t, XT_BOOL);
    ir_value *next = NULL, *old = NULL, *on = NULL;
    if (begins->epoch && begins->window && masks_make(set, l, rows, &m) && gather(b, set, l, rows, &in)) {
        ir_value *wide_v = across(b, in.value, t), *wide_w = across(b, in.weight, t), *window = ir_broadcast_scalar(b, begins->window, t);
        if (in.on) { /* chosen, not multiplied: what is not logged may be a NaN */
            ir_value *none = ir_splat(b, t, 0);
            on = ir_compare(b, IR_GT, across(b, in.on, t), none);
            wide_v = ir_select(b, on, wide_v, none);
            wide_w = ir_select(b, on, wide_w, none);
        }
        old = begun(b, state, &m, on, begins->epoch, window);
        ir_value *what = ir_select(b, ir_constant(b, flags, m.sum), ir_multiply(b, wide_v, wide_w), wide_w), *stamp = ir_constant(b, flags, m.stamp);
        next = old ? ir_select(b, ir_constant(b, flags, m.gain), ir_add(b, old, what), old) : NULL;
        next = next ? ir_select(b, on ? ir_and(b, stamp, on) : stamp, window, next) : NULL;
        bool extremes = false;
        for (size_t i = 0; i < l->n; i++) extremes = extremes || logs_extreme(&set->metrics[l->list[i].metric]);
        if (next && extremes) next = with_extremes(b, set, l, rows, old, wide_v, on, next);
    }
    base_free(m.gain);
    return next;
}

enum { LEAST_ROWS = 32, SPARE_ROWS = 16 };

/* Room for the metrics known now; a new metric may mean a larger state, which starts with what the old one held, and new programs for all steps that log: so
 * there is some to spare from the beginning. */
static bool make_room(log_set *set, const xt_src *src) {
    int64_t rows = set->rows ? set->rows : LEAST_ROWS;
    while (!set->rows && rows < set->used + SPARE_ROWS) rows *= 2;
    while (rows < set->used) rows *= 2;
    if (rows == set->rows) return true;
    float *init = log_empty_rows(rows);
    if (!init) return false;
    xt_status lost = set->rows ? lazy_state_read(set->state, init, (size_t)set->rows * LOG_COLUMNS * sizeof *init) : NULL;
    if (lost) lazy_fail(lost);
    if (set->state.slot) xt_drop_at(src, set->state);
    int64_t dims[2] = {rows, LOG_COLUMNS};
    set->state = lazy_state_new(src, LAZY_LOG, "log accumulators", XT_F32, 2, dims, init);
    set->rows = rows;
    base_free(init);
    return !lazy_is_error(set->state);
}

/* Columns before this one begin anew: those of the epoch, at its first step. What the newest window logged stays until it is logged again, so that the next
 * row has it. */
static double epoch_of(void *user) {
    log_set *set = user;
    return set->began = set->epoch_begins ? LOG_WINDOW_SUM : 0;
}
static double epoch_again(void *user) {
    return ((const log_set *)user)->began;
}

double log_stamp(int64_t window) {
    return (double)(window % LOG_STAMPS + 1);
}

/* Of the window that the step belongs to; `recorded` turns the page afterwards. */
static double window_of(void *user) {
    const log_set *set = user;
    return log_stamp(set->window + set->window_begins);
}

static double number_of(void *user) {
    return *(const double *)user;
}
static const double off = 0, on = 1;

static xt_tensor data(const xt_src *src, const double *number) {
    return lazy_scalar_from(src, XT_F32, number_of, (void *)(uintptr_t)number);
}

/* What a recorded update is to the host; compiled step functions do it again at each call. */
static void recorded(void *user) {
    log_set *set = user;
    set->window += set->window_begins;
    set->epoch_begins = set->window_begins = false;
    set->fresh = true;
}

/* A compiled step function logs into the stage it was recorded in. */
static bool same_stage(void *user) {
    const log_engine *e = log_engine_peek();
    return e && user == &e->sets[e->stage];
}

static void enter_numbers(const xt_src *src, log_pending *p) {
    if (p->is_number) p->value = lazy_scalar(src, XT_F32, p->number);
    if (p->weigh == LOG_WEIGH_NUMBER) p->weight = lazy_scalar(src, XT_F32, p->weight_value);
    if (p->weigh == LOG_WEIGH_SAMPLES) p->weight = lazy_scalar_from(src, XT_F32, samples_now, NULL);
}

static bool record_update(log_set *set, const xt_src *src, const logged *l, xt_tensor epoch) {
    xt_tensor window = lazy_scalar_from(src, XT_F32, window_of, set);
    beginning begins = {lazy_value(epoch), lazy_value(window)};
    ir_builder *b = lazy_begin(src);
    if (!set->before) set->before = lazy_value(set->state);
    xt_tensor next = lazy_wrap(set->before ? updated(b, set, l, set->before, set->rows, &begins) : NULL, "xt_log");
    if (lazy_is_error(next)) return false;
    lazy_assign(set->state, next);
    return true;
}

/* --- steps that log only some of the names (lazy_options) -------------------------------------------------------------------------------------- */
static size_t count_options(void *user) {
    return ((const log_set *)user)->n_recorded;
}

static void list_options(void *user, lazy_option *out) {
    const log_set *set = user;
    for (size_t i = 0; i < set->n_recorded; i++) {
        const log_pending *p = &set->pending[i];
        const log_metric *m = &set->metrics[p->metric];
        out[i] = (lazy_option){.id = (uint64_t)p->metric + 1, .kind = (uint64_t)m->count << 8 | (uint64_t)p->weigh << 1 | p->is_number, .what = "xt_log", .src = m->src};
        out[i].number = p->weigh == LOG_WEIGH_CONSTANT ? p->weight_value : 0;
        if (!p->is_number) out[i].values[0] = lazy_value(p->value);
        if (p->weigh == LOG_WEIGH_TENSOR) out[i].values[1] = lazy_value(p->weight);
    }
}

static const log_pending *recorded_of(const log_set *set, int metric) {
    for (size_t i = 0; i < set->n_recorded; i++)
        if (set->pending[i].metric == metric) return &set->pending[i];
    return NULL;
}

/* Records the update with all of them, in the order given; those that are off change nothing. */
static bool record_options(void *user, const lazy_option *all, size_t n) {
    log_set *set = user;
    log_pending *list = base_calloc(n + 1, sizeof *list);
    if (!list) return false;
    const xt_src *src = src_get(all[0].src);
    xt_no_grad_begin();
    lazy_path_push("log");
    xt_tensor epoch = set->n_recorded ? lazy_scalar_from(src, XT_F32, epoch_again, set) : data(src, &off);
    for (size_t i = 0; i < n; i++) {
        const log_pending *p = all[i].on ? recorded_of(set, (int)(all[i].id - 1)) : NULL;
        if (p) list[i] = *p;
        else list[i] = (log_pending){.metric = (int)(all[i].id - 1), .weight_value = all[i].number, .is_number = all[i].kind & 1, .weigh = (log_weigh)(all[i].kind >> 1 & 3)};
        list[i].on = data(src, p ? &on : &off);
        enter_numbers(src, &list[i]);
        lazy_begin(src);
        if (!p && all[i].values[0]) list[i].value = lazy_wrap(all[i].values[0], "xt_log");
        if (!p && all[i].values[1]) list[i].weight = lazy_wrap(all[i].values[1], "xt_log");
    }
    bool ok = record_update(set, src, &(logged){list, n, true}, epoch);
    lazy_path_pop();
    xt_no_grad_end_at(NULL);
    base_free(list);
    return ok;
}

static xt_tensor state_of_options(void *user) {
    return ((const log_set *)user)->state;
}

static void forget_recorded(void *user) {
    log_set *set = user;
    set->n_recorded = 0;
    set->before = NULL;
}

void log_record_step(log_engine *e) {
    for (int s = 0; s < LOG_STAGE_COUNT; s++) {
        log_set *set = &e->sets[s];
        if (set->n_pending == 0) continue;
        const xt_src *src = src_get(set->metrics[set->pending[0].metric].src);
        if (xt_error() || !make_room(set, src)) {
            set->n_pending = 0;
            continue;
        }
        lazy_options_begin(&(lazy_options){count_options, list_options, record_options, state_of_options, forget_recorded, set});
        for (size_t i = 0; i < set->n_pending; i++) {
            const xt_src *line = src_get(set->metrics[set->pending[i].metric].src);
            lazy_note_asker(line, "xt_log");
            enter_numbers(line, &set->pending[i]);
        }
        xt_no_grad_begin();
        lazy_path_push("log");
        xt_tensor epoch = lazy_scalar_from(src, XT_F32, epoch_of, set);
        record_update(set, src, &(logged){set->pending, set->n_pending, false}, epoch);
        lazy_path_pop();
        xt_no_grad_end_at(NULL);
        set->n_recorded = set->n_pending;
        set->n_pending = 0;
        recorded(set);
        lazy_on_replay(&(lazy_replay){.valid = same_stage, .before = recorded, .user = set});
    }
}
