/* LAPACK's factorisations behind JAX's custom calls (lapack_sgetrf_ffi, ... and the names its other back ends share:
 * Qr, Eigh, LuDecomposition, ...) by OpenBLAS. Its matrices lie in columns, ours in rows, so each is turned over on the
 * way in and out. Each matrix of a batch is one thread's. Without OpenBLAS, and for shapes that no routine takes, the
 * interpreter's textbook code runs (ir/interp_lapack.c, which also says what the calls' operands and results are). */
#include "cpu/kernel/kernel.h"
#include "cpu/vector/blas.h"
#include "cpu/vector/factor.h"
#include "ir/interp_int.h"

typedef enum routine { GETRF, GEQRF, ORGQR, EIGH, GESDD } routine;
typedef struct lapack_state {
    const blas_api *blas;
    blas_type kind;
    routine what;
    bool permutation; /* LuDecomposition: pivots from 0, and the permutation they make */
    size_t elem, real; /* bytes of an element, of its real part */
    int64_t batch, m, n, least;
    int64_t taus, columns; /* orgqr: reflectors, columns of the result; gesdd: columns of u */
    int64_t rows; /* gesdd: rows of v^H */
    char job, uplo;
    blas_int lwork, lrwork, liwork;
    size_t a_at, u_at, v_at, work_at, rwork_at, iwork_at, thread_bytes;
} lapack_state;
typedef struct lapack_run {
    const lapack_state *s;
    const cpu_call *call;
    const cpu_team *team; /* of one matrix */
} lapack_run;

/* dst[j][i] = src[i][j]. */
static void turn(size_t elem, char *dst, int64_t dst_row, const char *src, int64_t src_row, int64_t m, int64_t n) {
#define TURN(T)                                                                  \
    for (int64_t i0 = 0; i0 < m; i0 += 16)                                       \
        for (int64_t j = 0; j < n; j++)                                          \
            for (int64_t i = i0; i < m && i < i0 + 16; i++)                      \
                ((T *)dst)[j * dst_row + i] = ((const T *)src)[i * src_row + j]; \
    break
    typedef struct wide {
        uint64_t part[2];
    } wide;
    switch (elem) {
    case 4: TURN(uint32_t);
    case 8: TURN(uint64_t);
    default: TURN(wide);
    }
#undef TURN
}

static char *result(const lapack_run *r, uint32_t j, int64_t k, int64_t count, size_t elem) {
    return (char *)r->call->out[j] + (size_t)(k * count) * elem;
}

static factor_matrix matrix_of(const lapack_run *r, char *mine, int64_t columns) {
    return (factor_matrix){.team = r->team, .kind = r->s->kind, .m = r->s->m, .n = columns, .a = mine + r->s->a_at};
}

static void run_getrf(const lapack_run *r, int64_t k, char *mine) {
    const lapack_state *s = r->s;
    factor_matrix f = matrix_of(r, mine, s->n);
    blas_int *pivots = (blas_int *)(void *)(mine + s->iwork_at), info = factor_getrf(&f, pivots);
    turn(s->elem, result(r, 0, k, s->m * s->n, s->elem), s->n, mine + s->a_at, s->m, s->n, s->m);
    int32_t *out = (int32_t *)(void *)result(r, 1, k, s->least, 4), *last = r->call->out[2];
    for (int64_t i = 0; i < s->least; i++) out[i] = pivots[i] - s->permutation;
    if (!s->permutation) {
        last[k] = info;
        return;
    }
    int32_t *perm = last + k * s->m;
    for (int32_t i = 0; i < s->m; i++) perm[i] = i;
    for (int64_t i = 0; i < s->least; i++) {
        int32_t t = perm[i];
        perm[i] = perm[out[i]];
        perm[out[i]] = t;
    }
}

static void run_geqrf(const lapack_run *r, int64_t k, char *mine) {
    const lapack_state *s = r->s;
    factor_matrix f = matrix_of(r, mine, s->n);
    factor_geqrf(&f, result(r, 1, k, s->least, s->elem), mine + s->work_at, s->lwork);
    turn(s->elem, result(r, 0, k, s->m * s->n, s->elem), s->n, mine + s->a_at, s->m, s->n, s->m);
}

static void run_orgqr(const lapack_run *r, int64_t k, char *mine) {
    const lapack_state *s = r->s;
    factor_matrix f = matrix_of(r, mine, s->columns);
    factor_orgqr(&f, s->taus, (const char *)r->call->in[1] + (size_t)(k * s->taus) * s->elem, mine + s->work_at,
                 s->lwork);
    turn(s->elem, result(r, 0, k, s->m * s->columns, s->elem), s->columns, mine + s->a_at, s->m, s->columns, s->m);
}

static void run_eigh(const lapack_run *r, int64_t k, char *mine) {
    const lapack_state *s = r->s;
    blas_int n = (blas_int)s->n, info = 0, *iwork = (blas_int *)(void *)(mine + s->iwork_at);
    char *w = result(r, 1, k, s->n, s->real);
    if (s->kind < BLAS_C)
        s->blas->syevd[s->kind](&s->job, &s->uplo, &n, mine + s->a_at, &n, w, mine + s->work_at, &s->lwork, iwork,
                                &s->liwork, &info);
    else
        s->blas->heevd[s->kind - BLAS_C](&s->job, &s->uplo, &n, mine + s->a_at, &n, w, mine + s->work_at, &s->lwork,
                                         mine + s->rwork_at, &s->lrwork, iwork, &s->liwork, &info);
    turn(s->elem, result(r, 0, k, s->n * s->n, s->elem), s->n, mine + s->a_at, s->n, s->n, s->n);
    if (r->call->thunk->n_out == 3) ((int32_t *)r->call->out[2])[k] = info;
}

static void run_gesdd(const lapack_run *r, int64_t k, char *mine) {
    const lapack_state *s = r->s;
    blas_int m = (blas_int)s->m, n = (blas_int)s->n, ldu = m, ldv = (blas_int)s->rows, info = 0,
             *iwork = (blas_int *)(void *)(mine + s->iwork_at);
    char *a = mine + s->a_at, *u = mine + s->u_at, *v = mine + s->v_at, *values = result(r, 1, k, s->least, s->real);
    if (ldv < 1) ldv = 1;
    if (s->kind < BLAS_C)
        s->blas->gesdd_real[s->kind](&s->job, &m, &n, a, &m, values, u, &ldu, v, &ldv, mine + s->work_at, &s->lwork,
                                     iwork, &info);
    else
        s->blas->gesdd_complex[s->kind - BLAS_C](&s->job, &m, &n, a, &m, values, u, &ldu, v, &ldv, mine + s->work_at,
                                                 &s->lwork, mine + s->rwork_at, iwork, &info);
    turn(s->elem, result(r, 0, k, s->m * s->n, s->elem), s->n, a, s->m, s->n, s->m);
    if (s->job != 'N') {
        turn(s->elem, result(r, 2, k, s->m * s->columns, s->elem), s->columns, u, s->m, s->columns, s->m);
        turn(s->elem, result(r, 3, k, s->rows * s->n, s->elem), s->n, v, s->rows, s->n, s->rows);
    }
    ((int32_t *)r->call->out[4])[k] = info;
}

static void matrices(void *ctx, int64_t begin, int64_t end, int thread) {
    static void (*const run[])(const lapack_run *, int64_t, char *) = {run_getrf, run_geqrf, run_orgqr, run_eigh,
                                                                       run_gesdd};
    const lapack_run *r = ctx;
    const lapack_state *s = r->s;
    char *mine = (char *)r->call->scratch + (size_t)thread * s->thread_bytes;
    for (int64_t k = begin; k < end; k++) {
        int64_t columns = s->what == ORGQR && s->columns < s->n ? s->columns : s->n;
        turn(s->elem, mine + s->a_at, s->m, (const char *)r->call->in[0] + (size_t)(k * s->m * s->n) * s->elem, s->n,
             s->m, columns);
        run[s->what](r, k, mine);
    }
}

static xt_status lapack_run_op(const cpu_call *c) {
    const lapack_state *s = c->thunk->state;
    lapack_run r = {s, c, s->batch > 1 ? &(cpu_team){.threads = 1} : &c->device->team};
    if (s->what == GESDD && s->job == 'N')
        for (uint32_t j = 2; j < 4; j++) memset(c->out[j], 0, ir_type_bytes(c->thunk->op->out[j].type));
    team_for_alone(&c->device->team, &blas_library, s->batch, 65536 / (s->m * s->n * s->least + 1) + 1, matrices, &r);
    return NULL;
}
static const cpu_kernel lapack_kernel = {"lapack", lapack_run_op, NULL, false};

/* --- lowering --- */
static blas_int as_int(const lapack_state *s, const void *first) { /* what a query for room says */
    /* f32 may have rounded it down */
    return (blas_int)(s->kind == BLAS_S || s->kind == BLAS_C ? *(const float *)first : *(const double *)first) + 8;
}

/* Asks the routine how much room it works in. */
static void ask(lapack_state *s) {
    double work[2] = {0}, rwork[2] = {0}, one[2] = {0};
    blas_int m = (blas_int)s->m, n = (blas_int)s->n, k = (blas_int)s->taus, q = (blas_int)s->columns,
             v = (blas_int)(s->rows > 0 ? s->rows : 1), info = 0;
    blas_int query = -1, iwork[2] = {0};
    int64_t lo = s->least, hi = s->m > s->n ? s->m : s->n, a = 5 * lo * lo + 5 * lo, b = 2 * hi * lo + 2 * lo * lo + lo;
    s->liwork = (blas_int)(8 * lo + 8);
    switch (s->what) {
    case GETRF: break;
    case GEQRF: s->blas->geqrf[s->kind](&m, &n, one, &m, one, work, &query, &info); break;
    case ORGQR: s->blas->orgqr[s->kind](&m, &q, &k, one, &m, one, work, &query, &info); break;
    case EIGH:
        if (s->kind < BLAS_C)
            s->blas->syevd[s->kind](&s->job, &s->uplo, &n, one, &n, one, work, &query, iwork, &query, &info);
        else
            s->blas->heevd[s->kind - BLAS_C](&s->job, &s->uplo, &n, one, &n, one, work, &query, rwork, &query, iwork,
                                             &query, &info);
        s->lrwork = as_int(s, rwork);
        s->liwork = iwork[0];
        break;
    case GESDD:
        if (s->kind < BLAS_C)
            s->blas->gesdd_real[s->kind](&s->job, &m, &n, one, &m, one, one, &m, one, &v, work, &query, iwork, &info);
        else
            s->blas->gesdd_complex[s->kind - BLAS_C](&s->job, &m, &n, one, &m, one, one, &m, one, &v, work, &query,
                                                     rwork, iwork, &info);
        s->lrwork = (blas_int)((a > b ? a : b) + 8);
        break;
    }
    s->lwork = as_int(s, work);
}

static size_t take(size_t *all, size_t bytes) {
    size_t at = *all;
    *all += (bytes + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
    return at;
}

static void lay_out(lapack_state *s) {
    int64_t width = s->what == ORGQR && s->columns > s->n ? s->columns : s->n;
    s->a_at = take(&s->thread_bytes, (size_t)(s->m * width) * s->elem);
    if (s->what == GESDD && s->job != 'N') {
        s->u_at = take(&s->thread_bytes, (size_t)(s->m * s->columns) * s->elem);
        s->v_at = take(&s->thread_bytes, (size_t)(s->rows * s->n) * s->elem);
    }
    s->work_at = take(&s->thread_bytes, (size_t)s->lwork * s->elem);
    s->rwork_at = take(&s->thread_bytes, (size_t)s->lrwork * s->real);
    s->iwork_at = take(&s->thread_bytes, ((size_t)s->liwork + (size_t)s->least) * sizeof(blas_int));
}

static bool read_call(const ir_op *op, const char *name, lapack_state *s) {
    static const struct {
        const char *name;
        routine what;
    } names[] = {{"getrf", GETRF},
                 {"geqrf", GEQRF},
                 {"orgqr", ORGQR},
                 {"ungqr", ORGQR},
                 {"syevd", EIGH},
                 {"heevd", EIGH},
                 {"gesdd", GESDD},
                 {"LuDecomposition", GETRF},
                 {"Eigh", EIGH},
                 {"Qr", GEQRF},
                 {"ProductOfElementaryHouseholderReflectors", ORGQR}};
    bool found = false;
    for (size_t i = 0; i < BASE_COUNT(names) && !found; i++)
        if ((found = strcmp(names[i].name, name) == 0)) s->what = names[i].what;
    s->permutation = *name == 'L';
    if (s->what == ORGQR) {
        const ir_type *tau = op->in[1]->type, *q = op->out[0].type;
        s->taus = tau->dims[tau->rank - 1];
        s->columns = q->dims[q->rank - 1];
        found = found && s->columns <= s->m && tau->dtype == q->dtype;
    } else if (s->what == EIGH) {
        /* "1,...": the lower triangle */
        const char *text = *name == 'E' ? ir_get_string(op, IR_A_backend_config) : NULL;
        bool lower = text ? *text != '0' : interp_lapack_option(op, "uplo", 'L') == 'L';
        s->uplo = lower ? 'L' : 'U';
        s->job = interp_lapack_option(op, "mode", 'V') == 'N' ? 'N' : 'V';
    } else if (s->what == GESDD) {
        const ir_type *u = op->out[2].type, *v = op->out[3].type;
        s->columns = u->dims[u->rank - 1];
        s->rows = v->dims[v->rank - 2];
        bool values = interp_lapack_option(op, "mode", 'A') == 'N' || u->dims[u->rank - 2] != s->m ||
                      v->dims[v->rank - 1] != s->n;
        bool all = s->columns == s->m && s->rows == s->n, some = s->columns == s->least && s->rows == s->least;
        s->job = values ? 'N' : some ? 'S' : 'A';
        found = found && (values || some || all) && op->n_out == 5;
    }
    return found;
}

static bool types_fit(const ir_op *op, const lapack_state *s) {
    xt_dtype t = op->in[0]->type->dtype, real = s->kind == BLAS_S || s->kind == BLAS_C ? XT_F32 : XT_F64;
    uint32_t n = op->n_out;
    if (op->out[0].type->dtype != t) return false;
    switch (s->what) {
    case GETRF: return op->out[1].type->dtype == XT_I32 && op->out[2].type->dtype == XT_I32;
    case GEQRF: return op->out[1].type->dtype == t;
    case ORGQR: return true;
    case EIGH: return op->out[1].type->dtype == real && (n == 2 || op->out[2].type->dtype == XT_I32);
    case GESDD:
        return op->out[1].type->dtype == real && op->out[2].type->dtype == t && op->out[3].type->dtype == t &&
               op->out[4].type->dtype == XT_I32;
    }
    return false;
}

CPU_LOWER(lapack) {
    int64_t batch;
    const char *name = interp_lapack_routine(op, &batch);
    const ir_type *t = name ? op->in[0]->type : NULL;
    lapack_state found = {.batch = batch};
    if (!name || t->count <= 0 || !blas_type_of(t->dtype, &found.kind)) return NULL;
    found.m = t->dims[t->rank - 2], found.n = t->dims[t->rank - 1];
    found.least = found.m < found.n ? found.m : found.n;
    found.elem = xt_dtype_size(t->dtype);
    found.real = found.kind < BLAS_C ? found.elem : found.elem / 2;
    if (found.m >= 1 << 15 || found.n >= 1 << 15 || !read_call(op, name, &found) || !types_fit(op, &found) ||
        !blas_get())
        return NULL;
    lapack_state *s = base_malloc(sizeof *s);
    if (!s) return status_oom(sizeof *s, "a plan");
    *s = found;
    s->blas = blas_get();
    ask(s);
    lay_out(s);
    double m = (double)s->m, n = (double)s->n, l = (double)s->least;
    *out_done = true;
    cpu_thunk_desc d = {.kernel = &lapack_kernel,
                        .op = op,
                        .n_in = op->n_in,
                        .n_out = op->n_out,
                        .scratch_bytes = s->thread_bytes * (size_t)(batch > 1 ? cpu_build_threads(b) : 1),
                        .state = s,
                        .flops = (double)batch * (s->what == GESDD || s->what == EIGH ? 9.0 : 1.0) *
                                 (m * n * l - l * l * l / 3)};
    return cpu_build_thunk(b, &d);
}
