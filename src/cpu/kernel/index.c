/* gather and scatter by moving whole slices: the position of each slice is read from the index array, its elements are
 * one strided copy (or fold).
 *
 * The slices are numbered by the index array's batch dims, row-major. A box of them (one of the dims cut to a range) is
 * walked in runs along the last batch dim: the offsets of a run are worked out first, component by component, then its
 * slices are moved.
 *
 * Several slices of a scatter may meet at one place, and their order decides the sum's last bits. So threads divide
 * where slices go, never which slices there are: along a batch dim that is paired with a dim of the operand, else along
 * a dim of the window, else by address. Every place sees its slices in order, whatever the number of threads. Only a
 * histogram (single elements summed along one run of indices into far fewer places) is divided by its updates: into
 * pieces that depend on the shapes alone, summed apart and joined in order. */
#include "cpu/kernel/index.h"
#include "cpu/kernel/kernel.h"
#include "cpu/vector/fold.h"

void slices_walk(const slices *s, const void *indices, bool clamp, int dim, int64_t begin, int64_t end, slices_fn fn,
                 void *ctx) {
    const simd_ops *simd = simd_get();
    const int64_t index_bytes = (int64_t)xt_dtype_size(s->index_type);
    int last = s->n_batch - 1;
    vprog_type type = VPROG_I64;
    vprog_type_of(s->index_type, &type);
    int64_t dims[VIEW_MAX], row = last < 0 ? 1 : dim == last ? end - begin : s->batch_dims[last], total = row;
    for (int i = 0; i < last; i++) {
        dims[i] = i == dim ? end - begin : s->batch_dims[i];
        total *= dims[i];
    }
    int64_t k = dim < 0 ? begin : 0, stop = dim < 0 ? end : total;
    while (k < stop) {
        run_of_slices r;
        int64_t rest = k / row, x = k % row, at = 0, from = 0;
        r.array = 0;
        for (int i = last - 1; i >= 0; i--) {
            int64_t c = rest % dims[i] + (i == dim ? begin : 0);
            rest /= dims[i];
            at += c * s->index_strides[i];
            r.array += c * s->array_strides[i];
            from += c * s->batch_operand[i];
        }
        r.n = row - x < SLICES_RUN ? row - x : SLICES_RUN;
        if (r.n > stop - k) r.n = stop - k;
        int64_t operand_step = 0, index_step = 0;
        r.step = 0;
        if (last >= 0) {
            if (dim == last) x += begin;
            operand_step = s->batch_operand[last], index_step = s->index_strides[last], r.step = s->array_strides[last];
            from += x * operand_step;
            at += x * index_step;
            r.array += x * r.step;
        }
        simd->count_by(r.operand, from, operand_step, r.n);
        for (int i = 0; i < s->n_start; i++)
            simd->starts[type](r.operand, (const char *)indices + (at + i * s->vector_stride) * index_bytes, index_step,
                               r.n, s->start_strides[i], s->limit[i], clamp);
        fn(ctx, &r);
        k += r.n;
    }
}

/* --- gather --- */
typedef struct index_run {
    const slices *s;
    const char *src;
    char *dst;
    const void *indices;
} index_run;
static const cpu_team alone = {.threads = 1};

/* dst[j] = src[at[j]]. One by one: the instructions that collect a vector take longer on many processors, where they
 * are slowed down so that they tell nothing. */
#define PICK(T)                                                                           \
    static void pick_##T(T *restrict dst, const T *src, const int64_t *at, int64_t n) {   \
        int64_t j = 0;                                                                    \
        for (; j + 4 <= n; j += 4) {                                                      \
            T a = src[at[j]], b = src[at[j + 1]], c = src[at[j + 2]], d = src[at[j + 3]]; \
            dst[j] = a, dst[j + 1] = b, dst[j + 2] = c, dst[j + 3] = d;                   \
        }                                                                                 \
        for (; j < n; j++) dst[j] = src[at[j]];                                           \
    }
PICK(uint8_t)
PICK(uint16_t)
PICK(uint32_t)
PICK(uint64_t)
static void pick(int64_t elem, void *dst, const void *src, const int64_t *at, int64_t n) {
    switch (elem) {
    case 1: pick_uint8_t(dst, src, at, n); break;
    case 2: pick_uint16_t(dst, src, at, n); break;
    case 4: pick_uint32_t(dst, src, at, n); break;
    default: pick_uint64_t(dst, src, at, n);
    }
}

/* Slices that lie next to each other in the result, place by place of their window: rows of the result are written. */
static void gather_across(const index_run *g, const run_of_slices *r) {
    const view *d = &g->s->window.dst, *v = &g->s->window.src;
    int64_t at[VIEW_MAX] = {0};
    for (;;) {
        int64_t to = r->array + d->offset, from = v->offset;
        for (int i = 0; i < d->n; i++) to += at[i] * d->strides[i], from += at[i] * v->strides[i];
        int64_t e = (int64_t)g->s->elem;
        pick(e, g->dst + to * e, g->src + from * e, r->operand, r->n);
        int i = d->n - 1;
        for (; i >= 0; i--) {
            if (++at[i] < d->dims[i]) break;
            at[i] = 0;
        }
        if (i < 0) return;
    }
}

static void gather_slices(void *ctx, const run_of_slices *r) {
    const index_run *g = ctx;
    const cpu_move *w = &g->s->window;
    int64_t e = (int64_t)g->s->elem;
#define ONE(T)                                                                                            \
    for (int64_t j = 0; j < r->n; j++)                                                                    \
        ((T *)(void *)g->dst)[r->array + j * r->step] = ((const T *)(const void *)g->src)[r->operand[j]]; \
    return
    if (w->dst.n == 0 && w->src.offset == 0 && w->dst.offset == 0) {
        if (r->step == 1 && e <= 8) {
            pick(e, g->dst + r->array * e, g->src, r->operand, r->n);
            return;
        }
        switch (e) {
        case 1: ONE(uint8_t);
        case 2: ONE(uint16_t);
        case 4: ONE(uint32_t);
        case 8: ONE(uint64_t);
        default: break;
        }
    }
#undef ONE
    if (r->step == 1 && r->n > 1 && w->dst.n > 0 && w->dst.strides[w->dst.n - 1] != 1 && e <= 8) {
        gather_across(g, r);
        return;
    }
    bool whole = w->dst.n == 0 || (w->dst.n == 1 && w->dst.strides[0] == 1 && w->src.strides[0] == 1);
    size_t bytes = (size_t)(view_count(&w->dst) * e);
    for (int64_t j = 0; j < r->n; j++) {
        const char *src = g->src + r->operand[j] * e;
        char *dst = g->dst + (r->array + j * r->step) * e;
        if (whole)
            memcpy(dst + w->dst.offset * e, src + w->src.offset * e, bytes);
        else
            cpu_move_run(&alone, w, dst, src);
    }
}

static void gather_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const index_run *g = ctx;
    slices_walk(g->s, g->indices, true, -1, begin, end, gather_slices, ctx);
}

/* Slices that lie next to each other in the result: threads divide their window, so that rows stay long. */
static int divided_window(const slices *s) {
    const view *d = &s->window.dst;
    int last = s->n_batch - 1, longest = 0;
    if (last < 0 || s->batch_dims[last] < 2 || s->array_strides[last] != 1 || d->n == 0 || d->strides[d->n - 1] == 1)
        return -1;
    for (int i = 1; i < d->n; i++)
        if (d->dims[i] > d->dims[longest]) longest = i;
    return longest;
}
static void gather_window_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    index_run part = *(const index_run *)ctx;
    slices s = *part.s;
    view *v[] = {&s.window.dst, &s.window.src};
    int dim = divided_window(part.s);
    for (int i = 0; i < 2; i++) v[i]->offset += begin * v[i]->strides[dim], v[i]->dims[dim] = end - begin;
    part.s = &s;
    slices_walk(&s, part.indices, true, -1, 0, s.count, gather_slices, &part);
}

static xt_status gather_run(const cpu_call *c) {
    const slices *s = c->thunk->state;
    index_run r = {s, c->in[0], c->out[0], c->in[1]};
    int dim = s->has_window ? divided_window(s) : -1;
    int64_t each = dim < 0 ? 0 : s->count * view_count(&s->window.dst) / s->window.dst.dims[dim];
    if (dim >= 0)
        team_for(&c->device->team, s->window.dst.dims[dim], 16384 / (each + 1) + 1, gather_window_chunk, &r);
    else if (s->has_window)
        team_for(&c->device->team, s->count, 16384 / (view_count(&s->window.dst) + 1) + 1, gather_chunk, &r);
    return NULL;
}
static const cpu_kernel gather_kernel = {"gather", gather_run, NULL, true};

static bool contains(const int64_t *list, size_t n, int64_t v) {
    for (size_t i = 0; i < n; i++)
        if (list[i] == v) return true;
    return false;
}

/* The part of gather's and scatter's dimension numbers that is alike. `moved` is the gathered result or the update;
 * window dims of the operand with the sizes in `sizes` meet its dims in `offset` in order. */
static bool read_slices(const ir_type *operand, const ir_type *indices, const ir_type *moved, int64_t vector_dim,
                        const int64_t *to_dim, size_t n_map, const int64_t *offset, size_t n_offset,
                        const int64_t *gone, size_t n_gone, const int64_t *op_batch, size_t n_op_batch,
                        const int64_t *idx_batch, const int64_t *sizes, bool to_operand, slices *s) {
    view ov, iv, av, w = {0}, a = {0};
    if (!view_dense(operand, &ov) || !view_dense(indices, &iv) || !view_dense(moved, &av)) return false;
    if (!ir_dtype_is_int(indices->dtype) || xt_dtype_size(indices->dtype) == 0 || indices->dtype == XT_I4 ||
        indices->dtype == XT_U4)
        return false;
    s->elem = xt_dtype_size(operand->dtype);
    s->index_type = indices->dtype;
    s->count = 1;
    int next = 0; /* array dims that are not window dims, in order */
    for (int i = 0; i < iv.n; i++) {
        if (i == vector_dim) continue;
        while (contains(offset, n_offset, next)) next++;
        s->batch_dims[s->n_batch] = iv.dims[i];
        s->index_strides[s->n_batch] = iv.strides[i];
        s->array_strides[s->n_batch] = av.strides[next++];
        s->batch_operand[s->n_batch] = 0;
        for (size_t k = 0; k < n_op_batch; k++)
            if (idx_batch[k] == i) s->batch_operand[s->n_batch] = ov.strides[op_batch[k]];
        s->count *= iv.dims[i];
        s->n_batch++;
    }
    s->vector_stride = vector_dim < iv.n ? iv.strides[vector_dim] : 0;
    s->n_start = (int)n_map;
    size_t used = 0;
    for (int d = 0; d < ov.n; d++) {
        if (contains(gone, n_gone, d) || contains(op_batch, n_op_batch, d)) continue;
        w.dims[w.n] = a.dims[w.n] = sizes[d];
        w.strides[w.n] = ov.strides[d];
        a.strides[w.n] = av.strides[offset[used++]];
        w.n++;
    }
    a.n = w.n;
    for (size_t i = 0; i < n_map; i++) {
        s->start_strides[i] = ov.strides[to_dim[i]];
        s->limit[i] = operand->dims[to_dim[i]] - sizes[to_dim[i]];
    }
    s->has_window = to_operand ? cpu_move_make(&w, &a, operand->dtype, &s->window)
                               : cpu_move_make(&a, &w, operand->dtype, &s->window);
    return true;
}

CPU_LOWER(gather) {
    size_t n_off, n_col, n_ob, n_sb, n_map, n_sizes;
    const int64_t *offset = ir_get_ints(op, IR_A_offset_dims, &n_off),
                  *collapsed = ir_get_ints(op, IR_A_collapsed_slice_dims, &n_col);
    const int64_t *ob = ir_get_ints(op, IR_A_operand_batching_dims, &n_ob),
                  *sb = ir_get_ints(op, IR_A_start_indices_batching_dims, &n_sb);
    const int64_t *start_map = ir_get_ints(op, IR_A_start_index_map, &n_map),
                  *sizes = ir_get_ints(op, IR_A_slice_sizes, &n_sizes);
    slices *s = base_calloc(1, sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    if (op->out[0].type->count == 0 ||
        !read_slices(op->in[0]->type, op->in[1]->type, op->out[0].type, ir_get_int(op, IR_A_index_vector_dim, 0),
                     start_map, n_map, offset, n_off, collapsed, n_col, ob, n_ob, sb, sizes, false, s)) {
        base_free(s);
        return NULL;
    }
    *out_done = true;
    cpu_thunk_desc d = {.kernel = &gather_kernel,
                        .op = op,
                        .n_in = 2,
                        .n_out = 1,
                        .state = s,
                        .bytes = 2.0 * (double)ir_type_bytes(op->out[0].type)};
    return cpu_build_thunk(b, &d);
}

/* --- scatter --- */
typedef struct scatter_job {
    const slices *s;
    char *dst;
    const char *src;
    const void *indices;
    int dim; /* batch dim that threads divide; -1: none */
    int window_dim; /* dim of the window that they divide; -1: none */
    int64_t elements, pieces; /* else they divide the operand */
} scatter_job;
typedef struct scatter_piece {
    const scatter_job *job;
    cpu_move window;
    int64_t low, high; /* where windows begin that are this piece's, of single elements and of rows that lie apart */
} scatter_piece;

static bool is_row(const cpu_move *w) {
    return w->dst.n == 1 && w->dst.strides[0] == 1 && w->src.strides[0] == 1;
}

/* Windows that begin at different elements have none in common: they are rows, and begin where rows begin. */
static bool rows_apart(const slices *s) {
    if (!is_row(&s->window)) return false;
    int64_t width = s->window.dst.dims[0], row = 0;
    for (int i = 0; i < s->n_start; i++)
        if (!row || s->start_strides[i] < row) row = s->start_strides[i];
    if (row < width) return false;
    for (int i = 0; i < s->n_start; i++)
        if (s->start_strides[i] % row) return false;
    for (int i = 0; i < s->n_batch; i++)
        if (s->batch_operand[i] % row) return false;
    return true;
}

/* Which of them are this piece's is worked out first, without a branch that nobody could foresee. */
static void scatter_rows(const scatter_piece *p, const run_of_slices *r) {
    enum { SHORT = 64 }; /* measured: rows of 16 to 64 gain where many are folded in one call, rows of 256 lose */
    const slices *s = p->job->s;
    int64_t e = (int64_t)s->elem, width = p->window.dst.dims[0], n = 0;
    char *dst = p->job->dst + p->window.dst.offset * e;
    const char *src = p->job->src + (r->array + p->window.src.offset) * e;
    uint16_t mine[SLICES_RUN];
    for (int64_t j = 0; j < r->n; j++) {
        mine[n] = (uint16_t)j;
        n += r->operand[j] >= p->low && r->operand[j] < p->high;
    }
    if (!s->replace && s->fold.rows && width <= SHORT) {
        s->fold.rows((float *)(void *)dst, r->operand, (const float *)(const void *)src, r->step, mine, n, width);
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        char *to = dst + r->operand[mine[k]] * e;
        const char *from = src + mine[k] * r->step * e;
        if (s->replace)
            memcpy(to, from, (size_t)(width * e));
        else
            s->fold.row(to, to, from, NULL, width);
    }
}

static void scatter_slices(void *ctx, const run_of_slices *r) {
    const scatter_piece *p = ctx;
    const slices *s = p->job->s;
    const cpu_move *w = &p->window;
    int64_t e = (int64_t)s->elem;
    if (w->dst.n == 0) {
        const char *src = p->job->src + w->src.offset * e;
        char *dst = p->job->dst + w->dst.offset * e;
        if (!s->replace) {
            s->fold.scatter(dst, src + r->array * e, r->step, r->operand, r->n, p->low, p->high);
            return;
        }
        for (int64_t j = 0; j < r->n; j++)
            if (r->operand[j] >= p->low && r->operand[j] < p->high)
                memcpy(dst + r->operand[j] * e, src + (r->array + j * r->step) * e, (size_t)e);
        return;
    }
    if (is_row(w) && (s->replace || s->fold.row)) {
        scatter_rows(p, r);
        return;
    }
    for (int64_t j = 0; j < r->n; j++) {
        if (r->operand[j] < p->low || r->operand[j] >= p->high) continue;
        char *dst = p->job->dst + r->operand[j] * e;
        const char *src = p->job->src + (r->array + j * r->step) * e;
        if (s->replace)
            cpu_move_run(&alone, w, dst, src);
        else
            index_fold_window(&s->fold, w, dst, src);
    }
}

/* Slices with coordinates in [begin, end) along batch dim `dim` (-1: all), place by place of the window: no offsets are
 * written down, and neighbouring indices write to neighbouring rows or columns. Every place meets its updates in the
 * slices' order. */
static void scatter_lines(const scatter_piece *p, int dim, int64_t begin, int64_t end) {
    const scatter_job *job = p->job;
    const slices *s = job->s;
    const view *d = &p->window.dst, *u = &p->window.src;
    int last = s->n_batch - 1;
    int64_t dims[VIEW_MAX], rows = 1, places = view_count(d), e = (int64_t)s->elem, first = dim == last ? begin : 0;
    index_direct_fn fold = s->index_type == XT_I32 ? s->fold.from_i32 : s->fold.from_i64;
    index_line l = {.index_step = s->index_strides[last],
                    .stride = s->start_strides[0],
                    .along = s->batch_operand[last],
                    .step = s->array_strides[last],
                    .n = dim == last ? end - begin : s->batch_dims[last],
                    .limit = (uint64_t)s->limit[0]};
    for (int i = 0; i < last; i++) rows *= dims[i] = i == dim ? end - begin : s->batch_dims[i];
    for (int64_t k = 0; k < places * rows; k++) {
        int64_t rest = k / rows, to = d->offset + first * l.along, from = u->offset + first * l.step,
                at = first * l.index_step;
        for (int i = d->n - 1; i >= 0; i--) {
            to += rest % d->dims[i] * d->strides[i];
            from += rest % d->dims[i] * u->strides[i];
            rest /= d->dims[i];
        }
        rest = k % rows;
        for (int i = last - 1; i >= 0; i--) {
            int64_t c = rest % dims[i] + (i == dim ? begin : 0);
            rest /= dims[i];
            to += c * s->batch_operand[i];
            from += c * s->array_strides[i];
            at += c * s->index_strides[i];
        }
        l.index = (const char *)job->indices + (size_t)at * xt_dtype_size(s->index_type);
        fold(job->dst + to * e, job->src + from * e, &l);
    }
}

static void scatter_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const scatter_job *j = ctx;
    const slices *s = j->s;
    scatter_piece p = {.job = j, .window = s->window, .low = 0, .high = INT64_MAX};
    if (j->dim >= 0) {
        int64_t n = s->batch_dims[j->dim];
        if (s->lines)
            scatter_lines(&p, j->dim, n * begin / j->pieces, n * end / j->pieces);
        else
            slices_walk(s, j->indices, false, j->dim, n * begin / j->pieces, n * end / j->pieces, scatter_slices, &p);
        return;
    }
    if (j->window_dim >= 0) {
        int w = j->window_dim;
        int64_t n = s->window.dst.dims[w], from = n * begin / j->pieces, to = n * end / j->pieces;
        p.window.dst.dims[w] = p.window.src.dims[w] = to - from;
        p.window.dst.offset += from * p.window.dst.strides[w];
        p.window.src.offset += from * p.window.src.strides[w];
        if (s->lines) {
            scatter_lines(&p, -1, 0, 0);
            return;
        }
    } else {
        p.low = j->elements / j->pieces * begin;
        if (end < j->pieces) p.high = j->elements / j->pieces * end;
    }
    slices_walk(s, j->indices, false, -1, 0, s->count, scatter_slices, &p);
}

/* --- histograms --- */
enum { LINE_CHUNKS = 8, LINE_CHUNK = 32768 };
typedef struct line_job {
    const cpu_call *call;
    const slices *s;
    size_t bytes; /* of the operand */
} line_job;

static void line_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const line_job *j = ctx;
    const slices *s = j->s;
    size_t index_size = xt_dtype_size(s->index_type);
    for (int64_t k = begin; k < end; k++) {
        int64_t from = s->count * k / s->chunks, step = s->n_batch ? s->index_strides[s->n_batch - 1] : 0,
                array_step = s->n_batch ? s->array_strides[s->n_batch - 1] : 0;
        index_line l = {.index = (const char *)j->call->in[1] + (size_t)(from * step) * index_size,
                        .index_step = step,
                        .stride = s->start_strides[0],
                        .step = array_step,
                        .n = s->count * (k + 1) / s->chunks - from,
                        .limit = (uint64_t)s->limit[0]};
        void *dst = j->call->out[0];
        if (k > 0) dst = memset((char *)j->call->scratch + (size_t)(k - 1) * j->bytes, 0, j->bytes);
        (s->index_type == XT_I32 ? s->fold.from_i32 : s->fold.from_i64)(
            dst, (const char *)j->call->in[2] + (size_t)(from * array_step) * s->elem, &l);
    }
}

static void join_line(const cpu_call *c, const slices *s, int64_t elements, size_t bytes) {
    cpu_move whole = {.dst = {.n = 1, .dims = {elements}, .strides = {1}},
                      .src = {.n = 1, .dims = {elements}, .strides = {1}}};
    for (int64_t k = 1; k < s->chunks; k++)
        index_fold_window(&s->fold, &whole, c->out[0], (const char *)c->scratch + (size_t)(k - 1) * bytes);
}

/* Single elements along one run of indices, all of them in one dim of the operand or neighbours in memory. */
static bool is_line(const slices *s) {
    if (s->replace || s->n_start != 1 || !s->has_window || s->window.dst.n || s->window.dst.offset ||
        s->window.src.offset)
        return false;
    if ((s->index_type != XT_I32 || !s->fold.from_i32) && (s->index_type != XT_I64 || !s->fold.from_i64)) return false;
    for (int i = 0; i < s->n_batch; i++) {
        if (s->batch_operand[i]) return false;
        if (i + 1 < s->n_batch && (s->index_strides[i] != s->index_strides[i + 1] * s->batch_dims[i + 1] ||
                                   s->array_strides[i] != s->array_strides[i + 1] * s->batch_dims[i + 1]))
            return false;
    }
    return true;
}

/* One index a slice, long runs of them, and windows of single elements or of elements that lie apart (rows are folded
 * as vectors, slice by slice). */
static bool has_lines(const slices *s) {
    enum { SHORT = 16 };
    const view *d = &s->window.dst;
    if (s->replace || s->n_start != 1 || !s->has_window || s->n_batch == 0 || s->batch_dims[s->n_batch - 1] < SHORT)
        return false;
    return (s->index_type == XT_I32 ? s->fold.from_i32 != NULL : s->index_type == XT_I64 && s->fold.from_i64) &&
           (d->n == 0 || d->strides[d->n - 1] != 1);
}

/* Windows begin at different places along this dim of theirs: what one of them has behind its middle, another has
 * before it. */
static bool moves_along(const slices *s, int w) {
    int64_t stride = s->window.dst.strides[w], extent = stride * s->window.dst.dims[w];
    for (int i = 0; i < s->n_start; i++)
        if (s->limit[i] > 0 && s->start_strides[i] >= stride && s->start_strides[i] < extent) return true;
    return false;
}

static xt_status scatter_run(const cpu_call *c) {
    enum { PIECE_BYTES = 256 << 10, PIECE_ROW = 64 };
    const slices *s = c->thunk->state;
    const cpu_team *team = &c->device->team;
    const ir_type *t = c->thunk->op->out[0].type;
    if (c->out[0] != c->in[0]) cpu_copy_run(team, c->out[0], c->in[0], ir_type_bytes(t));
    if (!s->has_window || s->count == 0) return NULL;
    if (s->line) {
        line_job line = {c, s, ir_type_bytes(t)};
        team_for(team, s->chunks, 1, line_chunk, &line);
        join_line(c, s, t->count, line.bytes);
        return NULL;
    }
    scatter_job j = {.s = s,
                     .dst = c->out[0],
                     .src = c->in[2],
                     .indices = c->in[1],
                     .dim = -1,
                     .window_dim = -1,
                     .elements = t->count,
                     .pieces = 1};
    int64_t window = view_count(&s->window.dst), longest = 1;
    if (s->count * window >= 16384) j.pieces = team->threads;
    for (int i = 0; i < s->n_batch; i++)
        if (s->batch_operand[i] && s->batch_dims[i] > longest) longest = s->batch_dims[j.dim = i];
    if (longest < 2 * j.pieces) j.dim = -1;
    /* The part of the operand that a piece writes to, here and there, stays in the second-level cache; rows of at least
     * a few lines. */
    int64_t near = (int64_t)ir_type_bytes(t) / PIECE_BYTES, most = longest / PIECE_ROW;
    if (j.dim >= 0 && near > most) near = most;
    if (j.dim >= 0 && near > j.pieces) j.pieces = near;
    longest = 1;
    for (int i = 0; i < s->window.dst.n && j.dim < 0; i++)
        if (s->window.dst.dims[i] > longest && !moves_along(s, i)) longest = s->window.dst.dims[j.window_dim = i];
    bool apart = rows_apart(s);
    if (j.dim < 0 && longest < (apart ? PIECE_ROW : 8) * j.pieces) j.window_dim = -1;
    /* windows that are too small to divide */
    if (j.dim < 0 && j.window_dim < 0 && s->window.dst.n > 0 && !apart) j.pieces = 1;
    team_for(team, j.pieces, 1, scatter_chunk, &j);
    return NULL;
}
static const cpu_kernel scatter_kernel = {"scatter", scatter_run, NULL, true};

static bool replaces(const ir_region *r) { /* returns its second argument */
    const ir_block *b = r->block;
    return b && b->n_args == 2 && b->first && b->first == b->last && b->first->n_in == 1 &&
           b->first->in[0] == b->args[1];
}

/* scatter's dimension numbers over the first operand and update; false for index types and ranks that nothing
 * here handles. */
bool slices_of_scatter(const ir_op *op, slices *s) {
    size_t n_win, n_ins, n_ib, n_sb, n_map, n = op->n_out, used = 0;
    const int64_t *win = ir_get_ints(op, IR_A_update_window_dims, &n_win),
                  *inserted = ir_get_ints(op, IR_A_inserted_window_dims, &n_ins);
    const int64_t *ib = ir_get_ints(op, IR_A_input_batching_dims, &n_ib),
                  *sb = ir_get_ints(op, IR_A_scatter_indices_batching_dims, &n_sb);
    const int64_t *start_map = ir_get_ints(op, IR_A_scatter_dims_to_operand_dims, &n_map);
    const ir_type *operand = op->in[0]->type, *update = op->in[n + 1]->type;
    int64_t sizes[VIEW_MAX];
    if (operand->rank > VIEW_MAX || update->count <= 0) return false;
    for (uint32_t d = 0; d < operand->rank; d++)
        sizes[d] = contains(inserted, n_ins, d) || contains(ib, n_ib, d) ? 1 : update->dims[win[used++]];
    return read_slices(operand, op->in[n]->type, update, ir_get_int(op, IR_A_index_vector_dim, 0), start_map, n_map,
                       win, n_win, inserted, n_ins, ib, n_ib, sb, sizes, true, s);
}

CPU_LOWER(scatter) {
    if (op->n_in != 3) return NULL;
    slices *s = base_calloc(1, sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    s->replace = replaces(&op->regions[0]);
    if (!(s->replace || index_fold_of(&op->regions[0], op->in[0]->type->dtype, &s->fold)) ||
        !slices_of_scatter(op, s)) {
        base_free(s);
        return NULL;
    }
    *out_done = true;
    uint64_t in_place = 1;
    int64_t places = op->in[0]->type->count;
    s->line = is_line(s);
    s->lines = has_lines(s);
    s->chunks = s->line && s->fold.sums ? s->count / LINE_CHUNK : 1;
    if (s->chunks > LINE_CHUNKS) s->chunks = LINE_CHUNKS;
    if (s->chunks < 1 || places > s->count / 16) s->chunks = 1;
    cpu_thunk_desc d = {.kernel = &scatter_kernel,
                        .op = op,
                        .n_in = 3,
                        .n_out = 1,
                        .in_place = &in_place,
                        .state = s,
                        .scratch_bytes = (size_t)(s->chunks - 1) * ir_type_bytes(op->in[0]->type),
                        .flops = cpu_op_flops(op)};
    return cpu_build_thunk(b, &d);
}
