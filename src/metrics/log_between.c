/* Values logged between a trainer's steps, in hooks around an epoch or a pass. They are of the whole epoch and leave as
 * a row of their own as soon as the hooks of that place are over: numbers at once, without a program or a read; tensors
 * by one small program that packs them all, and one read. */
#include "metrics/log_int.h"

static void forget(log_engine *e) {
    for (size_t i = 0; i < e->n_given; i++) base_free(e->given[i].metric.name);
    e->n_given = 0;
}

void log_between_free(log_engine *e) {
    forget(e);
    base_free(e->given);
}

static log_pending as_pending(const log_given *g) {
    return (log_pending){.value = g->value,
                         .weight = g->weight,
                         .number = g->number,
                         .weight_value = g->weight_value,
                         .is_number = !g->value.slot,
                         .weigh = g->weight.slot ? LOG_WEIGH_TENSOR : LOG_WEIGH_CONSTANT};
}

static bool same_kind(const log_metric *a, const log_metric *b) {
    return a->o.reduce == b->o.reduce && log_kind_same(&a->kind, &b->kind);
}

/* The same name again at the same place: both values count, as in a step; of another kind, the later one. */
static void note_again(log_given *there, log_given g) {
    bool same = same_kind(&there->metric, &g.metric);
    log_pending all = as_pending(there), p = as_pending(&g);
    base_free(there->metric.name);
    *there = g;
    if (!same) return;
    log_again(src_get(g.metric.src), &g.metric, &all, &p);
    there->value = all.is_number ? (xt_tensor){0} : all.value;
    there->weight = all.weight;
    there->number = all.number;
    there->weight_value = all.weight_value;
}

void log_between_note(log_engine *e, log_given g) {
    g.metric.o.on_step = XT_OFF;
    g.metric.o.on_epoch = XT_ON;
    if (g.metric.o.reduce == XT_REDUCE_DEFAULT) g.metric.o.reduce = XT_MEAN;
    for (size_t i = 0; i < e->n_given; i++)
        if (strcmp(e->given[i].metric.name, g.metric.name) == 0) {
            note_again(&e->given[i], g);
            return;
        }
    if (VEC_PUSH(e->given, e->n_given, e->cap_given, g)) return;
    base_free(g.metric.name);
    lazy_fail(status_oom(sizeof g, "a logged value"));
}

/* --- asked for before they are sent --- */
static const log_given *given_as(const log_engine *e, const char *name) {
    if (!e || !name || e->sanity || e->mute || lazy_pending()) return NULL;
    for (size_t i = 0; i < e->n_given; i++) {
        const log_given *g = &e->given[i];
        if (strcmp(g->metric.name, name) == 0)
            return g->metric.o.sync_dist == XT_ON && world_get()->size > 1 ? NULL : g;
    }
    return NULL;
}

static bool read_tensor(const log_given *g, xt_tensor t, int64_t count, float *out) {
    const xt_src *src = src_get(g->metric.src);
    xt_no_grad_begin();
    xt_tensor now = xt_cast_at(src, t, XT_F32);
    xt_no_grad_end_at(NULL);
    return xt_read_at(src, now, out, (size_t)count * sizeof *out);
}

/* Its sums (base_free), and the weight of each; NULL: they cannot be computed, which is the pending error. */
static double *sums_of(const log_given *g, float *weight) {
    int64_t count = g->metric.kind.count;
    float *v = base_calloc((size_t)count, sizeof *v);
    double *sums = base_calloc((size_t)count, sizeof *sums);
    *weight = (float)g->weight_value;
    bool ok = v && sums;
    if (ok && g->value.slot)
        ok = read_tensor(g, g->value, count, v);
    else if (ok)
        v[0] = (float)g->number;
    if (ok && g->weight.slot) ok = read_tensor(g, g->weight, 1, weight);
    for (int64_t i = 0; ok && i < count; i++) sums[i] = (double)v[i];
    base_free(v);
    if (ok) return sums;
    base_free(sums);
    return NULL;
}

bool log_between_find(const log_engine *of, const char *name, double *out) {
    const log_engine *e = log_engine_peek();
    const log_given *g = e == of ? given_as(e, name) : NULL;
    float weight;
    double *sums = g ? sums_of(g, &weight) : NULL;
    if (!sums) return false;
    bool has = weight > 0; /* else it has no place in its row */
    if (has && g->metric.kind.finish)
        *out = log_kind_finish(&g->metric.kind, sums);
    else if (has)
        *out = g->metric.o.reduce == XT_SUM ? sums[0] * (double)weight : sums[0];
    base_free(sums);
    return has;
}

bool log_between_sums(const char *name, double *out, size_t n, size_t *out_all) {
    const log_given *g = given_as(log_engine_peek(), name);
    float weight;
    double *sums = g && g->metric.kind.finish ? sums_of(g, &weight) : NULL;
    if (!sums) return false;
    *out_all = (size_t)g->metric.kind.count;
    memcpy(out, sums, (*out_all < n ? *out_all : n) * sizeof *out);
    base_free(sums);
    return true;
}

/* --- tensors --- */
/* Which elements of the packed values are whose: count values, then the weight where that is a tensor too. */
typedef struct part {
    size_t metric;
    int64_t count;
    float weight; /* < 0: it stands behind the values */
} part;
typedef struct packed {
    log_request request; /* the first, by which it is found */
    struct log_job *row;
    size_t n;
    part parts[];
} packed;

static void arrived(log_request *r, const void *data, size_t bytes, xt_dtype dtype) {
    packed *p = (packed *)r;
    const float *at = data, *end = at + bytes / sizeof *at;
    (void)dtype;
    for (size_t i = 0; i < p->n; i++) {
        const part *k = &p->parts[i];
        if (at + k->count + (k->weight < 0) > end) break;
        log_given_fill(p->row, k->metric, at, k->weight < 0 ? at[k->count] : k->weight);
        at += k->count + (k->weight < 0);
    }
    log_given_send(p->row);
    base_free(p);
}

static void lost(log_request *r) {
    packed *p = (packed *)r;
    log_given_lost(p->row);
    base_free(p);
}

/* [n] of f32: all values logged as tensors, one behind the other. */
static xt_tensor pack(const log_engine *e, packed *p) {
    ir_value **parts = base_calloc(2 * e->n_given + 1, sizeof *parts);
    size_t n = 0;
    if (!parts) {
        lazy_fail(status_oom(e->n_given * sizeof *parts, "logged values"));
        return (xt_tensor){0};
    }
    ir_builder *b = NULL;
    for (size_t i = 0; i < e->n_given; i++) {
        const log_given *g = &e->given[i];
        if (!g->value.slot) continue;
        ir_value *v = lazy_value(g->value), *w = g->weight.slot ? lazy_value(g->weight) : NULL;
        int64_t count = g->metric.kind.count, one = 1;
        b = lazy_begin(src_get(g->metric.src));
        parts[n++] = ir_reshape(b, ir_convert(b, v, XT_F32), 1, &count);
        if (g->weight.slot) parts[n++] = ir_reshape(b, ir_convert(b, w, XT_F32), 1, &one);
        p->parts[p->n++] = (part){i, count, g->weight.slot ? -1 : (float)g->weight_value};
    }
    xt_tensor all = lazy_wrap(n == 1 ? parts[0] : ir_concatenate(b, n, parts, 0), "xt_log");
    base_free(parts);
    return all;
}

static void send_tensors(log_engine *e, struct log_job *row) {
    const xt_src *src = src_get(e->given[0].metric.src);
    packed *p = base_calloc(1, sizeof *p + e->n_given * sizeof p->parts[0]);
    if (!p) {
        log_given_lost(row);
        return;
    }
    p->request = (log_request){arrived, lost};
    p->row = row;
    for (size_t i = 0; i < e->n_given; i++)
        if (e->given[i].value.slot) lazy_note_requester(src_get(e->given[i].metric.src), "xt_log");
    xt_no_grad_begin();
    lazy_path_push("log");
    xt_tensor all = pack(e, p);
    lazy_path_pop();
    xt_no_grad_end();
    log_request_value(src, "xt_log", all, &p->request);
    lazy_boundary(LAZY_EVAL, src);
}

void log_between_forget(void) {
    log_engine *e = log_engine_peek();
    if (e) forget(e);
}

static void send_values(log_engine *e, bool epoch_level, int64_t step) {
    if (lazy_pending() || !e->n_given) {
        forget(e);
        if (!lazy_pending() && log_ranks_meet(e)) log_nothing_row(e->given_stage, step);
        return;
    }
    bool tensors = false;
    int64_t rows = 0;
    for (size_t i = 0; i < e->n_given; i++) {
        e->given[i].metric.at = rows;
        rows += e->given[i].metric.kind.count;
        tensors = tensors || e->given[i].value.slot;
    }
    struct log_job *row = log_given_row(e, epoch_level, step, e->given, e->n_given);
    for (size_t i = 0; row && i < e->n_given; i++) {
        float v = (float)e->given[i].number;
        if (!e->given[i].value.slot) log_given_fill(row, i, &v, (float)e->given[i].weight_value);
    }
    if (row && tensors)
        send_tensors(e, row);
    else if (row)
        log_given_send(row);
    forget(e);
}

void log_artifacts_send(void) {
    const log_engine *e = log_engine_peek();
    if (!e || !e->asked) return;
    if (lazy_pending())
        log_requests_now(); /* a boundary would drop them with the step */
    else
        lazy_boundary(LAZY_EVAL, src_get(e->asked));
}

void log_between_send(int64_t step) {
    log_engine *e = log_engine_peek();
    if (!e || e->mute) return;
    send_values(e, true, step);
    log_artifacts_send();
}

void log_last_send(int64_t step) {
    log_engine *e = log_engine_peek();
    log_set *set = e ? &e->sets[LOG_TRAIN] : NULL;
    if (!e || e->mute) return;
    forget(e);
    if (log_held_opened(set)) {
        log_emit_opened(LOG_TRAIN, step);
        return;
    }
    e->given_stage = LOG_TRAIN;
    for (size_t i = 0; i < set->n_pending; i++) {
        const log_pending *p = &set->pending[i];
        log_given g = {.metric = set->metrics[p->metric],
                       .value = p->value,
                       .weight = p->weight,
                       .number = p->number,
                       .weight_value = p->weight_value};
        if (g.metric.o.on_step != XT_ON) continue; /* the epoch's row is written */
        g.metric.name = base_strdup(g.metric.name);
        if (!g.metric.name || !VEC_PUSH(e->given, e->n_given, e->cap_given, g)) base_free(g.metric.name);
    }
    send_values(e, false, step);
}
