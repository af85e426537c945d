/* The rest of LAPACK that JAX calls on CPUs: eigenvalues of general matrices (geev), Schur forms (gees), Hessenberg and
 * tridiagonal forms (gehrd, sytrd), singular values by QR (gesvd), QR with pivots (geqp3), products with Q (ormqr), by
 * OpenBLAS; and tridiagonal systems (gtsv, and the perturbed one of inverse iteration) by elimination with row
 * exchanges (Golub & Van Loan, "Matrix Computations", 4th ed., 4.3). Each matrix of a batch is one thread's.
 *
 * A row of `calls` tells operands and results: M a matrix, which the routine sees column by column in memory of its
 * own, V a vector, I a status. A routine works in its results; operands that it overwrites are copied there first (the
 * row's `into`). */
#include <complex.h>
#include <math.h>

#include "cpu/kernel/kernel.h"
#include "cpu/vector/blas.h"
#include "ir/interp_int.h"

enum { PARTS = 6 };
typedef struct eig_state eig_state;
typedef struct eig_call { /* one matrix of the batch */
    const eig_state *s;
    const cpu_call *call;
    char *in[PARTS], *out[PARTS]; /* matrices by columns */
    char *work, *rwork;
    blas_int *iwork, lwork;
    int64_t index;
} eig_call;
typedef struct eig_row {
    const char *name, *in, *out;
    int8_t into[PARTS]; /* operand i is copied to this result; -1: it is only read */
    void (*run)(eig_call *c);
    bool real_only, complex_only, own; /* own: needs no library */
} eig_row;
struct eig_state {
    const eig_row *row;
    blas_any_fn fn;
    blas_type kind;
    size_t elem;
    int64_t batch;
    size_t in_at[PARTS], out_at[PARTS], work_at, rwork_at, iwork_at, bytes;
    blas_int lwork;
};

static int64_t dim(const ir_type *t, uint32_t back) {
    return t->rank >= back ? t->dims[t->rank - back] : 1;
}
static const ir_type *in_type(const eig_call *c, uint32_t i) {
    return c->call->thunk->op->in[i]->type;
}
static const ir_type *out_type(const eig_call *c, uint32_t i) {
    return c->call->thunk->op->out[i].type;
}
static int option(const eig_call *c, const char *name, int fallback) {
    return interp_lapack_option(c->call->thunk->op, name, fallback);
}
static bool is_complex(const eig_call *c) {
    return c->s->kind >= BLAS_C;
}
static void set_status(eig_call *c, uint32_t i, blas_int info) {
    memcpy(c->out[i], &info, sizeof info);
}

/* --- OpenBLAS --- */
typedef void (*geev_fn)(const char *, const char *, BLAS_IN, void *, BLAS_IN, void *wr, void *wi, void *vl, BLAS_IN,
                        void *vr, BLAS_IN, void *, BLAS_IN, blas_int *);
typedef void (*cgeev_fn)(const char *, const char *, BLAS_IN, void *, BLAS_IN, void *w, void *vl, BLAS_IN, void *vr,
                         BLAS_IN, void *, BLAS_IN, void *, blas_int *);

/* Vectors of a real matrix: a column for a real eigenvalue, two (real and imaginary part) for a pair; spread in place
 * from the last on. */
#define SPREAD(T, t)                                                                             \
    static void spread_##t(const T *imag, const T *packed, int64_t n, T *out) {                  \
        for (int64_t j = 0; j < n; j++) {                                                        \
            bool pair = imag[j] != 0;                                                            \
            for (int64_t i = 0; i < n; i++) {                                                    \
                T re = packed[j * n + i], im = pair ? packed[(j + 1) * n + i] : 0;               \
                out[2 * (j * n + i)] = re, out[2 * (j * n + i) + 1] = im;                        \
                if (pair) out[2 * ((j + 1) * n + i)] = re, out[2 * ((j + 1) * n + i) + 1] = -im; \
            }                                                                                    \
            j += pair;                                                                           \
        }                                                                                        \
    }
SPREAD(float, f32)
SPREAD(double, f64)

static void run_geev(eig_call *c) {
    blas_int n = (blas_int)dim(in_type(c, 0), 1), info = 0;
    char left = (char)option(c, "compute_left", 'N'), right = (char)option(c, "compute_right", 'N');
    if (is_complex(c)) {
        ((cgeev_fn)c->s->fn)(&left, &right, &n, c->in[0], &n, c->out[0], c->out[1], &n, c->out[2], &n, c->work,
                             &c->lwork, c->rwork, &info);
        set_status(c, 3, info);
        return;
    }
    /* behind the room that it works in */
    char *vl = c->work + (size_t)c->lwork * c->s->elem, *vr = vl + (size_t)(n * n) * c->s->elem;
    ((geev_fn)c->s->fn)(&left, &right, &n, c->in[0], &n, c->out[0], c->out[1], vl, &n, vr, &n, c->work, &c->lwork,
                        &info);
    for (int side = 0; side < 2; side++) {
        const char *v = side ? vr : vl;
        if ((side ? right : left) != 'V') continue;
        if (c->s->kind == BLAS_S)
            spread_f32((const float *)(void *)c->out[1], (const float *)(const void *)v, n,
                       (float *)(void *)c->out[2 + side]);
        else
            spread_f64((const double *)(void *)c->out[1], (const double *)(const void *)v, n,
                       (double *)(void *)c->out[2 + side]);
    }
    set_status(c, 4, info);
}

typedef void (*gees_fn)(const char *, const char *, void *select, BLAS_IN, void *, BLAS_IN, blas_int *sdim, void *wr,
                        void *wi, void *vs, BLAS_IN, void *, BLAS_IN, void *, blas_int *);
typedef void (*cgees_fn)(const char *, const char *, void *select, BLAS_IN, void *, BLAS_IN, blas_int *sdim, void *w,
                         void *vs, BLAS_IN, void *, BLAS_IN, void *, void *, blas_int *);
static void run_gees(eig_call *c) {
    blas_int n = (blas_int)dim(in_type(c, 0), 1), info = 0, chosen = 0;
    char job = (char)option(c, "mode", 'V'), sort = 'N';
    uint32_t last = is_complex(c) ? 4 : 5;
    if (is_complex(c))
        ((cgees_fn)c->s->fn)(&job, &sort, NULL, &n, c->out[0], &n, &chosen, c->out[2], c->out[1], &n, c->work,
                             &c->lwork, c->rwork, c->iwork, &info);
    else
        ((gees_fn)c->s->fn)(&job, &sort, NULL, &n, c->out[0], &n, &chosen, c->out[2], c->out[3], c->out[1], &n, c->work,
                            &c->lwork, c->iwork, &info);
    set_status(c, last - 1, chosen);
    set_status(c, last, info);
}

typedef void (*gehrd_fn)(BLAS_IN, BLAS_IN low, BLAS_IN high, void *, BLAS_IN, void *tau, void *, BLAS_IN, blas_int *);
static void run_gehrd(eig_call *c) {
    blas_int n = (blas_int)dim(in_type(c, 0), 1), info = 0, low = option(c, "low", 1), high = option(c, "high", n);
    ((gehrd_fn)c->s->fn)(&n, &low, &high, c->out[0], &n, c->out[1], c->work, &c->lwork, &info);
    set_status(c, 2, info);
}

typedef void (*sytrd_fn)(const char *, BLAS_IN, void *, BLAS_IN, void *d, void *e, void *tau, void *, BLAS_IN,
                         blas_int *);
static void run_sytrd(eig_call *c) {
    blas_int n = (blas_int)dim(in_type(c, 0), 1), info = 0;
    char uplo = (char)option(c, "uplo", 'L');
    ((sytrd_fn)c->s->fn)(&uplo, &n, c->out[0], &n, c->out[1], c->out[2], c->out[3], c->work, &c->lwork, &info);
    set_status(c, 4, info);
}

typedef void (*gesvd_fn)(const char *, const char *, BLAS_IN, BLAS_IN, void *, BLAS_IN, void *s, void *u, BLAS_IN,
                         void *vt, BLAS_IN, void *, BLAS_IN, blas_int *);
typedef void (*cgesvd_fn)(const char *, const char *, BLAS_IN, BLAS_IN, void *, BLAS_IN, void *s, void *u, BLAS_IN,
                          void *vt, BLAS_IN, void *, BLAS_IN, void *, blas_int *);
static void run_gesvd(eig_call *c) {
    blas_int m = (blas_int)dim(in_type(c, 0), 2), n = (blas_int)dim(in_type(c, 0), 1),
             ldv = (blas_int)dim(out_type(c, 3), 2), info = 0;
    char job = (char)option(c, "mode", 'A');
    if (is_complex(c))
        ((cgesvd_fn)c->s->fn)(&job, &job, &m, &n, c->out[0], &m, c->out[1], c->out[2], &m, c->out[3], &ldv, c->work,
                              &c->lwork, c->rwork, &info);
    else
        ((gesvd_fn)c->s->fn)(&job, &job, &m, &n, c->out[0], &m, c->out[1], c->out[2], &m, c->out[3], &ldv, c->work,
                             &c->lwork, &info);
    set_status(c, 4, info);
}

typedef void (*geqp3_fn)(BLAS_IN, BLAS_IN, void *, BLAS_IN, blas_int *pivots, void *tau, void *, BLAS_IN, blas_int *);
typedef void (*cgeqp3_fn)(BLAS_IN, BLAS_IN, void *, BLAS_IN, blas_int *pivots, void *tau, void *, BLAS_IN, void *,
                          blas_int *);
static void run_geqp3(eig_call *c) {
    blas_int m = (blas_int)dim(in_type(c, 0), 2), n = (blas_int)dim(in_type(c, 0), 1), info = 0,
             *pivots = (blas_int *)(void *)c->out[1];
    if (is_complex(c))
        ((cgeqp3_fn)c->s->fn)(&m, &n, c->out[0], &m, pivots, c->out[2], c->work, &c->lwork, c->rwork, &info);
    else
        ((geqp3_fn)c->s->fn)(&m, &n, c->out[0], &m, pivots, c->out[2], c->work, &c->lwork, &info);
}

typedef void (*ormqr_fn)(const char *side, const char *trans, BLAS_IN, BLAS_IN, BLAS_IN k, const void *a, BLAS_IN,
                         const void *tau, void *, BLAS_IN, void *, BLAS_IN, blas_int *);
static bool flag(const eig_call *c, const char *name, bool fallback) {
    const ir_op *op = c->call->thunk->op;
    for (uint32_t i = 0; i < op->n_attrs; i++)
        for (size_t k = 0; op->attrs[i].kind == IR_AK_DICT && k < op->attrs[i].n; k++) {
            const ir_attr *a = &op->attrs[i].v.list[k];
            if (a->name && strcmp(a->name, name) == 0 && (a->kind == IR_AK_BOOL || a->kind == IR_AK_INT))
                return a->kind == IR_AK_BOOL ? a->v.b : a->v.i != 0;
        }
    return fallback;
}
static void run_ormqr(eig_call *c) {
    blas_int m = (blas_int)dim(out_type(c, 0), 2), n = (blas_int)dim(out_type(c, 0), 1),
             k = (blas_int)dim(in_type(c, 1), 1), info = 0;
    blas_int lda = (blas_int)dim(in_type(c, 0), 2);
    char side = flag(c, "left", true) ? 'L' : 'R', trans = !flag(c, "transpose", false) ? 'N'
                                                           : is_complex(c)              ? 'C'
                                                                                        : 'T';
    ((ormqr_fn)c->s->fn)(&side, &trans, &m, &n, &k, c->in[0], &lda, c->in[1], c->out[0], &m, c->work, &c->lwork, &info);
}

/* --- tridiagonal systems --- */
/* Row i is low[i] x[i-1] + mid[i] x[i] + up[i] x[i+1] = b[i]; elimination may fill a second upper diagonal. `least` >
 * 0: smaller pivots count as that. Gives the number of the first pivot that is zero, from 1, or 0. Low, mid and up are
 * left as LAPACK leaves them: the factors. */
#define TRIDIAGONAL(T, t, size)                                                                        \
    static int64_t solve_##t(int64_t n, int64_t columns, T *low, T *mid, T *up, T *b, double least) {  \
        for (int64_t i = 0; i < n; i++) {                                                              \
            if (least > 0 && size(mid[i]) < least && (i + 1 == n || size(low[i + 1]) <= size(mid[i]))) \
                mid[i] = (T)least;                                                                     \
            if (i + 1 == n) break;                                                                     \
            if (size(mid[i]) >= size(low[i + 1])) {                                                    \
                if (mid[i] == 0) return i + 1;                                                         \
                T f = low[i + 1] / mid[i];                                                             \
                mid[i + 1] -= f * up[i];                                                               \
                for (int64_t k = 0; k < columns; k++) b[k * n + i + 1] -= f * b[k * n + i];            \
                low[i + 1] = 0;                                                                        \
            } else { /* rows i and i + 1 change places */                                              \
                T f = mid[i] / low[i + 1], above = up[i], beyond = i + 2 < n ? up[i + 1] : 0;          \
                mid[i] = low[i + 1];                                                                   \
                up[i] = mid[i + 1];                                                                    \
                mid[i + 1] = above - f * up[i];                                                        \
                if (i + 2 < n) up[i + 1] = -f * beyond;                                                \
                low[i + 1] = beyond; /* the second upper diagonal of row i */                          \
                for (int64_t k = 0; k < columns; k++) {                                                \
                    T x = b[k * n + i];                                                                \
                    b[k * n + i] = b[k * n + i + 1];                                                   \
                    b[k * n + i + 1] = x - f * b[k * n + i];                                           \
                }                                                                                      \
            }                                                                                          \
        }                                                                                              \
        if (n && mid[n - 1] == 0) return n;                                                            \
        for (int64_t k = 0; k < columns; k++)                                                          \
            for (int64_t i = n; i-- > 0;) {                                                            \
                T x = b[k * n + i];                                                                    \
                if (i + 1 < n) x -= up[i] * b[k * n + i + 1];                                          \
                if (i + 2 < n) x -= low[i + 1] * b[k * n + i + 2];                                     \
                b[k * n + i] = x / mid[i];                                                             \
            }                                                                                          \
        return 0;                                                                                      \
    }
typedef _Complex float c64;
typedef _Complex double c128;
TRIDIAGONAL(float, f32, fabsf)
TRIDIAGONAL(double, f64, fabs)
TRIDIAGONAL(c64, c64, cabsf)
TRIDIAGONAL(c128, c128, cabs)

static int64_t solve(const eig_call *c, int64_t n, int64_t columns, char *low, char *mid, char *up, char *b,
                     double least) {
    switch (c->s->kind) {
    case BLAS_S:
        return solve_f32(n, columns, (float *)(void *)low, (float *)(void *)mid, (float *)(void *)up,
                         (float *)(void *)b, least);
    case BLAS_D:
        return solve_f64(n, columns, (double *)(void *)low, (double *)(void *)mid, (double *)(void *)up,
                         (double *)(void *)b, least);
    case BLAS_C:
        return solve_c64(n, columns, (c64 *)(void *)low, (c64 *)(void *)mid, (c64 *)(void *)up, (c64 *)(void *)b,
                         least);
    default:
        return solve_c128(n, columns, (c128 *)(void *)low, (c128 *)(void *)mid, (c128 *)(void *)up, (c128 *)(void *)b,
                          least);
    }
}

/* JAX gives three vectors of n; the lower one begins with an element that is not of the matrix. Only the solution is
 * defined afterwards. */
static void run_gtsv(eig_call *c) {
    int64_t n = dim(in_type(c, 3), 2), columns = dim(in_type(c, 3), 1);
    set_status(c, 4, (blas_int)solve(c, n, columns, c->out[0], c->out[1], c->out[2], c->out[3], 0));
}

static double magnitude(blas_type kind, const void *of, int64_t i) {
    switch (kind) {
    case BLAS_S: return fabs((double)((const float *)of)[i]);
    case BLAS_D: return fabs(((const double *)of)[i]);
    case BLAS_C: return cabs((c128)((const c64 *)of)[i]);
    default: return cabs(((const c128 *)of)[i]);
    }
}

/* A pivot below eps times the largest element becomes that: inverse iteration solves systems that are
 * singular on purpose. */
static void run_perturbed(eig_call *c) {
    int64_t n = dim(in_type(c, 3), 2), columns = dim(in_type(c, 3), 1);
    double most = 0, eps = c->s->kind == BLAS_S || c->s->kind == BLAS_C ? 0x1p-23 : 0x1p-52;
    size_t bytes = (size_t)n * c->s->elem;
    char *copy[3];
    for (int k = 0; k < 3; k++) {
        copy[k] = c->work + (size_t)k * bytes;
        memcpy(copy[k], c->in[k], bytes);
        for (int64_t i = 0; i < n; i++) {
            double v = magnitude(c->s->kind, copy[k], i);
            if (v > most) most = v;
        }
    }
    solve(c, n, columns, copy[0], copy[1], copy[2], c->out[0], most > 0 ? eps * most : eps);
}

static const eig_row calls[] = {
    {"geev", "M", "VVMMI", {-1}, run_geev, .real_only = true},
    {"geev", "M", "VMMI", {-1}, run_geev, .complex_only = true},
    {"gees", "M", "MMVVII", {0}, run_gees, .real_only = true},
    {"gees", "M", "MMVII", {0}, run_gees, .complex_only = true},
    {"gehrd", "M", "MVI", {0}, run_gehrd},
    {"sytrd", "M", "MVVVI", {0}, run_sytrd},
    {"hetrd", "M", "MVVVI", {0}, run_sytrd},
    {"gesvd", "M", "MVMMI", {0}, run_gesvd},
    {"geqp3", "MV", "MVV", {0, 1}, run_geqp3},
    {"ormqr", "MVM", "M", {-1, -1, 0}, run_ormqr},
    {"unmqr", "MVM", "M", {-1, -1, 0}, run_ormqr},
    {"gtsv", "VVVM", "VVVMI", {0, 1, 2, 3}, run_gtsv, .own = true},
    {"tridiagonal_solve_perturbed", "VVVM", "M", {-1, -1, -1, 0}, run_perturbed, .own = true},
};

/* --- running --- */
/* Element (i, j) of a matrix by rows from one by columns, or the other way round. */
static void turn(size_t elem, char *dst, const char *src, int64_t m, int64_t n, bool to_columns) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            memcpy(dst + (size_t)(to_columns ? j * m + i : i * n + j) * elem,
                   src + (size_t)(to_columns ? i * n + j : j * m + i) * elem, elem);
}

static size_t part_count(const ir_type *t, char shape) {
    return (size_t)(shape == 'M' ? dim(t, 2) * dim(t, 1) : shape == 'V' ? dim(t, 1) : 1);
}

static void matrices(void *ctx, int64_t begin, int64_t end, int thread) {
    const cpu_call *c = ctx;
    const eig_state *s = c->thunk->state;
    const ir_op *op = c->thunk->op;
    char *mem = (char *)c->scratch + (size_t)thread * s->bytes;
    for (int64_t k = begin; k < end; k++) {
        eig_call one = {.s = s,
                        .call = c,
                        .work = mem + s->work_at,
                        .rwork = mem + s->rwork_at,
                        .iwork = (blas_int *)(void *)(mem + s->iwork_at),
                        .lwork = s->lwork,
                        .index = k};
        for (uint32_t j = 0; j < op->n_out; j++) {
            const ir_type *t = op->out[j].type;
            size_t elem = xt_dtype_size(t->dtype), count = part_count(t, s->row->out[j]);
            one.out[j] = s->row->out[j] == 'M' ? mem + s->out_at[j] : (char *)c->out[j] + (size_t)k * count * elem;
            memset(one.out[j], 0, count * elem);
        }
        for (uint32_t i = 0; i < op->n_in; i++) {
            const ir_type *t = op->in[i]->type;
            size_t elem = xt_dtype_size(t->dtype), count = part_count(t, s->row->in[i]);
            const char *src = (const char *)c->in[i] + (size_t)k * count * elem;
            one.in[i] = s->row->into[i] < 0 ? mem + s->in_at[i] : one.out[s->row->into[i]];
            if (s->row->in[i] == 'M')
                turn(elem, one.in[i], src, dim(t, 2), dim(t, 1), true);
            else
                memcpy(one.in[i], src, count * elem);
        }
        s->row->run(&one);
        for (uint32_t j = 0; j < op->n_out; j++) {
            const ir_type *t = op->out[j].type;
            size_t elem = xt_dtype_size(t->dtype);
            if (s->row->out[j] == 'M')
                turn(elem, (char *)c->out[j] + (size_t)k * part_count(t, 'M') * elem, one.out[j], dim(t, 2), dim(t, 1),
                     false);
        }
    }
}

static xt_status eig_run(const cpu_call *c) {
    cpu_call call = *c;
    team_for_alone(&c->device->team, &blas_library, ((const eig_state *)c->thunk->state)->batch, 1, matrices, &call);
    return NULL;
}
static const cpu_kernel eig_kernel = {"lapack", eig_run, NULL, false};

/* --- lowering --- */
static bool shape_fits(const ir_type *t, char shape, const ir_type *like, uint32_t batch_rank) {
    if (t->kind != IR_TENSOR || t->count < 0 || t->rank != batch_rank + (shape == 'M' ? 2u : shape == 'V'))
        return false;
    for (uint32_t d = 0; d < batch_rank; d++)
        if (t->dims[d] != like->dims[d]) return false;
    return true;
}

/* The row that the call is of: by name, letter of the type, and shapes. */
static const eig_row *row_of(const ir_op *op, blas_type *kind) {
    const char *target = ir_get_string(op, IR_A_call_target_name);
    size_t n = target ? strlen(target) : 0;
    bool lapack = n > 12 && strncmp(target, "lapack_", 7) == 0;
    if (n < 5 || strcmp(target + n - 4, "_ffi") != 0 || op->n_in == 0 || !blas_type_of(op->in[0]->type->dtype, kind))
        return NULL;
    const char *name = lapack ? target + 8 : target;
    size_t len = n - 4 - (lapack ? 8 : 0);
    if (lapack && target[7] != "sdcz"[*kind]) return NULL;
    for (size_t r = 0; r < BASE_COUNT(calls); r++) {
        const eig_row *row = &calls[r];
        bool fits = strlen(row->name) == len && memcmp(row->name, name, len) == 0 &&
                    !(*kind < BLAS_C ? row->complex_only : row->real_only) && op->n_in == strlen(row->in) &&
                    op->n_out == strlen(row->out);
        uint32_t own = row->in[0] == 'M' ? 2 : 1,
                 batch = fits && op->in[0]->type->rank >= own ? op->in[0]->type->rank - own : 0;
        for (uint32_t i = 0; fits && i < op->n_in; i++)
            fits = shape_fits(op->in[i]->type, row->in[i], op->in[0]->type, batch);
        for (uint32_t j = 0; fits && j < op->n_out; j++)
            fits = shape_fits(&op->out[j].type[0], row->out[j], op->in[0]->type, batch);
        for (uint32_t i = 0; fits && i < op->n_in; i++)
            fits = row->into[i] < 0 || op->out[row->into[i]].type == op->in[i]->type;
        if (fits) return row;
    }
    return NULL;
}

/* What the routines take for granted of sizes and types; the rest follows from JAX's own rules. */
static bool sizes_fit(const ir_op *op, const eig_row *row, blas_type kind) {
    const ir_type *a = op->in[0]->type;
    int64_t m = dim(a, 2), n = dim(a, 1), least = m < n ? m : n;
    xt_dtype t = a->dtype, real = kind == BLAS_S || kind == BLAS_C ? XT_F32 : XT_F64,
             wide = kind == BLAS_S || kind == BLAS_C ? XT_C64 : XT_C128;
    if (a->count <= 0 || (row->in[0] == 'M' && (m >= 1 << 15 || n >= 1 << 15))) return false;
    if (row->own) {
        const ir_type *b = op->in[3]->type;
        return b->dtype == t && dim(b, 2) == n && op->in[1]->type == a && op->in[2]->type == a;
    }
    if (row->run == run_ormqr) {
        const ir_type *x = op->out[0].type;
        int64_t k = dim(op->in[1]->type, 1);
        return x->dtype == t && op->in[1]->type->dtype == t && k <= n && (m == dim(x, 2) || m == dim(x, 1));
    }
    if (row->run == run_geqp3)
        return op->in[1]->type->dtype == XT_I32 && dim(op->in[1]->type, 1) == n && op->out[2].type->dtype == t &&
               dim(op->out[2].type, 1) == least;
    if (row->run == run_gesvd)
        return op->out[1].type->dtype == real && dim(op->out[1].type, 1) == least && op->out[2].type->dtype == t &&
               op->out[3].type->dtype == t && dim(op->out[2].type, 2) == m && dim(op->out[3].type, 1) == n &&
               dim(op->out[2].type, 1) >= least && dim(op->out[3].type, 2) >= least;
    if (m != n || op->out[op->n_out - 1].type->dtype != XT_I32) return false;
    for (uint32_t j = 0; j + 1 < op->n_out; j++) {
        const ir_type *o = op->out[j].type;
        bool vectors = row->run == run_geev && row->out[j] == 'M';
        if (vectors && (o->dtype != wide || dim(o, 1) != n || dim(o, 2) != n)) return false;
        if (row->out[j] == 'M' && !vectors && (o->dtype != t || dim(o, 1) != n || dim(o, 2) != n)) return false;
        if (row->out[j] == 'V' && dim(o, 1) < n - 1) return false;
        if (row->out[j] == 'V' && xt_dtype_size(o->dtype) < xt_dtype_size(real)) return false;
    }
    return true;
}

static size_t take(size_t *all, size_t bytes) {
    size_t at = *all;
    *all += (bytes + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
    return at;
}

CPU_LOWER(eig) {
    blas_type kind;
    const eig_row *row = row_of(op, &kind);
    if (!row || !sizes_fit(op, row, kind)) return NULL;
    blas_any_fn fn = row->own ? NULL : blas_routine(kind, row->name);
    if (!row->own && !fn) return NULL;
    eig_state *s = base_calloc(1, sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    const ir_type *a = op->in[0]->type;
    uint32_t own = row->in[0] == 'M' ? 2 : 1;
    int64_t m = dim(a, 2), n = dim(a, 1), big = own == 2 && m > n ? m : n;
    *s = (eig_state){.row = row, .fn = fn, .kind = kind, .elem = xt_dtype_size(a->dtype), .batch = 1};
    for (uint32_t d = 0; d + own < a->rank; d++) s->batch *= a->dims[d];
    for (uint32_t i = 0; i < op->n_in; i++)
        s->in_at[i] = take(&s->bytes, part_count(op->in[i]->type, row->in[i]) * xt_dtype_size(op->in[i]->type->dtype));
    for (uint32_t j = 0; j < op->n_out; j++)
        s->out_at[j] =
            take(&s->bytes, part_count(op->out[j].type, row->out[j]) * xt_dtype_size(op->out[j].type->dtype));
    int64_t wide = row->run == run_ormqr ? big + dim(op->out[0].type, 1) + dim(op->out[0].type, 2) : 2 * big;
    s->lwork = (blas_int)(64 * (wide + 1)); /* more than any of them asks for with blocks of 32 or 64 */
    s->work_at = take(&s->bytes, ((size_t)s->lwork + (row->run == run_geev ? 2 * (size_t)(n * n) : 0)) * s->elem);
    s->rwork_at = take(&s->bytes, (size_t)(8 * big + 8) * s->elem);
    s->iwork_at = take(&s->bytes, (size_t)(big + 8) * sizeof(blas_int));
    *out_done = true;
    cpu_thunk_desc d = {.kernel = &eig_kernel,
                        .op = op,
                        .n_in = op->n_in,
                        .n_out = op->n_out,
                        .scratch_bytes = s->bytes * (size_t)(s->batch > 1 ? cpu_build_threads(b) : 1),
                        .state = s,
                        .flops = (double)s->batch * 10.0 * (double)(n * n) * (double)big};
    return cpu_build_thunk(b, &d);
}
