/* Runs a chain of attn.h: units of one batch element (or a part of its rows, where there are few) are taken by the
 * threads; each goes through its tiles in order. How the work is cut depends on shapes only, and sums over tiles are
 * made in their order, so results are the same for any number of threads.
 *
 * An operand's tile is read where it lies when it is dense there, else copied: once a unit when it does not depend
 * on the rows.
 *
 * A tile that needs its first columns only is run so; when its function says that the others would have mattered, it
 * is run whole. */
#include "cpu/kernel/kernel.h"
#include "cpu/plan/attention/attn.h"
#include "cpu/vector/dnnl_util.h"
#include "cpu/vector/move.h"

#include <stdatomic.h>

enum { UNITS = 24 }; /* that a call is cut into, if it has so many tiles */
/* programs of a tile: all columns; the same of the last rows; attn_call.skips */
enum { WHOLE, REST, SHORT, FORMS = SHORT + ATTN_SKIPS };

typedef struct part { /* one operand or result */
    const attn_arg *place;
    const ir_type *whole;
    size_t elem, tile_elem; /* bytes; of a sum it is another type */
    int64_t row_step; /* elements from one row to the next; 0: no rows */
    int64_t strides[ATTN_RANK];
    bool
        /* rows, or columns that are not the outermost dim: its tile lies otherwise in each form. Else the first columns
         * are the first elements */
        by_form;
    bool dense[FORMS];
    cpu_move move[FORMS];
    int64_t outer, inner; /* of a sum: elements before and behind the columns, */
    int64_t cols; /* and those, or 1 */
    size_t at; /* of its copy in the thread's memory */
    size_t sum_at, sum_count; /* of a sum: in the unit's memory, and its elements */
    bool shared; /* a sum: several batch elements have one place */
} part;
typedef struct attn_state {
    const attn_call *call;
    cpu_exec *subs[FORMS]; /* NULL: no such tiles */
    part *in, *out;
    uint32_t n_in, n_out, n_bounded;
    int64_t tiles, pieces; /* of a batch element */
    int64_t mask_cols; /* of a given mask */
    int32_t *mask_of; /* per batch element: the first that reads the same part of that mask */
    /* per batch element and tile, a byte: the program that the mask asks for, for the first of each part */
    size_t forms_at;
    size_t bounds_at, arena_at, places_at, thread_bytes, sums_bytes, sums_at;
    /* tiles so far; without their last columns; of these, how many were computed again, whole */
    _Atomic int64_t ran, shortened, redone;
} attn_state;

static void attn_free(void *state) {
    attn_state *s = state;
    for (int i = 0; i < FORMS; i++) cpu_exec_free(s->subs[i]);
    base_free(s->in);
    base_free(s->out);
    base_free(s->mask_of);
    base_free(s);
}

/* Elements from the start of the array to that of the tile. */
static int64_t place_of(const attn_state *s, const part *p, int64_t batch, int64_t row) {
    int64_t at = 0;
    for (uint32_t d = 0; d < p->whole->rank; d++) {
        int64_t tag = p->place->tags.at[d];
        if (tag > 0) at += batch / tag % p->whole->dims[d] * p->strides[d];
        if (tag == ATTN_ROW) at += row * p->strides[d];
        at += (batch * s->call->total_rows + row) * attn_flat(tag) * p->strides[d];
    }
    return at;
}

typedef struct attn_run {
    const cpu_call *call;
    const attn_state *s;
    pthread_mutex_t lock;
    xt_status status;
} attn_run;

static const cpu_team alone = {.threads = 1};

/* Adds to the first `cols` columns of a sum. */
static void add_columns(const part *p, void *sum, const void *x, int64_t cols) {
    const float *f = x;
    float *to = sum;
    int64_t n = cols * p->inner, step = p->cols * p->inner;
    for (int64_t o = 0; o < p->outer; o++, f += n, to += step)
        for (int64_t i = 0; i < n; i++) to[i] += f[i];
}
static void add_up(const part *p, void *sum, const void *x) {
    add_columns(p, sum, x, p->cols);
}

/* The largest absolute value; NaN counts as more than Inf. */
static float most_of(xt_dtype t, const void *x, int64_t n) {
    uint32_t most = 0;
    const uint32_t *f = x;
    const uint16_t *h = x;
    float value;
    if (t == XT_F32)
        for (int64_t i = 0; i < n; i++) most = (f[i] & 0x7fffffffu) > most ? f[i] & 0x7fffffffu : most;
    else
        for (int64_t i = 0; i < n; i++) most = (h[i] & 0x7fffu) > most ? h[i] & 0x7fffu : most;
    if (t == XT_BF16) most <<= 16;
    memcpy(&value, &most, sizeof value);
    return value;
}

typedef struct worker { /* a thread's memory, by what lies there */
    char *mem, *sums;
    float *bounds;
    bool bounded; /* those of operands without rows are there, of this unit */
    void **in, **out, **places;
} worker;
typedef struct tile_at {
    int64_t batch, tile;
    int32_t row;
    bool first; /* of its unit */
} tile_at;

static int form_of(const attn_state *s, int64_t tile) {
    for (uint32_t k = 0; k < s->call->n_skips; k++)
        if (tile >= s->call->skips[k].first && tile < s->call->skips[k].last) return SHORT + (int)k;
    return s->call->total_rows - tile * s->call->rows < s->call->rows ? REST : WHOLE;
}

/* All of n elements hide what they stand before. */
static bool all_hide(xt_dtype t, const attn_range *hides, const void *x, int64_t n, int64_t step) {
    const uint8_t *b = x;
    const uint16_t *h = x;
    const float *f = x;
    float lo = (float)hides->lo, hi = (float)hides->hi;
    bool seen = false;
    if (t == XT_BOOL)
        for (int64_t i = 0; i < n; i++) seen |= (b[i * step] != 0) != (lo > 0);
    else if (t == XT_F32)
        for (int64_t i = 0; i < n; i++) seen |= !(f[i * step] >= lo && f[i * step] <= hi);
    else
        for (int64_t i = 0; i < n; i++) {
            uint32_t bits = (uint32_t)h[i * step] << 16;
            float v;
            memcpy(&v, &bits, sizeof v);
            seen |= !(v >= lo && v <= hi);
        }
    return !seen;
}

/* The program with the fewest columns for which the given mask hides all others in this tile. Looks at what it hides
 * and little more. */
static int form_by_mask(const attn_run *r, const tile_at *t) {
    const attn_state *s = r->s;
    const attn_call *call = s->call;
    const part *p = &s->in[call->mask_in];
    int64_t row = 0, col = 0, end = s->mask_cols;
    int form = WHOLE;
    for (uint32_t d = 0; d < p->whole->rank; d++) {
        if (p->place->tags.at[d] == ATTN_ROW) row = p->strides[d];
        if (p->place->tags.at[d] == ATTN_COL) col = p->strides[d];
    }
    const char *at = (const char *)r->call->in[call->mask_in] + (size_t)place_of(s, p, t->batch, t->row) * p->elem;
    for (uint32_t k = call->n_skips; k-- > 0; end = call->skips[k].cols) {
        bool hidden = true;
        for (int64_t i = 0; i < (row ? call->rows : 1) && hidden; i++)
            hidden =
                all_hide(p->whole->dtype, &call->mask.hides,
                         at + (size_t)(i * row + call->skips[k].cols * col) * p->elem, end - call->skips[k].cols, col);
        if (!hidden) break;
        form = SHORT + (int)k;
    }
    return form;
}

static uint8_t *mask_forms(const attn_run *r) {
    return (uint8_t *)r->call->scratch + r->s->forms_at;
}

static void look_at_mask(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const attn_run *r = ctx;
    const attn_state *s = r->s;
    for (int64_t u = begin; u < end; u++) {
        tile_at t = {.batch = u / s->tiles, .tile = u % s->tiles, .row = (int32_t)(u % s->tiles * s->call->rows)};
        if (s->mask_of[t.batch] == t.batch && form_of(s, t.tile) == WHOLE)
            mask_forms(r)[u] = (uint8_t)form_by_mask(r, &t);
    }
}

/* Brings operand i's tile there. */
static void bring(const attn_run *r, worker *w, const tile_at *t, uint32_t i, int form, bool again) {
    const attn_state *s = r->s;
    const part *p = &s->in[i];
    char *src = (char *)r->call->in[i] + (size_t)place_of(s, p, t->batch, t->row) * p->elem;
    w->in[i] = p->dense[form] ? src : w->mem + p->at;
    if (!p->dense[form] && (t->first || p->row_step || (again && p->by_form)))
        cpu_move_run(&alone, &p->move[p->by_form ? form : WHOLE], w->in[i], src);
}

/* What functions of fewer columns want to know of whole operands: once a unit where there are no rows. */
static void bring_bounds(const attn_run *r, worker *w, const tile_at *t) {
    const attn_state *s = r->s;
    for (uint32_t i = 0, k = 0; i < s->n_in; i++) {
        const part *p = &s->in[i];
        if (!p->place->bounded) continue;
        if (!w->bounded || p->row_step) {
            bring(r, w, t, i, WHOLE, true);
            w->bounds[k] =
                most_of(p->whole->dtype, w->in[i], attn_tile_type(p->whole, &p->place->tags, s->call->rows, 0)->count);
        }
        k++;
    }
    w->bounded = true;
}

/* By one program; *out_ok: it says that its results are those of the whole. */
static xt_status run_form(const attn_run *r, cpu_device *d, worker *w, const tile_at *t, int form, bool again,
                          bool *out_ok) {
    const attn_state *s = r->s;
    int32_t row = t->row, number = (int32_t)t->batch;
    float ok = 1;
    for (uint32_t i = 0; i < s->n_in; i++) bring(r, w, t, i, form, again);
    w->in[s->n_in] = &row;
    w->in[s->n_in + 1] = &number;
    for (uint32_t i = 0; i < s->n_bounded; i++) w->in[s->n_in + 2 + i] = &w->bounds[i];
    for (uint32_t i = 0; i < s->n_out; i++) {
        const part *p = &s->out[i];
        if (p->place->summed)
            w->out[i] = t->first && form < SHORT ? w->sums + p->sum_at : w->mem + p->at;
        else
            w->out[i] = p->dense[form] ? (char *)r->call->out[i] + (size_t)place_of(s, p, t->batch, row) * p->elem
                                       : w->mem + p->at;
    }
    w->out[s->n_out] = &ok;
    XT_TRY(cpu_run_sub(s->subs[form], d, w->in, w->out, w->mem + s->arena_at, w->places));
    *out_ok = ok == 1;
    return NULL;
}

/* Results to where they belong. */
static void settle_form(const attn_run *r, worker *w, const tile_at *t, int form) {
    const attn_state *s = r->s;
    for (uint32_t i = 0; i < s->n_out; i++) {
        const part *p = &s->out[i];
        if (!p->place->summed) {
            if (!p->dense[form])
                cpu_move_run(&alone, &p->move[form],
                             (char *)r->call->out[i] + (size_t)place_of(s, p, t->batch, t->row) * p->elem, w->out[i]);
        } else if (form >= SHORT) {
            if (t->first) memset(w->sums + p->sum_at, 0, p->sum_count * p->tile_elem);
            add_columns(p, w->sums + p->sum_at, w->out[i], p->cols > 1 ? s->call->skips[form - SHORT].cols : 1);
        } else if (!t->first) {
            add_up(p, w->sums + p->sum_at, w->out[i]);
        }
    }
}

/* One tile; *form: of the one before it. */
static xt_status run_tile(const attn_run *r, cpu_device *d, worker *w, const tile_at *t, int *form) {
    int was = *form;
    bool ok = true;
    *form = form_of(r->s, t->tile);
    if (*form == WHOLE && r->s->mask_of) *form = mask_forms(r)[r->s->mask_of[t->batch] * r->s->tiles + t->tile];
    bool again = was != *form || (*form >= SHORT && !w->bounded);
    if (*form >= SHORT) bring_bounds(r, w, t);
    XT_TRY(run_form(r, d, w, t, *form, again, &ok));
    attn_state *counts = r->call->thunk->state;
    if (*form >= SHORT) atomic_fetch_add_explicit(&counts->shortened, 1, memory_order_relaxed);
    if (!ok) {
        atomic_fetch_add_explicit(&counts->redone, 1, memory_order_relaxed);
        *form = WHOLE;
        XT_TRY(run_form(r, d, w, t, *form, true, &ok));
    }
    settle_form(r, w, t, *form);
    return NULL;
}

static char *sums_of(const attn_run *r, int64_t unit) {
    return (char *)r->call->scratch + r->s->sums_at + (size_t)unit * r->s->sums_bytes;
}

static void run_units(void *ctx, int64_t begin, int64_t end, int thread) {
    attn_run *r = ctx;
    const attn_state *s = r->s;
    cpu_device d = *r->call->device;
    d.team = alone;
    char *mem = (char *)r->call->scratch + (size_t)thread * s->thread_bytes;
    worker w = {
        .mem = mem, .bounds = (float *)(void *)(mem + s->bounds_at), .in = (void **)(void *)(mem + s->places_at)};
    w.out = w.in + s->n_in + 2 + s->n_bounded;
    w.places = w.out + s->n_out + 1;
    for (int64_t u = begin; u < end; u++) {
        int64_t batch = u / s->pieces, piece = u % s->pieces, from = s->tiles * piece / s->pieces,
                to = s->tiles * (piece + 1) / s->pieces;
        int form = -1;
        xt_status st = NULL;
        w.sums = sums_of(r, u);
        w.bounded = false;
        for (int64_t t = from; t < to && !st; t++)
            st = run_tile(r, &d, &w, &(tile_at){batch, t, (int32_t)(t * s->call->rows), t == from}, &form);
        if (!st) continue;
        pthread_mutex_lock(&r->lock);
        if (r->status)
            xt_status_free(st);
        else
            r->status = st;
        pthread_mutex_unlock(&r->lock);
    }
}

/* The sums of one place of a result, in order of units: pieces of a batch element, and batch elements that
 * share the place. */
static void join_sum(const attn_run *r, const part *p, char *result, int64_t batch) {
    const attn_state *s = r->s;
    int64_t at = place_of(s, p, batch, 0), n = s->call->batch;
    for (int64_t b = 0; b < batch && p->shared; b++)
        if (place_of(s, p, b, 0) == at) return;
    char *sum = sums_of(r, batch * s->pieces) + p->sum_at, *to = result + (size_t)at * p->elem;
    for (int64_t b = batch; b < (p->shared ? n : batch + 1); b++)
        for (int64_t k = 0; k < s->pieces && place_of(s, p, b, 0) == at; k++)
            if (b > batch || k > 0) add_up(p, sum, sums_of(r, b * s->pieces + k) + p->sum_at);
    if (p->elem < p->tile_elem)
        simd_get()->ops[VPROG_STORE_BF16][VPROG_F32](sum, sum, NULL, NULL, (int64_t)p->sum_count);
    if (p->dense[0])
        memcpy(to, sum, p->sum_count * p->elem);
    else
        cpu_move_run(&alone, &p->move[0], to, sum);
}

static void join_sums(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const attn_run *r = ctx;
    for (int64_t b = begin; b < end; b++)
        for (uint32_t i = 0; i < r->s->n_out; i++)
            if (r->s->out[i].place->summed) join_sum(r, &r->s->out[i], r->call->out[i], b);
}

static xt_status attn_kernel_run(const cpu_call *c) {
    const attn_state *s = c->thunk->state;
    attn_run r = {.call = c, .s = s};
    XT_TRY(dnnl_stream_open(&c->device->stream));
    pthread_mutex_init(&r.lock, NULL);
    atomic_fetch_add_explicit(&((attn_state *)c->thunk->state)->ran, s->call->batch * s->tiles, memory_order_relaxed);
    if (s->mask_of) team_for(&c->device->team, s->call->batch * s->tiles, 1, look_at_mask, &r);
    team_for(&c->device->team, s->call->batch * s->pieces, 1, run_units, &r);
    if (!r.status && s->sums_bytes) team_for(&c->device->team, s->call->batch, 1, join_sums, &r);
    pthread_mutex_destroy(&r.lock);
    return r.status;
}

static void attn_report(const void *state, str *out) {
    const attn_state *s = state;
    str_printf(out, "%lld of %lld tiles without their last columns, %lld of them computed again",
               (long long)s->shortened, (long long)s->ran, (long long)s->redone);
}
static const cpu_kernel attn_kernel = {"attention", attn_kernel_run, attn_free, true, .report = attn_report};

/* --- lowering --- */
static size_t take(size_t *all, size_t bytes) {
    size_t at = *all;
    *all += (bytes + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
    return at;
}

/* Elements before, in and behind the columns of a sum. */
static void place_columns(part *p, const ir_type *tile) {
    p->outer = p->inner = p->cols = 1;
    bool behind = false;
    for (uint32_t d = 0; d < tile->rank; d++) {
        bool here = p->place->tags.at[d] == ATTN_COL;
        *(here ? &p->cols : behind ? &p->inner : &p->outer) *= tile->dims[d];
        behind |= here;
    }
}

/* How the tile lies in the whole array, per form. */
static void make_part(const attn_call *t, const attn_arg *place, const ir_type *whole, bool is_out, part *p) {
    int64_t step = 1;
    *p = (part){.place = place, .whole = whole, .elem = xt_dtype_size(whole->dtype)};
    p->tile_elem = place->summed && p->elem < sizeof(float) ? sizeof(float) : p->elem;
    for (uint32_t d = whole->rank; d-- > 0; step *= whole->dims[d]) {
        p->strides[d] = step;
        if (place->tags.at[d] == ATTN_ROW || attn_flat(place->tags.at[d])) p->row_step = step;
    }
    const ir_type *most = attn_tile_type(whole, &place->tags, t->rows, 0);
    place_columns(p, most);
    p->by_form = p->row_step || (p->cols > 1 && p->outer > 1);
    p->sum_count = place->summed ? (size_t)most->count : 0;
    for (int form = 0; form < SHORT + (int)t->n_skips; form++) {
        int64_t rest = t->total_rows % t->rows, rows = form == REST && rest ? rest : t->rows;
        const ir_type *tile = attn_tile_type(whole, &place->tags, rows, form < SHORT ? 0 : t->skips[form - SHORT].cols);
        view lies = {.n = (int)whole->rank}, dense;
        for (uint32_t d = 0; d < whole->rank; d++) lies.dims[d] = tile->dims[d], lies.strides[d] = p->strides[d];
        view_dense(tile, &dense);
        view folded = lies;
        view_collapse(&folded);
        p->dense[form] = view_is_dense(&folded);
        cpu_move_make(is_out ? &lies : &dense, is_out ? &dense : &lies, whole->dtype, &p->move[form]);
    }
}

static xt_status make_subs(cpu_builder *b, attn_state *s) {
    XT_TRY(cpu_sub_make(b, s->call->body->body, 0, NULL, 0, true, &s->subs[WHOLE]));
    if (s->call->rest) XT_TRY(cpu_sub_make(b, s->call->rest->body, 0, NULL, 0, true, &s->subs[REST]));
    for (uint32_t k = 0; k < s->call->n_skips; k++)
        XT_TRY(cpu_sub_make(b, s->call->skips[k].body->body, 0, NULL, 0, true, &s->subs[SHORT + k]));
    return NULL;
}

static size_t lay_out(attn_state *s, int threads) {
    size_t temps = 0, places = 0, mem = 0;
    for (int i = 0; i < FORMS; i++) {
        if (!s->subs[i]) continue;
        if (s->subs[i]->plan.arena_bytes > temps) temps = s->subs[i]->plan.arena_bytes;
        if (cpu_sub_slots(s->subs[i]) > places) places = cpu_sub_slots(s->subs[i]);
    }
    s->arena_at = take(&mem, temps);
    s->bounds_at = take(&mem, (s->n_bounded + 1) * sizeof(float));
    s->places_at = take(&mem, (s->n_in + 2 + s->n_bounded + s->n_out + 1 + places) * sizeof(void *));
    for (uint32_t i = 0; i < s->n_in + s->n_out; i++) {
        part *p = i < s->n_in ? &s->in[i] : &s->out[i - s->n_in];
        const ir_type *tile = attn_tile_type(p->whole, &p->place->tags, s->call->rows, 0);
        size_t bytes = (size_t)tile->count * p->tile_elem;
        p->at = take(&mem, bytes);
        if (p->place->summed) p->sum_at = take(&s->sums_bytes, bytes);
    }
    s->thread_bytes = mem;
    s->sums_at = mem * (size_t)threads;
    s->forms_at = s->sums_at + s->sums_bytes * (size_t)(s->call->batch * s->pieces);
    return s->forms_at + (s->mask_of ? (size_t)(s->call->batch * s->tiles) : 0);
}

/* Heads mostly share a mask, and batch elements may: which of them read the same part of it. */
static xt_status share_mask(attn_state *s) {
    const part *p = &s->in[s->call->mask_in];
    int64_t n = s->call->batch;
    map *firsts = map_new(); /* by place: 1 + the first that reads there */
    s->mask_of = base_calloc((size_t)n, sizeof *s->mask_of);
    bool ok = firsts && s->mask_of;
    for (int64_t b = 0; b < n && ok; b++) {
        int64_t place = place_of(s, p, b, 0);
        uintptr_t first = (uintptr_t)map_get(firsts, &place, sizeof place);
        s->mask_of[b] = (int32_t)(first ? (int64_t)first - 1 : b);
        ok = first || map_put(firsts, &place, sizeof place, (void *)(uintptr_t)(b + 1), NULL);
    }
    map_free(firsts, NULL);
    for (uint32_t d = 0; d < p->whole->rank; d++)
        if (p->place->tags.at[d] == ATTN_COL) s->mask_cols = p->whole->dims[d];
    return ok ? NULL : status_oom((size_t)n * sizeof *s->mask_of, "a plan");
}

CPU_LOWER(attention) {
    const attn_call *t = cpu_build_exec(b)->tiles;
    while (t && t->op != op) t = t->next;
    if (!t) return NULL;
    attn_state *s = base_calloc(1, sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    *s = (attn_state){.call = t,
                      .n_in = op->n_in,
                      .n_out = op->n_out,
                      .in = base_calloc(op->n_in + 1, sizeof *s->in),
                      .out = base_calloc(op->n_out + 1, sizeof *s->out)};
    xt_status st = s->in && s->out ? make_subs(b, s) : status_oom(0, "a plan");
    if (st) {
        attn_free(s);
        return st;
    }
    s->tiles = (t->total_rows + t->rows - 1) / t->rows;
    s->pieces = t->batch >= UNITS ? 1 : (UNITS + t->batch - 1) / t->batch;
    if (s->pieces > s->tiles) s->pieces = s->tiles;
    for (uint32_t i = 0; i < op->n_in; i++) s->n_bounded += t->in[i].bounded;
    for (uint32_t i = 0; i < op->n_in; i++) make_part(t, &t->in[i], op->in[i]->type, false, &s->in[i]);
    if (t->mask.value && t->n_skips && (st = share_mask(s))) {
        attn_free(s);
        return st;
    }
    for (uint32_t i = 0; i < op->n_out; i++) {
        make_part(t, &t->out[i], op->out[i].type, true, &s->out[i]);
        int64_t places = 1;
        for (uint32_t d = 0; d < op->out[i].type->rank; d++)
            if (t->out[i].tags.at[d] > 0) places *= op->out[i].type->dims[d];
        s->out[i].shared = places != t->batch;
    }
    cpu_thunk_desc d = {.kernel = &attn_kernel,
                        .op = op,
                        .n_in = op->n_in,
                        .n_out = op->n_out,
                        .scratch_bytes = lay_out(s, cpu_build_threads(b)),
                        .state = s};
    for (int64_t k = 0; k < s->tiles; k++) {
        int form = form_of(s, k);
        double of_function = 0,
               /* the rest's are counted by the whole one */
            part_of = form == REST ? (double)(t->total_rows % t->rows) / (double)t->rows : 1;
        const ir_func *f = form >= SHORT ? t->skips[form - SHORT].body : t->body;
        d.flops += (double)t->batch * part_of * cpu_block_flops(f->body, &of_function);
        d.transcendentals += (double)t->batch * part_of * of_function;
    }
    *out_done = true;
    return cpu_build_thunk(b, &d);
}
