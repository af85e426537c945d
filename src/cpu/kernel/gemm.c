/* Matrix products that oneDNN has no primitive for: complex through OpenBLAS, and f64 of few rows or columns; f16 and
 * the other narrow floats are widened to f32, multiplied and rounded once; integers and f64 on packed panels
 * (panel_gemm.h); floats where OpenBLAS is not installed by plain loops.
 *
 * An operand is seen as [batch, rows, columns]. Where each of the three is one stride and rows or columns lie side by
 * side it is read where it is (a transpose in front costs nothing), else it is packed into scratch memory first. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "no-trapping-math")
#endif
#include "cpu/kernel/kernel.h"
#include "cpu/vector/blas.h"
#include "cpu/vector/panel_gemm.h"
#include "cpu/vector/move.h"
#include "ir/interp_int.h"

typedef struct side {
    int64_t stride[3]; /* batch, rows, columns; in elements */
    bool pack;
    cpu_move move; /* to dense [batch, rows, columns] */
    size_t packed_at, wide_at; /* in the scratch memory */
    int64_t count, span; /* elements; elements of memory that are read */
} side;
typedef void (*loop_fn)(int64_t m, int64_t n, int64_t k, const void *a, int64_t ars, int64_t acs, const void *b,
                        int64_t brs, int64_t bcs, void *c);
typedef struct gemm_state {
    side lhs, rhs;
    int64_t batch, m, n, k;
    int64_t block_m, block_n; /* of the result: one call of OpenBLAS, or of a loop */
    xt_dtype type, compute; /* of the operands; what is computed in */
    xt_dtype out;
    size_t elem, result_at; /* of compute; where the result goes before it is rounded */
    const blas_api *blas;
    blas_type kind;
    loop_fn loop;
    panel_gemm panels; /* fns NULL: not made on panels */
    size_t panels_at;
} gemm_state;

/* --- loops --- */
#define LOOP(name, T)                                                                                           \
    static void name(int64_t m, int64_t n, int64_t k, const void *pa, int64_t ars, int64_t acs, const void *pb, \
                     int64_t brs, int64_t bcs, void *pc) {                                                      \
        const T *a = pa, *b = pb;                                                                               \
        for (int64_t i = 0; i < m; i++) {                                                                       \
            T *c = (T *)pc + i * n;                                                                             \
            for (int64_t j = 0; j < n; j++) c[j] = 0;                                                           \
            for (int64_t p = 0; p < k; p++) {                                                                   \
                T x = a[i * ars + p * acs];                                                                     \
                const T *row = b + p * brs;                                                                     \
                if (bcs == 1)                                                                                   \
                    for (int64_t j = 0; j < n; j++) c[j] = (T)(c[j] + x * row[j]);                              \
                else                                                                                            \
                    for (int64_t j = 0; j < n; j++) c[j] = (T)(c[j] + x * row[j * bcs]);                        \
            }                                                                                                   \
        }                                                                                                       \
    }
LOOP(loop_f32, float)
LOOP(loop_f64, double)
LOOP(loop_c64, _Complex float)
LOOP(loop_c128, _Complex double)

static loop_fn loop_of(xt_dtype compute) {
    switch ((int)compute) {
    case XT_F32: return loop_f32;
    case XT_F64: return loop_f64;
    case XT_C64: return loop_c64;
    case XT_C128: return loop_c128;
    default: return NULL;
    }
}

/* --- running --- */
typedef struct gemm_run {
    const gemm_state *s;
    const char *a, *b;
    char *c;
} gemm_run;

/* m x n of the result from OpenBLAS. */
static void one_product(const gemm_state *s, int64_t m, int64_t n, const char *a, const char *b, char *c) {
    const int64_t *x = s->lhs.stride, *y = s->rhs.stride;
    /* In columns the product reads c^T = b^T a^T; what lies in rows here is transposed there already. */
    bool a_rows = x[2] == 1 || s->k == 1, b_rows = y[2] == 1 || s->n == 1;
    int64_t lda = a_rows ? x[1] : x[2], ldb = b_rows ? y[1] : y[2];
    if (lda < (a_rows ? s->k : s->m)) lda = a_rows ? s->k : s->m;
    if (ldb < (b_rows ? s->n : s->k)) ldb = b_rows ? s->n : s->k;
    blas_int rows = (blas_int)m, columns = (blas_int)n, k = (blas_int)s->k, la = (blas_int)lda, lb = (blas_int)ldb,
             lc = (blas_int)s->n;
    s->blas->gemm[s->kind](b_rows ? "N" : "T", a_rows ? "N" : "T", &columns, &rows, &k, blas_number(s->kind, true), b,
                           &lb, a, &la, blas_number(s->kind, false), c, &lc);
}

static void gemm_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const gemm_run *r = ctx;
    const gemm_state *s = r->s;
    const int64_t *x = s->lhs.stride, *y = s->rhs.stride;
    int64_t e = (int64_t)s->elem, across = (s->n - 1) / s->block_n + 1, each = ((s->m - 1) / s->block_m + 1) * across;
    for (int64_t t = begin; t < end; t++) {
        int64_t q = t / each, i = t % each / across * s->block_m, j = t % across * s->block_n;
        int64_t m = s->m - i < s->block_m ? s->m - i : s->block_m, n = s->n - j < s->block_n ? s->n - j : s->block_n;
        const char *a = r->a + (q * x[0] + i * x[1]) * e, *b = r->b + (q * y[0] + j * y[2]) * e;
        char *c = r->c + ((q * s->m + i) * s->n + j) * e;
        if (s->blas)
            one_product(s, m, n, a, b, c);
        else
            s->loop(m, n, s->k, a, x[1], x[2], b, y[1], y[2], c);
    }
}

static const char *bring(const cpu_call *c, const gemm_state *s, const side *x, const char *src) {
    char *scratch = c->scratch;
    if (x->pack) {
        cpu_move_run(&c->device->team, &x->move, scratch + x->packed_at, src);
        src = scratch + x->packed_at;
    }
    if (s->panels.fns) return src; /* its panels are made of whatever type */
    return cpu_converted(&c->device->team, s->type, src, s->compute, scratch + x->wide_at,
                         x->pack ? x->count : x->span);
}

static xt_status gemm_run_op(const cpu_call *c) {
    const gemm_state *s = c->thunk->state;
    const cpu_team *team = &c->device->team;
    const ir_type *t = c->thunk->op->out[0].type;
    if (t->count == 0) return NULL;
    if (s->k == 0) {
        memset(c->out[0], 0, ir_type_bytes(t));
        return NULL;
    }
    bool direct = s->out == s->compute;
    gemm_run r = {s, bring(c, s, &s->lhs, c->in[0]), bring(c, s, &s->rhs, c->in[1]),
                  direct ? c->out[0] : (char *)c->scratch + s->result_at};
    int64_t blocks = s->batch * ((s->m - 1) / s->block_m + 1) * ((s->n - 1) / s->block_n + 1);
    double work = (double)s->block_m * (double)s->block_n * (double)s->k;
    if (s->panels.fns)
        panel_gemm_run(&s->panels, team, r.a, r.b, r.c, (char *)c->scratch + s->panels_at);
    else if (s->blas)
        team_for_alone(team, &blas_library, blocks, (int64_t)(65536 / (work + 1)) + 1, gemm_chunk, &r);
    else
        team_for(team, blocks, 1, gemm_chunk, &r);
    if (!direct) cpu_converted(team, s->compute, (char *)c->scratch + s->result_at, s->out, c->out[0], t->count);
    return NULL;
}
static const cpu_kernel gemm_kernel = {"gemm", gemm_run_op, NULL, false};

/* --- lowering --- */
static bool has(const int64_t *v, size_t n, int64_t x) {
    for (size_t i = 0; i < n; i++)
        if (v[i] == x) return true;
    return false;
}

/* The dims of one group as one stride; false when they are not. */
static bool one_stride(const view *v, int64_t *stride) {
    view w = *v;
    w.offset = 0;
    view_collapse(&w);
    *stride = w.n ? w.strides[0] : 0;
    return w.n <= 1;
}

static void make_side(const ir_type *t, const view *v, const int64_t *batch, size_t n_batch, const int64_t *contract,
                      size_t n_contract, bool right, int64_t size[3], side *out) {
    view groups[3] = {{0}}, all = {0}, dense = {0};
    int64_t free_dims[VIEW_MAX];
    size_t n_free = 0;
    for (int d = 0; d < v->n; d++)
        if (!has(batch, n_batch, d) && !has(contract, n_contract, d)) free_dims[n_free++] = d;
    const int64_t *lists[3] = {batch, right ? contract : free_dims, right ? free_dims : contract};
    const size_t counts[3] = {n_batch, right ? n_contract : n_free, right ? n_free : n_contract};
    for (int g = 0; g < 3; g++) {
        size[g] = 1;
        for (size_t i = 0; i < counts[g]; i++) {
            int64_t d = lists[g][i];
            groups[g].dims[groups[g].n] = all.dims[all.n] = v->dims[d];
            groups[g].strides[groups[g].n++] = all.strides[all.n] = v->strides[d];
            all.n++;
            size[g] *= v->dims[d];
        }
    }
    out->count = size[0] * size[1] * size[2];
    out->span = t->count;
    bool plain = true;
    for (int g = 0; g < 3; g++) plain = one_stride(&groups[g], &out->stride[g]) && plain; /* each sets its stride */
    plain = plain && (out->stride[2] == 1 || size[2] == 1 || out->stride[1] == 1 || size[1] == 1);
    if (plain && v->offset == 0) return;
    dense.n = all.n;
    int64_t step = 1;
    for (int i = all.n - 1; i >= 0; i--) {
        dense.dims[i] = all.dims[i];
        dense.strides[i] = step;
        step *= all.dims[i];
    }
    out->pack = cpu_move_make(&dense, &all, t->dtype, &out->move);
    out->stride[0] = size[1] * size[2];
    out->stride[1] = size[2];
    out->stride[2] = 1;
}

static size_t take_scratch(size_t *all, size_t bytes) {
    size_t at = *all;
    *all += (bytes + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
    return at;
}

/* What elements are multiplied in. */
static xt_dtype compute_type(xt_dtype t, xt_dtype out) {
    if (t == XT_BOOL || dtype_is_subbyte(t)) return XT_DTYPE_NONE;
    if (ir_dtype_is_complex(t) || t == XT_F64 || t == XT_F32) return t;
    if (ir_dtype_is_float(t)) return XT_F32;
    return xt_dtype_size(t) == 8 || xt_dtype_size(out) == 8 ? (ir_dtype_is_signed(t) ? XT_I64 : XT_U64)
           : ir_dtype_is_signed(t)                          ? XT_I32
                                                            : XT_U32;
}

/* Blocks of whole tiles of every kernel; smaller ones are not worth a call. */
static void cut_blocks(gemm_state *s) {
    enum { ROWS = 32, COLUMNS = 64 };
    double each = (double)s->m * (double)s->n * (double)s->k, all = each * (double)s->batch;
    int64_t want = blas_blocks(all), m = s->m, n = s->n, blocks = 1;
    while (blocks * s->batch < want) {
        bool rows = 4 * m > n ? m > ROWS : n <= COLUMNS; /* wide ones are faster than high ones */
        if (rows ? m <= ROWS : n <= COLUMNS) break;
        if (rows) m = ((m + 1) / 2 + ROWS - 1) / ROWS
        *ROWS;
        else n = ((n + 1) / 2 + COLUMNS - 1) / COLUMNS * COLUMNS;
        blocks = ((s->m - 1) / m + 1) * ((s->n - 1) / n + 1);
    }
    s->block_m = m, s->block_n = n;
}

/* Sums of integers as wide as their result asks for, and of f64. */
static bool make_panels(gemm_state *s) {
    const int64_t *x = s->lhs.stride, *y = s->rhs.stride;
    panel_gemm g = {
        .batch = s->batch, .m = s->m, .n = s->n, .k = s->k, .lhs = {x[0], x[1], x[2]}, .rhs = {y[0], y[2], y[1]}};
    if (!panel_gemm_plan(&g, s->type, s->compute)) return false;
    s->panels = g;
    return true;
}

CPU_LOWER(gemm) {
    size_t nlb, nrb, nlc, nrc;
    const int64_t *lb = ir_get_ints(op, IR_A_lhs_batching_dimensions, &nlb),
                  *rb = ir_get_ints(op, IR_A_rhs_batching_dimensions, &nrb);
    const int64_t *lc = ir_get_ints(op, IR_A_lhs_contracting_dimensions, &nlc),
                  *rc = ir_get_ints(op, IR_A_rhs_contracting_dimensions, &nrc);
    const ir_type *lt = op->in[0]->type, *rt = op->in[1]->type, *ot = op->out[0].type;
    int64_t last = (int64_t)lt->rank - 1, first = 0, l[3], r[3];
    if (op->code == OP_dot) { /* the last dim with the first */
        lc = &last, rc = &first, nlc = nrc = 1, nlb = nrb = 0;
        if (lt->rank == 0 || rt->rank == 0) return NULL;
    }
    xt_dtype compute = compute_type(lt->dtype, ot->dtype);
    const ir_value *in[2];
    view lv, rv;
    if (lt->dtype != rt->dtype || compute == XT_DTYPE_NONE) return NULL;
    if (!cpu_build_permuted(op->in[0], &in[0], &lv) || !cpu_build_permuted(op->in[1], &in[1], &rv)) return NULL;
    gemm_state *s = base_calloc(1, sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    make_side(lt, &lv, lb, nlb, lc, nlc, false, l, &s->lhs);
    make_side(rt, &rv, rb, nrb, rc, nrc, true, r, &s->rhs);
    s->batch = l[0], s->m = l[1], s->n = r[2], s->k = l[2];
    s->type = lt->dtype, s->compute = compute, s->out = ot->dtype;
    s->elem = xt_dtype_size(compute);
    s->loop = loop_of(compute);
    bool fits = s->m < INT32_MAX && s->n < INT32_MAX && s->k < INT32_MAX;
    if (fits && blas_type_of(compute, &s->kind)) s->blas = blas_get();
    s->block_m = 16, s->block_n = s->n; /* of the loops */
    if (s->blas && ot->count > 0) cut_blocks(s);
    size_t scratch = 0;
    if (s->lhs.pack) s->lhs.packed_at = take_scratch(&scratch, (size_t)s->lhs.count * xt_dtype_size(s->type));
    if (s->rhs.pack) s->rhs.packed_at = take_scratch(&scratch, (size_t)s->rhs.count * xt_dtype_size(s->type));
    bool panels = ot->count > 0 && s->k > 0 && make_panels(s);
    if (panels) s->panels_at = take_scratch(&scratch, s->panels.scratch_bytes);
    if (s->type != compute && !panels) {
        s->lhs.wide_at = take_scratch(&scratch, (size_t)s->lhs.count * s->elem);
        s->rhs.wide_at = take_scratch(&scratch, (size_t)s->rhs.count * s->elem);
    }
    if (s->out != compute) s->result_at = take_scratch(&scratch, (size_t)ot->count * s->elem);
    *out_done = true;
    cpu_thunk_desc d = {.kernel = &gemm_kernel,
                        .op = op,
                        .n_in = 2,
                        .in = in,
                        .n_out = 1,
                        .scratch_bytes = scratch,
                        .state = s,
                        .flops = cpu_op_flops(op)};
    return cpu_build_thunk(b, &d);
}
