/* cholesky, triangular_solve and the LAPACK calls that are the same (potrf, trsm) by OpenBLAS, whose matrices lie in
 * columns: what is a lower triangle in rows is an upper one there, and a system solved from the left is one solved from
 * the right. Each matrix of a batch is one thread's. */
#include "cpu/kernel/kernel.h"
#include "cpu/vector/blas.h"
#include "cpu/vector/factor.h"
#include "ir/interp_int.h"

typedef struct linalg_state {
    const blas_api *blas;
    blas_type kind;
    size_t elem;
    int64_t batch, n, rows, columns; /* n: of the triangle; the others of the right-hand side */
    bool lower, left;
    bool call; /* potrf: the other triangle stays, a failure is a number */
    char trans, diag;
} linalg_state;
typedef struct linalg_run {
    const linalg_state *s;
    const char *a;
    char *out;
    int32_t *info; /* per matrix; NULL: none */
    const cpu_team *team; /* of one matrix */
} linalg_run;

static void over_batch(const cpu_call *c, const linalg_state *s, team_fn fn, linalg_run *r) {
    cpu_team one = {.threads = 1};
    r->team = s->batch > 1 ? &one : &c->device->team;
    team_for_alone(&c->device->team, &blas_library, s->batch, 65536 / (s->n * s->n * s->n + 1) + 1, fn, r);
}

/* NaN in both parts. */
static void fill_nan(blas_type t, char *p, int64_t n) {
    for (int64_t i = 0; i < n * (t == BLAS_C || t == BLAS_Z ? 2 : 1); i++) {
        if (t == BLAS_S || t == BLAS_C)
            ((float *)(void *)p)[i] = __builtin_nanf("");
        else
            ((double *)(void *)p)[i] = __builtin_nan("");
    }
}

static void cholesky_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const linalg_run *r = ctx;
    const linalg_state *s = r->s;
    size_t row = (size_t)s->n * s->elem;
    for (int64_t q = begin; q < end; q++) {
        char *x = r->out + (size_t)q * (size_t)s->n * row;
        if (r->a != r->out) memcpy(x, r->a + (size_t)q * (size_t)s->n * row, (size_t)s->n * row);
        blas_int info =
            factor_potrf(&(factor_matrix){.team = r->team, .kind = s->kind, .m = s->n, .n = s->n, .a = x}, !s->lower);
        if (s->call) {
            r->info[q] = info;
            continue;
        }
        if (info > 0) fill_nan(s->kind, x, s->n * s->n); /* not positive definite */
        for (int64_t i = 0; i < s->n; i++) { /* the other triangle is zero */
            size_t from = s->lower ? (size_t)(i + 1) : 0, count = (size_t)(s->lower ? s->n - 1 - i : i);
            memset(x + (size_t)i * row + from * s->elem, 0, count * s->elem);
        }
    }
}
static xt_status cholesky_run(const cpu_call *c) {
    const linalg_state *s = c->thunk->state;
    linalg_run r = {s, c->in[0], c->out[0], s->call ? c->out[1] : NULL, NULL};
    if (s->n) over_batch(c, s, cholesky_chunk, &r);
    return NULL;
}
static const cpu_kernel cholesky_kernel = {"cholesky", cholesky_run, NULL, false};

typedef struct system_run {
    const linalg_state *s;
    const char *a;
    char *x;
    int64_t step; /* right-hand sides of one task; each by itself has one solution */
} system_run;
static void solve_some(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const system_run *r = ctx;
    const linalg_state *s = r->s;
    int64_t count = s->left ? s->columns : s->rows;
    blas_int n = (blas_int)s->n, ld = (blas_int)s->columns;
    for (int64_t t = begin; t < end; t++) {
        int64_t i = t * r->step;
        blas_int some = (blas_int)(count - i < r->step ? count - i : r->step);
        s->blas->trsm[s->kind](s->left ? "R" : "L", s->lower ? "U" : "L", &s->trans, &s->diag, s->left ? &some : &n,
                               s->left ? &n : &some, blas_number(s->kind, true), r->a, &n,
                               r->x + (size_t)(s->left ? i : i * s->columns) * s->elem, &ld);
    }
}
static void solve_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    enum { LEAST = 32 };
    const linalg_run *r = ctx;
    const linalg_state *s = r->s;
    int64_t count = s->left ? s->columns : s->rows,
            tasks = blas_blocks((double)s->n * (double)s->n * (double)count / 2);
    for (int64_t q = begin; q < end; q++) {
        system_run one = {s, r->a + (size_t)(q * s->n * s->n) * s->elem,
                          r->out + (size_t)(q * s->rows * s->columns) * s->elem,
                          ((count - 1) / tasks / LEAST + 1) * LEAST};
        team_for_alone(r->team, &blas_library, (count - 1) / one.step + 1, 1, solve_some, &one);
    }
}
static xt_status solve_run(const cpu_call *c) {
    const linalg_state *s = c->thunk->state;
    linalg_run r = {s, c->in[0], c->out[0], NULL, NULL};
    if (c->out[0] != c->in[1]) memcpy(c->out[0], c->in[1], ir_type_bytes(c->thunk->op->out[0].type));
    if (s->n && s->rows && s->columns) over_batch(c, s, solve_chunk, &r);
    return NULL;
}
static const cpu_kernel solve_kernel = {"triangular-solve", solve_run, NULL, false};

/* False when OpenBLAS is not there or has no such type. */
static bool begin_state(const ir_op *op, linalg_state **out) {
    const ir_type *t = op->in[0]->type;
    blas_type kind;
    *out = NULL;
    if (t->rank < 2 || t->count <= 0 || !blas_type_of(t->dtype, &kind) || t->dims[t->rank - 1] >= INT32_MAX ||
        !blas_get())
        return false;
    linalg_state *s = *out = base_calloc(1, sizeof *s);
    if (!s) return true;
    s->blas = blas_get();
    s->kind = kind;
    s->elem = xt_dtype_size(t->dtype);
    s->n = t->dims[t->rank - 1];
    s->batch = t->count / (s->n * s->n);
    return true;
}

static xt_status cholesky_thunk(cpu_builder *b, const ir_op *op, linalg_state *s) {
    uint64_t in_place[2] = {1, 0};
    double n = (double)s->n;
    cpu_thunk_desc d = {.kernel = &cholesky_kernel,
                        .op = op,
                        .n_in = 1,
                        .n_out = op->n_out,
                        .in_place = in_place,
                        .state = s,
                        .flops = (double)s->batch * n * n * n / 3};
    return cpu_build_thunk(b, &d);
}

static xt_status solve_thunk(cpu_builder *b, const ir_op *op, linalg_state *s) {
    const ir_type *t = op->in[1]->type;
    uint64_t in_place = 2;
    s->rows = t->dims[t->rank - 2], s->columns = t->dims[t->rank - 1];
    cpu_thunk_desc d = {.kernel = &solve_kernel,
                        .op = op,
                        .n_in = 2,
                        .n_out = 1,
                        .in_place = &in_place,
                        .state = s,
                        .flops = (double)t->count * (double)s->n};
    return cpu_build_thunk(b, &d);
}

CPU_LOWER(cholesky) {
    linalg_state *s;
    if (!begin_state(op, &s)) return NULL;
    if (!s) return status_oom(sizeof *s, "a plan");
    s->lower = ir_get_bool(op, IR_A_lower, false);
    *out_done = true;
    return cholesky_thunk(b, op, s);
}

CPU_LOWER(triangular_solve) {
    linalg_state *s;
    if (!begin_state(op, &s)) return NULL;
    if (!s) return status_oom(sizeof *s, "a plan");
    s->lower = ir_get_bool(op, IR_A_lower, true);
    s->left = ir_get_bool(op, IR_A_left_side, true);
    int64_t kind = ir_get_int(op, IR_A_transpose_a, IR_NO_TRANSPOSE);
    s->trans = kind == IR_TRANSPOSE ? 'T' : kind == IR_ADJOINT ? 'C' : 'N';
    s->diag = ir_get_bool(op, IR_A_unit_diagonal, false) ? 'U' : 'N';
    *out_done = true;
    return solve_thunk(b, op, s);
}

/* lapack_dpotrf_ffi and lapack_dtrsm_ffi, say. */
CPU_LOWER(linalg_call) {
    int64_t batch;
    const char *name = interp_lapack_routine(op, &batch);
    linalg_state *s;
    bool factor = name && strcmp(name, "potrf") == 0, solve = name && strcmp(name, "trsm") == 0;
    if ((!factor && !solve) || op->out[0].type->dtype != op->in[0]->type->dtype || !begin_state(op, &s)) return NULL;
    if (!s) return status_oom(sizeof *s, "a plan");
    s->call = factor;
    s->lower = interp_lapack_option(op, "uplo", 'L') == 'L';
    s->left = interp_lapack_option(op, "side", 'L') == 'L';
    s->trans = (char)interp_lapack_option(op, "trans_x", 'N');
    s->diag = (char)interp_lapack_option(op, "diag", 'N');
    *out_done = true;
    return factor ? cholesky_thunk(b, op, s) : solve_thunk(b, op, s);
}
