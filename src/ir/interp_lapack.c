/* Custom calls of JAX's linear algebra: its CPU back end's LAPACK routines (lapack_spotrf_ffi, ...; types s, d, c, z)
 * and the names its other back ends share (Qr, LuDecomposition, ProductOfElementaryHouseholderReflectors, Eigh). All in
 * complex double, by the textbook: Golub & Van Loan, "Matrix Computations", 4th ed.: 3.4.1 (LU), 4.2.5 (Cholesky),
 * 5.2.1 and 5.1.6 (Householder QR), 8.5.5 (cyclic Jacobi), 8.6.3 (one-sided Jacobi SVD). Reflectors and pivots follow
 * LAPACK's conventions, since programs read them. Signs of eigenvectors and singular vectors are free, as everywhere.
 *
 * Layouts that the calls state are about memory; arrays here are row-major and mean the same matrices. */
#include "ir/config.h"
#include "ir/interp_int.h"

#include <complex.h>
#include <math.h>

typedef double complex cplx;
typedef struct matrix { /* row-major */
    cplx *a;
    int64_t m, n;
} matrix;
#define AT(x, i, j) ((x)->a[(i) * (x)->n + (j)])

/* --- Factorisations in place --- */
/* One triangle of a = l l^H (or u^H u); the other triangle is left as it was. 0, or the order of the first minor that
 * is not positive. */
static int cholesky(matrix *x, bool lower) {
    for (int64_t j = 0; j < x->n; j++) {
        double d = creal(AT(x, j, j));
        for (int64_t k = 0; k < j; k++) {
            cplx v = lower ? AT(x, j, k) : AT(x, k, j);
            d -= creal(v) * creal(v) + cimag(v) * cimag(v);
        }
        if (!(d > 0)) return (int)j + 1;
        d = sqrt(d);
        AT(x, j, j) = d;
        for (int64_t i = j + 1; i < x->n; i++) {
            cplx s = lower ? AT(x, i, j) : conj(AT(x, j, i));
            for (int64_t k = 0; k < j; k++)
                s -= lower ? AT(x, i, k) * conj(AT(x, j, k)) : conj(AT(x, k, i)) * AT(x, k, j);
            if (lower)
                AT(x, i, j) = s / d;
            else
                AT(x, j, i) = conj(s / d);
        }
    }
    return 0;
}

/* Row interchanges pivot[i] from 0; 0, or the number of the first zero on the diagonal. */
static int lu(matrix *x, int64_t *pivot) {
    int info = 0;
    for (int64_t k = 0; k < x->m && k < x->n; k++) {
        int64_t p = k;
        for (int64_t i = k + 1; i < x->m; i++)
            if (fabs(creal(AT(x, i, k))) + fabs(cimag(AT(x, i, k))) >
                fabs(creal(AT(x, p, k))) + fabs(cimag(AT(x, p, k))))
                p = i;
        pivot[k] = p;
        for (int64_t j = 0; p != k && j < x->n; j++) {
            cplx t = AT(x, k, j);
            AT(x, k, j) = AT(x, p, j);
            AT(x, p, j) = t;
        }
        if (AT(x, k, k) == 0) {
            if (!info) info = (int)k + 1;
            continue;
        }
        for (int64_t i = k + 1; i < x->m; i++) {
            cplx f = AT(x, i, k) /= AT(x, k, k);
            for (int64_t j = k + 1; f != 0 && j < x->n; j++) AT(x, i, j) -= f * AT(x, k, j);
        }
    }
    return info;
}

/* x(k:, from:) -= t v (v^H x), v = (1, q(k+1:, k)). */
static void reflect(const matrix *q, int64_t k, cplx t, matrix *x, int64_t from) {
    for (int64_t j = from; j < x->n; j++) {
        cplx s = AT(x, k, j);
        for (int64_t i = k + 1; i < x->m; i++) s += conj(AT(q, i, k)) * AT(x, i, j);
        s *= t;
        AT(x, k, j) -= s;
        for (int64_t i = k + 1; i < x->m; i++) AT(x, i, j) -= s * AT(q, i, k);
    }
}

/* r above and on the diagonal, reflectors below, their factors in tau. */
static void qr(matrix *x, cplx *tau) {
    for (int64_t k = 0; k < x->m && k < x->n; k++) {
        cplx alpha = AT(x, k, k);
        double tail = 0;
        for (int64_t i = k + 1; i < x->m; i++) tail = hypot(tail, cabs(AT(x, i, k)));
        tau[k] = 0;
        if (tail == 0 && cimag(alpha) == 0) continue;
        double beta = -copysign(hypot(cabs(alpha), tail), creal(alpha));
        tau[k] = (beta - alpha) / beta;
        for (int64_t i = k + 1; i < x->m; i++) AT(x, i, k) /= alpha - beta;
        AT(x, k, k) = beta;
        reflect(x, k, conj(tau[k]), x, k + 1);
    }
}

/* The first x->n columns of the product of n_tau reflectors. */
static void product_of_reflectors(const matrix *x, const cplx *tau, int64_t n_tau, matrix *q) {
    for (int64_t i = 0; i < q->m; i++)
        for (int64_t j = 0; j < q->n; j++) AT(q, i, j) = i == j;
    for (int64_t k = n_tau; k-- > 0;) reflect(x, k, tau[k], q, k);
}

/* op(a) y = b, or y op(a) = b when `right`; b becomes y. */
static void triangular(const matrix *a, bool lower, int trans, bool unit, bool right, matrix *b) {
    int64_t n = a->n, lines = right ? b->m : b->n;
    bool turned = trans != 'N', forward = (lower != turned) != right;
    for (int64_t l = 0; l < lines; l++)
        for (int64_t step = 0; step < n; step++) {
            int64_t i = forward ? step : n - 1 - step;
            cplx *at = right ? &AT(b, l, i) : &AT(b, i, l), s = *at;
            for (int64_t j = forward ? 0 : i + 1; j < (forward ? i : n); j++) {
                int64_t r = right ? j : i, c = right ? i : j; /* the element of op(a) */
                cplx v = turned ? AT(a, c, r) : AT(a, r, c);
                s -= (trans == 'C' ? conj(v) : v) * (right ? AT(b, l, j) : AT(b, j, l));
            }
            cplx d = trans == 'C' ? conj(AT(a, i, i)) : AT(a, i, i);
            *at = unit ? s : s / d;
        }
}

/* --- Spectra --- */
enum { SWEEPS = 60 };

/* Columns p and q of x rotated so that they become orthogonal; false when they are. `v` is rotated along. */
static bool orthogonalise(matrix *x, matrix *v, int64_t p, int64_t q) {
    double a = 0, b = 0;
    cplx c = 0;
    for (int64_t i = 0; i < x->m; i++) {
        a += creal(AT(x, i, p) * conj(AT(x, i, p)));
        b += creal(AT(x, i, q) * conj(AT(x, i, q)));
        c += conj(AT(x, i, p)) * AT(x, i, q);
    }
    double r = cabs(c);
    if (!(r > 1e-17 * sqrt(a * b)) || r == 0) return false;
    double zeta = (b - a) / (2 * r), t = copysign(1 / (fabs(zeta) + hypot(1, zeta)), zeta), cs = 1 / hypot(1, t);
    cplx phase = c / r, sn = cs * t * phase;
    for (int side = 0; side < 2; side++) {
        matrix *y = side ? v : x;
        for (int64_t i = 0; i < y->m; i++) {
            cplx u = AT(y, i, p), w = AT(y, i, q);
            AT(y, i, p) = cs * u - conj(sn) * w;
            AT(y, i, q) = sn * u + cs * w;
        }
    }
    return r > 1e-15 * sqrt(a * b);
}

/* x v = u diag(s), columns of u (left in x) of length one, s falling. x has at least as many rows as columns. */
static void svd(matrix *x, matrix *v, double *s) {
    for (int64_t i = 0; i < v->n; i++)
        for (int64_t j = 0; j < v->n; j++) AT(v, i, j) = i == j;
    bool again = true;
    for (int sweep = 0; again && sweep < SWEEPS; sweep++) {
        again = false;
        for (int64_t p = 0; p < x->n; p++)
            for (int64_t q = p + 1; q < x->n; q++) again |= orthogonalise(x, v, p, q);
    }
    for (int64_t j = 0; j < x->n; j++) {
        s[j] = 0;
        for (int64_t i = 0; i < x->m; i++) s[j] = hypot(s[j], cabs(AT(x, i, j)));
        for (int64_t i = 0; s[j] > 0 && i < x->m; i++) AT(x, i, j) /= s[j];
    }
    for (int64_t j = 0; j < x->n; j++) { /* the largest of the rest to the front */
        int64_t best = j;
        for (int64_t k = j + 1; k < x->n; k++)
            if (s[k] > s[best]) best = k;
        double t = s[j];
        s[j] = s[best], s[best] = t;
        for (int side = 0; side < 2; side++) {
            matrix *y = side ? v : x;
            for (int64_t i = 0; best != j && i < y->m; i++) {
                cplx u = AT(y, i, j);
                AT(y, i, j) = AT(y, i, best);
                AT(y, i, best) = u;
            }
        }
    }
}

/* Eigenvalues rising, eigenvectors in the columns of v. A shift makes the matrix positive, so its singular vectors are
 * its eigenvectors. */
static void eigen(matrix *x, matrix *v, double *w) {
    double shift = 0;
    for (int64_t i = 0; i < x->n; i++) {
        double row = 0;
        for (int64_t j = 0; j < x->n; j++) row += cabs(AT(x, i, j));
        if (row > shift) shift = row;
    }
    for (int64_t i = 0; i < x->n; i++) AT(x, i, i) += shift;
    svd(x, v, w);
    for (int64_t j = 0; j < x->n; j++) w[j] -= shift;
    for (int64_t j = 0; j < x->n / 2; j++) {
        int64_t k = x->n - 1 - j;
        double t = w[j];
        w[j] = w[k], w[k] = t;
        for (int64_t i = 0; i < v->m; i++) {
            cplx u = AT(v, i, j);
            AT(v, i, j) = AT(v, i, k);
            AT(v, i, k) = u;
        }
    }
}

/* --- The calls --- */
int interp_lapack_option(const ir_op *op, const char *name, int fallback) {
    return (int)ir_config_int(op, name, fallback);
}

/* One matrix of a batch: inputs and outputs as complex double, scratch where a routine needs it. */
typedef struct call {
    const ir_op *op;
    matrix in[2], out[5]; /* vectors have one row */
    cplx *scratch;
    int info;
} call;

static void run_potrf(call *c) {
    memcpy(c->out[0].a, c->in[0].a, (size_t)(c->in[0].m * c->in[0].n) * sizeof(cplx));
    c->info = cholesky(&c->out[0], interp_lapack_option(c->op, "uplo", 'L') == 'L');
}
static void run_trsm(call *c) {
    memcpy(c->out[0].a, c->in[1].a, (size_t)(c->in[1].m * c->in[1].n) * sizeof(cplx));
    triangular(&c->in[0], interp_lapack_option(c->op, "uplo", 'L') == 'L', interp_lapack_option(c->op, "trans_x", 'N'),
               interp_lapack_option(c->op, "diag", 'N') == 'U', interp_lapack_option(c->op, "side", 'L') == 'R',
               &c->out[0]);
}
static void run_getrf(call *c) {
    /* LuDecomposition: pivots from 0, and the permutation they make */
    bool own = *ir_get_string(c->op, IR_A_call_target_name) == 'L';
    int64_t *pivot = (int64_t *)(void *)c->scratch, n = c->in[0].m < c->in[0].n ? c->in[0].m : c->in[0].n;
    memcpy(c->out[0].a, c->in[0].a, (size_t)(c->in[0].m * c->in[0].n) * sizeof(cplx));
    c->info = lu(&c->out[0], pivot);
    for (int64_t i = 0; i < n; i++) c->out[1].a[i] = (double)(pivot[i] + !own);
    if (!own) return;
    for (int64_t i = 0; i < c->out[2].n; i++) c->out[2].a[i] = (double)i;
    for (int64_t i = 0; i < n; i++) {
        cplx t = c->out[2].a[i];
        c->out[2].a[i] = c->out[2].a[pivot[i]];
        c->out[2].a[pivot[i]] = t;
    }
}
static void run_geqrf(call *c) {
    memcpy(c->out[0].a, c->in[0].a, (size_t)(c->in[0].m * c->in[0].n) * sizeof(cplx));
    qr(&c->out[0], c->out[1].a);
}
static void run_orgqr(call *c) {
    product_of_reflectors(&c->in[0], c->in[1].a, c->in[1].n, &c->out[0]);
}
/* Eigh's options are a text: "1,..." names the lower triangle. */
static void run_syevd(call *c) {
    matrix x = {c->scratch, c->in[0].n, c->in[0].n}, *v = &c->out[0];
    const char *text =
        *ir_get_string(c->op, IR_A_call_target_name) == 'E' ? ir_get_string(c->op, IR_A_backend_config) : NULL;
    bool lower = text ? *text != '0' : interp_lapack_option(c->op, "uplo", 'L') == 'L';
    double *w = (double *)(void *)(c->scratch + x.n * x.n);
    for (int64_t i = 0; i < x.n; i++)
        for (int64_t j = 0; j < x.n; j++) {
            bool stored = lower ? j <= i : j >= i;
            AT(&x, i, j) = i == j   ? creal(AT(&c->in[0], i, i))
                           : stored ? AT(&c->in[0], i, j)
                                    : conj(AT(&c->in[0], j, i));
        }
    eigen(&x, v, w);
    for (int64_t i = 0; i < x.n; i++) c->out[1].a[i] = w[i];
}

/* Columns from `have` on of u become an orthonormal completion. */
static void complete(matrix *u, int64_t have) {
    for (int64_t j = have, unit = 0; j < u->n && unit < u->m; unit++) {
        double norm = 0;
        for (int64_t i = 0; i < u->m; i++) AT(u, i, j) = i == unit;
        for (int pass = 0; pass < 2; pass++)
            for (int64_t k = 0; k < j; k++) {
                cplx s = 0;
                for (int64_t i = 0; i < u->m; i++) s += conj(AT(u, i, k)) * AT(u, i, j);
                for (int64_t i = 0; i < u->m; i++) AT(u, i, j) -= s * AT(u, i, k);
            }
        for (int64_t i = 0; i < u->m; i++) norm = hypot(norm, cabs(AT(u, i, j)));
        if (norm < 1e-3) continue;
        for (int64_t i = 0; i < u->m; i++) AT(u, i, j) /= norm;
        j++;
    }
}

/* Outputs: what the input is overwritten with (nobody reads it), s, u, v^H, info. A wide matrix is
 * turned over first. */
static void run_gesdd(call *c) {
    int64_t m = c->in[0].m, n = c->in[0].n, big = m > n ? m : n, small = m > n ? n : m;
    bool wide = m < n;
    matrix x = {c->scratch, big, small}, v = {c->scratch + big * small, small, small};
    double *s = (double *)(void *)(v.a + small * small);
    for (int64_t i = 0; i < big; i++)
        for (int64_t j = 0; j < small; j++) AT(&x, i, j) = wide ? conj(AT(&c->in[0], j, i)) : AT(&c->in[0], i, j);
    svd(&x, &v, s);
    for (int64_t i = 0; i < small; i++) c->out[1].a[i] = s[i];
    if (c->out[2].m != m || c->out[3].n != n) return; /* values only */
    const matrix *left = wide ? &v : &x, *right = wide ? &x : &v;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < c->out[2].n && j < small; j++) AT(&c->out[2], i, j) = AT(left, i, j);
    complete(&c->out[2], small);
    matrix whole = {s ? (cplx *)(void *)(s + small + (small & 1)) : NULL, n, c->out[3].m};
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < whole.n && j < small; j++) AT(&whole, i, j) = AT(right, i, j);
    complete(&whole, small);
    for (int64_t i = 0; i < c->out[3].m; i++)
        for (int64_t j = 0; j < n; j++) AT(&c->out[3], i, j) = conj(AT(&whole, j, i));
}

/* `shapes`: for each operand and result, 'M' a matrix, 'V' a vector, 'I' the status; operands, '>', results. */
static const struct routine {
    const char *name, *shapes;
    void (*run)(call *c);
} routines[] = {
    {"potrf", "M>MI", run_potrf},
    {"trsm", "MM>M", run_trsm},
    {"getrf", "M>MVI", run_getrf},
    {"geqrf", "M>MV", run_geqrf},
    {"orgqr", "MV>M", run_orgqr},
    {"ungqr", "MV>M", run_orgqr},
    {"syevd", "M>MVI", run_syevd},
    {"heevd", "M>MVI", run_syevd},
    {"gesdd", "M>MVMMI", run_gesdd},
    {"LuDecomposition", "M>MVV", run_getrf},
    {"Eigh", "M>MV", run_syevd},
    {"Qr", "M>MV", run_geqrf},
    {"ProductOfElementaryHouseholderReflectors", "MV>M", run_orgqr},
};

static const struct routine *routine_of(const char *target) {
    size_t n = strlen(target);
    bool lapack =
        n > 12 && !strncmp(target, "lapack_", 7) && !strcmp(target + n - 4, "_ffi") && strchr("sdcz", target[7]);
    for (size_t i = 0; i < BASE_COUNT(routines); i++) {
        size_t k = strlen(routines[i].name);
        if (lapack ? n == 12 + k && !memcmp(target + 8, routines[i].name, k) : !strcmp(target, routines[i].name))
            return &routines[i];
    }
    return NULL;
}

bool interp_lapack_knows(const char *target) {
    return routine_of(target) != NULL;
}

static int64_t part_rank(char shape) {
    return shape == 'M' ? 2 : shape == 'V';
}

/* Batches agree, and sizes are what the routine works on. */
static bool fits(const ir_op *op, const struct routine *r, int64_t *out_batch) {
    const char *p = r->shapes, *results = strchr(r->shapes, '>') + 1;
    size_t n_in = (size_t)(results - 1 - p), n_out = strlen(results);
    if (op->n_in != n_in || op->n_out != n_out) return false;
    const ir_type *a = op->in[0]->type;
    if (a->kind != IR_TENSOR || a->rank < 2) return false;
    *out_batch = 1;
    for (uint32_t d = 0; d + 2 < a->rank; d++) *out_batch *= a->dims[d];
    int64_t m = a->dims[a->rank - 2], n = a->dims[a->rank - 1], least = m < n ? m : n;
    for (size_t i = 0; i < n_in + n_out; i++) {
        char shape = i < n_in ? p[i] : results[i - n_in];
        const ir_type *t = i < n_in ? op->in[i]->type : op->out[i - n_in].type;
        if (t->kind != IR_TENSOR || t->rank != a->rank - 2 + (uint32_t)part_rank(shape)) return false;
        for (uint32_t d = 0; d + 2 < a->rank; d++)
            if (t->dims[d] != a->dims[d]) return false;
    }
#define DIM(t, back) ((t)->dims[(t)->rank - (back)])
    const ir_type *first = op->out[0].type;
    if (r->run == run_potrf || r->run == run_syevd || r->run == run_trsm) {
        if (m != n) return false;
    }
    if (r->run == run_trsm) {
        const ir_type *b = op->in[1]->type;
        return b == first && (interp_lapack_option(op, "side", 'L') == 'R' ? DIM(b, 1) : DIM(b, 2)) == n;
    }
    if (r->run == run_orgqr) {
        int64_t k = DIM(op->in[1]->type, 1);
        return DIM(first, 2) == m && DIM(first, 1) >= k && k <= least;
    }
    if (DIM(first, 2) != m || DIM(first, 1) != n) return false;
    if (r->run == run_potrf) return true;
    if (DIM(op->out[1].type, 1) != least) return false;
    if (*r->name == 'L') return DIM(op->out[2].type, 1) == m;
    return r->run != run_gesdd || DIM(op->out[2].type, 2) != m || DIM(op->out[3].type, 1) != n ||
           (DIM(op->out[2].type, 1) >= least && DIM(op->out[2].type, 1) <= m && DIM(op->out[3].type, 2) >= least &&
            DIM(op->out[3].type, 2) <= n);
}

static matrix part(const ir_type *t, char shape, cplx *all, int64_t k) {
    matrix x = {all, 1, 1};
    if (shape == 'M') x.m = DIM(t, 2);
    if (shape != 'I') x.n = DIM(t, 1);
    x.a += k * x.m * x.n;
    return x;
}

const char *interp_lapack_routine(const ir_op *op, int64_t *out_batch) {
    const char *target = ir_get_string(op, IR_A_call_target_name);
    const struct routine *r = target ? routine_of(target) : NULL;
    return r && fits(op, r, out_batch) ? r->name : NULL;
}

xt_status interp_lapack(interp *ctx, const ir_op *op, const array *in, array *out) {
    const struct routine *r = routine_of(ir_get_string(op, IR_A_call_target_name));
    int64_t batch;
    (void)ctx;
    if (!fits(op, r, &batch)) return interp_unsupported(op, "operands and results of these shapes");
    const char *results = strchr(r->shapes, '>') + 1;
    const ir_type *a = op->in[0]->type;
    int64_t m = DIM(a, 2), n = DIM(a, 1), big = m > n ? m : n;
    cplx *data[7] = {0}, *scratch = NULL;
    xt_status s = interp_temp((size_t)(big + 1) * (size_t)(big + 2) * 4, sizeof *scratch, &scratch);
    for (uint32_t i = 0; !s && i < op->n_in + op->n_out; i++) {
        const ir_type *t = i < op->n_in ? op->in[i]->type : op->out[i - op->n_in].type;
        s = interp_temp((size_t)t->count + 1, sizeof **data, &data[i]);
        if (!s && i < op->n_in) convert_elems(t->count, t->dtype, in[i].data, XT_C128, data[i]);
        if (!s && i >= op->n_in) memset(data[i], 0, ((size_t)t->count + 1) * sizeof **data);
    }
    for (int64_t k = 0; !s && k < batch && m && n; k++) {
        call c = {.op = op, .scratch = scratch};
        for (uint32_t i = 0; i < op->n_in; i++) c.in[i] = part(op->in[i]->type, r->shapes[i], data[i], k);
        for (uint32_t i = 0; i < op->n_out; i++) c.out[i] = part(op->out[i].type, results[i], data[op->n_in + i], k);
        r->run(&c);
        if (results[op->n_out - 1] == 'I') *c.out[op->n_out - 1].a = c.info;
    }
    for (uint32_t i = 0; !s && i < op->n_out; i++)
        convert_elems(op->out[i].type->count, XT_C128, data[op->n_in + i], op->out[i].type->dtype, out[i].data);
    for (size_t i = 0; i < BASE_COUNT(data); i++) base_free(data[i]);
    base_free(scratch);
    return s;
}
