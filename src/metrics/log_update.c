/* The packed update: the few ops that add a step's values to the stage's state. */
#include <math.h>

#include "metrics/log_int.h"

/* `count` numbers of f32: a tensor's elements, or its one element everywhere. */
static ir_value *part_of(ir_builder *b, ir_value *v, int64_t count) {
    v = ir_convert(b, v, XT_F32);
    if (v && v->type->count != count)
        return ir_broadcast_scalar(b, ir_reshape(b, v, 0, NULL), ir_tensor(XT_F32, 1, &count));
    return ir_reshape(b, v, 1, &count);
}

/* A list of `rows` numbers put together from tensors and, between them, host numbers; neighbouring numbers are one
 * constant, so a step does not depend on how many metrics are known that it does not log: one logged once under an `if`
 * costs one program, not two. */
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
static bool gather(ir_builder *b, const log_set *set, const log_step *l, int64_t rows, lists *out) {
    size_t most = 2 * set->n + 2;
    ir_value **parts = base_calloc(3 * most, sizeof *parts);
    float *numbers = base_calloc(3 * (size_t)rows, sizeof *numbers);
    const log_pending **of = base_calloc(set->n + 1, sizeof *of); /* by metric */
    bool room = parts && numbers && of;
    column value = {.parts = parts, .numbers = numbers}, weight = value, on = value;
    if (room) weight.parts += most, weight.numbers += rows, on.parts += 2 * most, on.numbers += 2 * rows;
    for (size_t i = 0; room && i < l->n; i++) of[l->list[i].metric] = &l->list[i];
    for (size_t i = 0; room && i < set->n; i++) {
        const log_pending *p = of[i];
        int64_t count = set->metrics[i].kind.count;
        b->src = set->metrics[i].src; /* a metric logged under an `if` is named with its own line */
        if (p)
            put_tensor(b, &value, lazy_value(p->value), count);
        else
            put_number(&value, 0, count);
        if (p && p->weight.slot)
            put_tensor(b, &weight, lazy_value(p->weight), count);
        else
            put_number(&weight, p ? p->weight_value : 0, count);
        if (p && l->switched)
            put_tensor(b, &on, lazy_value(p->on), count);
        else
            put_number(&on, 0, count);
    }
    if (room) {
        put_number(&value, 0, rows - set->used);
        put_number(&weight, 0, rows - set->used);
        put_number(&on, 0, rows - set->used);
        *out = (lists){whole(b, &value), whole(b, &weight), l->switched ? whole(b, &on) : NULL};
    }
    base_free(parts);
    base_free(numbers);
    base_free(of);
    return room && out->value && out->weight && (out->on || !l->switched);
}

/* A list of rows, the same in every column of the state. */
static ir_value *across(ir_builder *b, ir_value *list, const ir_type *state) {
    const int64_t dim = 0;
    return ir_broadcast_in_dim(b, list, state, 1, &dim);
}

double log_stamp(int64_t window) {
    return (double)(window % LOG_STAMPS + 1);
}

float *log_empty_rows(int64_t rows) {
    float *empty = base_calloc((size_t)rows * LOG_COLUMNS, sizeof *empty);
    for (int64_t r = 0; empty && r < rows; r++)
        empty[r * LOG_COLUMNS + LOG_LEAST] = INFINITY, empty[r * LOG_COLUMNS + LOG_MOST] = -INFINITY;
    return empty;
}

static bool logs_extreme(const log_metric *m) {
    return m->o.reduce == XT_MIN || m->o.reduce == XT_MAX;
}

/* Smallest and largest values, of the epoch and of the window, where the step logs a metric that asks for them. now:
 * its values; range: of an epoch's columns, the least as value and the most as weight. on: NULL, or where it logs at
 * all. */
static ir_value *with_extremes(ir_builder *b, const log_set *set, const log_step *l, ir_value *old, ir_value *now,
                               const lists *range, ir_value *on, ir_value *sums) {
    size_t all = (size_t)set->rows * LOG_COLUMNS;
    bool *least = base_calloc(3 * all, sizeof *least), *most = least ? least + all : NULL,
         *epoch = least ? most + all : NULL;
    if (!least) return NULL;
    for (size_t i = 0; i < l->n; i++) {
        const log_metric *m = &set->metrics[l->list[i].metric];
        bool *of = m->o.reduce == XT_MIN ? least : most;
        for (int64_t at = m->at * LOG_COLUMNS; logs_extreme(m) && at < (m->at + m->kind.count) * LOG_COLUMNS;
             at += LOG_COLUMNS)
            of[at + LOG_LEAST] = of[at + LOG_MOST] = epoch[at + (of == least ? LOG_LEAST : LOG_MOST)] = true;
    }
    const ir_type *flags = ir_with_dtype(old->type, XT_BOOL);
    ir_value *low = ir_constant(b, flags, least), *high = ir_constant(b, flags, most),
             *of_epoch = ir_constant(b, flags, epoch);
    if (on) low = ir_and(b, low, on), high = ir_and(b, high, on);
    ir_value *down = l->range ? ir_select(b, of_epoch, range->value, now) : now,
             *up = l->range ? ir_select(b, of_epoch, range->weight, now) : now;
    ir_value *out = ir_select(b, low, ir_minimum(b, old, down), ir_select(b, high, ir_maximum(b, old, up), sums));
    base_free(least);
    return out;
}

/* What of the state a step's update changes, as constants: [rows, LOG_COLUMNS], true where. */
typedef struct masks {
    bool *gain, *sum; /* columns that add up; of them, those that add value * weight and not weight alone */
    bool *window, *stamp; /* of what the step logs: the columns of the window, and its number */
    bool *newest; /* of the window's columns, those that have the newest value alone */
    bool *extreme; /* of what the step logs: an epoch's least of XT_MIN, its most of XT_MAX */
    bool newest_any, extremes; /* some of what the step logs is XT_LAST; is XT_MIN or XT_MAX */
} masks;

static bool masks_make(const log_set *set, const log_step *l, int64_t rows, masks *m) {
    size_t all = (size_t)rows * LOG_COLUMNS;
    bool *room = base_calloc(6 * all, sizeof *room);
    if (!room) return false;
    *m = (masks){room, room + all, room + 2 * all, room + 3 * all, room + 4 * all, room + 5 * all, false, false};
    for (size_t at = 0; at < all; at += LOG_COLUMNS) {
        m->gain[at + LOG_EPOCH_SUM] = m->gain[at + LOG_EPOCH_WEIGHT] = m->gain[at + LOG_WINDOW_SUM] =
            m->gain[at + LOG_WINDOW_WEIGHT] = true;
        m->sum[at + LOG_EPOCH_SUM] = m->sum[at + LOG_WINDOW_SUM] = true;
    }
    for (size_t i = 0; i < l->n; i++) {
        const log_metric *of = &set->metrics[l->list[i].metric];
        for (int64_t at = of->at * LOG_COLUMNS; at < (of->at + of->kind.count) * LOG_COLUMNS; at += LOG_COLUMNS) {
            m->window[at + LOG_WINDOW_SUM] = m->window[at + LOG_WINDOW_WEIGHT] = m->stamp[at + LOG_STAMP] = true;
            m->extremes = m->extremes || logs_extreme(of);
            if (of->o.reduce == XT_MIN) m->window[at + LOG_MOST] = m->extreme[at + LOG_LEAST] = true;
            if (of->o.reduce == XT_MAX) m->window[at + LOG_LEAST] = m->extreme[at + LOG_MOST] = true;
            if (of->o.reduce != XT_LAST) continue;
            m->newest[at + LOG_WINDOW_SUM] = m->newest[at + LOG_WINDOW_WEIGHT] = m->newest_any = true;
        }
    }
    return true;
}

/* A column of the state, the same in every column. */
static ir_value *column_of(ir_builder *b, ir_value *state, log_column c) {
    int64_t rows = state->type->dims[0], begin[2] = {0, c}, end[2] = {rows, c + 1};
    return across(b, ir_reshape(b, ir_slice(b, state, begin, end, NULL), 1, &rows), state->type);
}

/* The state without what is over: an epoch's sums, at its first step, and its least and most, where the step logs what
 * was not yet logged in it (of the two columns one is the window's, which may go on); those of a window, where the step
 * logs something that was last logged in another one. */
static ir_value *begun(ir_builder *b, ir_value *state, const masks *m, ir_value *on, ir_value *epoch,
                       ir_value *window) {
    const ir_type *t = state->type, *flags = ir_with_dtype(t, XT_BOOL);
    int64_t rows = t->dims[0];
    float *empty = log_empty_rows(rows);
    if (!empty) return NULL;
    ir_value *over = ir_compare(b, IR_LT, ir_iota(b, t, 1), ir_broadcast_scalar(b, epoch, t));
    ir_value *old = ir_select(b, over, ir_constant(b, t, empty), state);
    if (m->extremes) {
        ir_value *none_yet = ir_compare(b, IR_EQ, column_of(b, old, LOG_EPOCH_WEIGHT), ir_splat(b, t, 0));
        old = ir_select(b, ir_and(b, none_yet, ir_constant(b, flags, m->extreme)), ir_constant(b, t, empty), old);
    }
    ir_value *stamps = column_of(b, state, LOG_STAMP);
    ir_value *other = ir_and(b, ir_compare(b, IR_NE, stamps, window), ir_constant(b, flags, m->window));
    if (m->newest_any) other = ir_or(b, other, ir_constant(b, flags, m->newest));
    for (int64_t r = 0; r < rows; r++) { /* the window's extremes are in the column of the other kind */
        float *c = empty + r * LOG_COLUMNS;
        c[LOG_LEAST] = -INFINITY, c[LOG_MOST] = INFINITY;
    }
    ir_value *none = m->extremes ? ir_constant(b, t, empty) : ir_splat(b, t, 0);
    base_free(empty);
    return ir_select(b, on ? ir_and(b, other, on) : other, none, old);
}

/* Another list of the step's metrics, across the state. */
static bool gather_across(ir_builder *b, const log_set *set, const log_step *l, const log_pending *list,
                          const ir_type *state, lists *out) {
    if (!gather(b, set, &(log_step){.list = list, .n = l->n}, set->rows, out)) return false;
    out->value = across(b, out->value, state);
    out->weight = across(b, out->weight, state);
    return true;
}

/* What the columns that add up gain, and what their weights do. */
static bool gains(ir_builder *b, const log_set *set, const log_step *l, const lists *now, lists *out) {
    const ir_type *t = now->value->type;
    lists epoch;
    *out = (lists){ir_multiply(b, now->value, now->weight), now->weight, NULL};
    if (!l->epoch) return true;
    if (!gather_across(b, set, l, l->epoch, t, &epoch)) return false;
    ir_value *of_epoch = ir_compare(b, IR_LT, ir_iota(b, t, 1), ir_splat(b, t, LOG_LEAST));
    out->value = ir_select(b, of_epoch, epoch.value, out->value);
    out->weight = ir_select(b, of_epoch, epoch.weight, out->weight);
    return true;
}

/* The next state. Few ops, for each is recorded and hashed in every step, and but for the list of values and that of
 * the stamps all of them work element by element, so that a device makes one loop of them: the sums of epoch and window
 * gain value * weight, their weights the weight. */
ir_value *log_updated(ir_builder *b, const log_set *set, const log_step *l, ir_value *state,
                      const log_beginning *begins) {
    int64_t rows = set->rows;
    lists in = {NULL, NULL, NULL};
    masks m = {.gain = NULL};
    const ir_type *t = state->type, *flags = ir_with_dtype(t, XT_BOOL);
    ir_value *next = NULL, *old = NULL, *on = NULL;
    if (begins->epoch && begins->window && masks_make(set, l, rows, &m) && gather(b, set, l, rows, &in)) {
        ir_value *wide_v = across(b, in.value, t), *wide_w = across(b, in.weight, t),
                 *window = ir_broadcast_scalar(b, begins->window, t);
        if (in.on) { /* chosen, not multiplied: what is not logged may be a NaN */
            ir_value *none = ir_splat(b, t, 0);
            on = ir_compare(b, IR_GT, across(b, in.on, t), none);
            wide_v = ir_select(b, on, wide_v, none);
            wide_w = ir_select(b, on, wide_w, none);
        }
        old = begun(b, state, &m, on, begins->epoch, window);
        lists gain = {NULL, NULL, NULL}, range = {wide_v, wide_v, NULL};
        bool known = gains(b, set, l, &(lists){wide_v, wide_w, NULL}, &gain) &&
                     (!l->range || gather_across(b, set, l, l->range, t, &range));
        ir_value *what = known ? ir_select(b, ir_constant(b, flags, m.sum), gain.value, gain.weight) : NULL,
                 *stamp = ir_constant(b, flags, m.stamp);
        next = old && known ? ir_select(b, ir_constant(b, flags, m.gain), ir_add(b, old, what), old) : NULL;
        next = next ? ir_select(b, on ? ir_and(b, stamp, on) : stamp, window, next) : NULL;
        if (next && m.extremes) next = with_extremes(b, set, l, old, wide_v, &range, on, next);
    }
    base_free(m.gain);
    return next;
}
