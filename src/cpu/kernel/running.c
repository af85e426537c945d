/* Running folds by any region, of any number of operands and any element type, a step for each element instead of a
 * window.
 *
 * A window's padding comes as initial values, in front or behind: where region(init, init) is init, bit for bit, all
 * that lies in the padding folds to init, and a window's fold goes on where its neighbour's ended. Running forwards
 * that is the interpreter's order, step for step.
 *
 * Lines run abreast, as rows of lanes: side by side in memory (inner lanes next to each other) or brought there some
 * steps at a time. Few long lines are cut into segments, all of them folded first for their totals; what a segment
 * begins with is the fold of the totals before it. How many there are follows from the shape alone. Narrow floats that
 * are folded in f32 are rounded as they are stored. */
#include "cpu/kernel/running.h"

enum { LANES = 256, STEPS = 16, FEW = 64, SHORTEST = 64, NEXT_TO_EACH_OTHER = 32 };

static bool ones(const ir_op *op, ir_attr_key k) {
    size_t n;
    const int64_t *v = ir_get_ints(op, k, &n);
    for (size_t i = 0; i < n; i++)
        if (v[i] != 1) return false;
    return true;
}

bool running_dim(const ir_op *op, int64_t *dim, bool *reverse) {
    const ir_type *t = op->in[0]->type;
    size_t n;
    const int64_t *size = ir_get_ints(op, IR_A_window_dimensions, &n), *pad = ir_get_ints(op, IR_A_padding, &n);
    if (!pad || !ones(op, IR_A_window_strides) || !ones(op, IR_A_base_dilations) || !ones(op, IR_A_window_dilations))
        return false;
    *dim = -1;
    for (uint32_t d = 0; d < t->rank; d++) {
        if (size[d] == 1 && !pad[2 * d] && !pad[2 * d + 1]) continue;
        bool front = pad[2 * d] == size[d] - 1 && pad[2 * d + 1] == 0,
             back = pad[2 * d + 1] == size[d] - 1 && pad[2 * d] == 0;
        if (*dim >= 0 || size[d] < t->dims[d] || size[d] < 2 || (!front && !back)) return false;
        *dim = d;
        *reverse = back;
    }
    return *dim >= 0 && op->out[0].type == t;
}

bool running_of(const ir_op *op, running *out) {
    const ir_type *t = op->in[0]->type;
    int64_t dim;
    bool reverse = false;
    if (t->count <= 0 || !running_dim(op, &dim, &reverse)) return false;
    *out = (running){.outer = 1, .n = t->dims[dim], .inner = 1, .segments = 1, .reverse = reverse};
    for (int64_t d = 0; d < dim; d++) out->outer *= t->dims[d];
    for (uint32_t d = (uint32_t)dim + 1; d < t->rank; d++) out->inner *= t->dims[d];
    out->segment = out->n;
    int64_t lines = out->outer * out->inner;
    if (lines < FEW && out->n >= 2 * SHORTEST) {
        int64_t length = out->n / (LANES / lines) + 1;
        out->segment = length < SHORTEST ? SHORTEST : length;
        out->segments = (out->n + out->segment - 1) / out->segment;
    }
    return true;
}

/* --- one run --- */
typedef struct run_ctx {
    const running_fold *f;
    const cpu_call *call;
    rows_eval *evals;
    char *room; /* of each thread: thread_bytes */
    char *totals[FOLD_MOST]; /* a lane's total, then what it begins with */
    bool writes; /* else totals are made */
    int64_t width; /* lanes of a task */
} run_ctx;

static size_t register_elem(const running_fold *f, size_t j) {
    return f->wide ? sizeof(float) : f->elem[j];
}

/* The state of a row of lanes, STEPS rows of elements, and where they are narrow. */
static size_t operand_bytes(const running_fold *f, size_t j) {
    size_t rows = (STEPS + 1) * register_elem(f, j) + (f->wide ? STEPS * f->elem[j] : 0);
    return (LANES * rows + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
}
static size_t thread_bytes(const running_fold *f) {
    size_t bytes = 0;
    for (size_t j = 0; j < f->n; j++) bytes += operand_bytes(f, j);
    return bytes;
}
static int64_t all_lanes(const running *s) {
    return s->outer * s->segments * s->inner;
}
static size_t total_bytes(const running_fold *f, size_t j) {
    return ((size_t)all_lanes(f->shape) * register_elem(f, j) + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
}
size_t running_scratch(const running_fold *f, int threads) {
    size_t bytes = thread_bytes(f) * (size_t)threads;
    for (size_t j = 0; j < f->n && f->shape->segments > 1; j++) bytes += total_bytes(f, j);
    return bytes;
}

/* Lane q is line (q / inner / segments, q % inner), from its segment's first element on. */
static int64_t lane_begin(const running *s, int64_t q, int64_t *length) {
    int64_t part = q / s->inner, from = part % s->segments * s->segment;
    *length = s->n - from < s->segment ? s->n - from : s->segment;
    return (part / s->segments * s->n + from) * s->inner + q % s->inner;
}

/* n elements, each a step from the one before, of any size. */
#define STEPPED(T)                                                                   \
    for (int64_t i = 0; i < n; i++) ((T *)dst)[i * to] = ((const T *)src)[i * from]; \
    break
static void copy_steps(void *dst, int64_t to, const void *src, int64_t from, int64_t n, size_t elem) {
    switch (elem) {
    case 1: STEPPED(uint8_t);
    case 2: STEPPED(uint16_t);
    case 4: STEPPED(uint32_t);
    case 8: STEPPED(uint64_t);
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy((char *)dst + (size_t)(i * to) * elem, (const char *)src + (size_t)(i * from) * elem, elem);
    }
}

typedef struct lanes { /* of a task */
    int64_t first, n, at[LANES], length[LANES], longest;
    char *state[FOLD_MOST], *rows[FOLD_MOST], *spare[FOLD_MOST];
} lanes;

static int64_t steps_left(const lanes *l, int64_t i, int64_t k, int64_t n) {
    int64_t left = l->length[i] - k;
    return left < 0 ? 0 : left < n ? left : n;
}

/* Steps [k, k + n) of all lanes as rows; initial values behind the end of a short lane. */
static void load_steps(const run_ctx *r, const lanes *l, size_t j, int64_t k, int64_t n) {
    const running_fold *f = r->f;
    size_t e = f->elem[j];
    char *rows = f->wide ? l->spare[j] : l->rows[j];
    for (int64_t i = 0; i < l->n; i++) {
        int64_t inside = steps_left(l, i, k, n), step = f->shape->inner;
        char *to = rows + (size_t)i * e;
        copy_steps(to, l->n, (const char *)r->call->in[j] + (size_t)(l->at[i] + k * step) * e, step, inside, e);
        copy_steps(to + (size_t)(inside * l->n) * e, l->n, r->call->in[f->n + j], 0, n - inside, e);
    }
    if (f->wide) convert_elems(n * l->n, f->wide, rows, XT_F32, l->rows[j]);
}

static void store_steps(const run_ctx *r, const lanes *l, size_t j, int64_t k, int64_t n) {
    const running_fold *f = r->f;
    size_t e = f->elem[j];
    char *rows = f->wide ? l->spare[j] : l->rows[j];
    if (f->wide) convert_elems(n * l->n, XT_F32, l->rows[j], f->wide, rows);
    for (int64_t i = 0; i < l->n; i++) {
        int64_t step = f->shape->inner;
        char *to = (char *)r->call->out[j] + (size_t)(l->at[i] + k * step) * e;
        copy_steps(to, step, rows + (size_t)i * e, l->n, steps_left(l, i, k, n), e);
    }
}

/* state = region(state, row), and the same into the row; running backwards the row comes first. */
static void fold_row(const run_ctx *r, int thread, int64_t n, void *const *state, void *const *row, void *const *to) {
    size_t m = r->f->n;
    void *args[2 * FOLD_MOST];
    bool reverse = r->f->shape->reverse;
    for (size_t j = 0; j < m; j++) {
        args[j] = reverse ? row[j] : state[j];
        args[m + j] = reverse ? state[j] : row[j];
    }
    rows_eval_run(&r->evals[thread], n, args, to);
}

/* Elements of neighbouring lanes lie side by side, and need not be widened: rows are read and written in place. */
static bool in_memory(const run_ctx *r, const lanes *l) {
    const running *s = r->f->shape;
    return !r->f->wide && s->inner >= NEXT_TO_EACH_OTHER && l->first / s->inner == (l->first + l->n - 1) / s->inner;
}

static void run_in_memory(const run_ctx *r, lanes *l, int thread) {
    const running_fold *f = r->f;
    void *state[FOLD_MOST], *row[FOLD_MOST], *to[FOLD_MOST];
    for (size_t j = 0; j < f->n; j++) state[j] = l->state[j];
    for (int64_t q = 0; q < l->longest; q++) {
        int64_t k = f->shape->reverse ? l->longest - 1 - q : q;
        for (size_t j = 0; j < f->n; j++) {
            size_t at = (size_t)(l->at[0] + k * f->shape->inner) * f->elem[j];
            row[j] = (char *)r->call->in[j] + at;
            to[j] = r->writes ? (char *)r->call->out[j] + at : (void *)l->state[j];
        }
        fold_row(r, thread, l->n, state, row, to);
        for (size_t j = 0; j < f->n; j++) state[j] = to[j];
    }
}

static void run_in_rows(const run_ctx *r, lanes *l, int thread) {
    const running_fold *f = r->f;
    for (int64_t q = 0; q < l->longest; q += STEPS) {
        int64_t n = l->longest - q < STEPS ? l->longest - q : STEPS, k = f->shape->reverse ? l->longest - q - n : q;
        void *state[FOLD_MOST], *row[FOLD_MOST];
        for (size_t j = 0; j < f->n; j++) {
            load_steps(r, l, j, k, n);
            state[j] = l->state[j];
        }
        for (int64_t t = 0; t < n; t++) {
            for (size_t j = 0; j < f->n; j++)
                row[j] = l->rows[j] + (size_t)((f->shape->reverse ? n - 1 - t : t) * l->n) * register_elem(f, j);
            fold_row(r, thread, l->n, state, row, row);
            for (size_t j = 0; j < f->n; j++) state[j] = row[j];
        }
        for (size_t j = 0; j < f->n; j++) {
            memcpy(l->state[j], state[j], (size_t)l->n * register_elem(f, j));
            if (r->writes) store_steps(r, l, j, k, n);
        }
    }
}

static void begin_lanes(const run_ctx *r, lanes *l, int thread) {
    const running_fold *f = r->f;
    char *room = r->room + (size_t)thread * thread_bytes(f);
    l->longest = 0;
    for (int64_t i = 0; i < l->n; i++) {
        l->at[i] = lane_begin(f->shape, l->first + i, &l->length[i]);
        if (l->length[i] > l->longest) l->longest = l->length[i];
    }
    for (size_t j = 0; j < f->n; j++) {
        size_t re = register_elem(f, j);
        const void *init = r->call->in[f->n + j];
        l->state[j] = room;
        l->rows[j] = room + LANES * re;
        l->spare[j] = l->rows[j] + STEPS * LANES * re;
        room += operand_bytes(f, j);
        if (r->writes && f->shape->segments > 1) {
            memcpy(l->state[j], r->totals[j] + (size_t)l->first * re, (size_t)l->n * re);
            continue;
        }
        fill_elems(f->wide ? l->spare[j] : l->state[j], l->n, init, f->elem[j]);
        if (f->wide) convert_elems(l->n, f->wide, l->spare[j], XT_F32, l->state[j]);
    }
}

static void lanes_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    const run_ctx *r = ctx;
    const running_fold *f = r->f;
    int64_t all = all_lanes(f->shape);
    for (int64_t task = begin; task < end; task++) {
        lanes l = {.first = task * r->width};
        l.n = all - l.first < r->width ? all - l.first : r->width;
        begin_lanes(r, &l, thread);
        if (in_memory(r, &l))
            run_in_memory(r, &l, thread);
        else
            run_in_rows(r, &l, thread);
        for (size_t j = 0; j < f->n && !r->writes; j++)
            memcpy(r->totals[j] + (size_t)l.first * register_elem(f, j), l.state[j], (size_t)l.n * register_elem(f, j));
    }
}

/* Totals become what their segments begin with. */
static void join_totals(const run_ctx *r) {
    const running_fold *f = r->f;
    const running *s = f->shape;
    lanes l = {.n = 1};
    for (int64_t line = 0; line < s->outer * s->inner; line++) {
        void *state[FOLD_MOST], *row[FOLD_MOST];
        l.first = line / s->inner * s->segments * s->inner + line % s->inner;
        run_ctx fresh = *r;
        fresh.writes = false;
        begin_lanes(&fresh, &l, 0); /* the initial values */
        for (int64_t q = 0; q < s->segments; q++) {
            int64_t lane = l.first + (s->reverse ? s->segments - 1 - q : q) * s->inner;
            for (size_t j = 0; j < f->n; j++) {
                size_t re = register_elem(f, j);
                memcpy(l.rows[j], r->totals[j] + (size_t)lane * re, re);
                memcpy(r->totals[j] + (size_t)lane * re, l.state[j], re);
                state[j] = l.state[j], row[j] = l.rows[j];
            }
            fold_row(r, 0, 1, state, row, state);
        }
    }
}

/* region(init, init) is init. */
static bool starts_folds(const run_ctx *r) {
    const running_fold *f = r->f;
    void *state[FOLD_MOST], *row[FOLD_MOST], *to[FOLD_MOST];
    run_ctx fresh = *r;
    lanes l = {.n = 1};
    fresh.writes = false;
    begin_lanes(&fresh, &l, 0);
    for (size_t j = 0; j < f->n; j++) {
        size_t re = register_elem(f, j);
        state[j] = l.state[j], row[j] = l.rows[j], to[j] = l.rows[j] + re;
        memcpy(row[j], state[j], re);
    }
    fold_row(r, 0, 1, state, row, to);
    for (size_t j = 0; j < f->n; j++)
        if (memcmp(to[j], state[j], register_elem(f, j)) != 0) return false;
    return true;
}

xt_status running_run(const running_fold *f, const cpu_call *c, void *scratch, bool *out_done) {
    const cpu_team *team = &c->device->team;
    const running *s = f->shape;
    run_ctx r = {.f = f, .call = c, .room = scratch, .writes = true};
    char *totals = r.room + thread_bytes(f) * (size_t)team->threads;
    int64_t all = all_lanes(s), width = (all / 4 + 15) / 16 * 16;
    r.width = width < 16 ? 16 : width > LANES ? LANES : width;
    XT_TRY(rows_evals_new(f->region, c, &r.evals));
    for (size_t j = 0; j < f->n; j++) r.totals[j] = totals, totals += total_bytes(f, j);
    *out_done = starts_folds(&r);
    int64_t tasks = (all + r.width - 1) / r.width, grain = 4096 / (s->segment * r.width + 1) + 1;
    if (*out_done && s->segments > 1) {
        r.writes = false;
        team_for(team, tasks, grain, lanes_chunk, &r);
        join_totals(&r);
        r.writes = true;
    }
    if (*out_done) team_for(team, tasks, grain, lanes_chunk, &r);
    rows_evals_free(r.evals, c);
    return NULL;
}
