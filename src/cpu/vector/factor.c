/* See factor.h. The loops are those of LAPACK's potrf, getrf, geqrf and orgqr (Anderson et al., "LAPACK Users' Guide",
 * 3rd ed.; right-looking). A task is one block of the columns beside the one at hand, with everything that block has to
 * see. Below `LEAST` columns the meetings cost more than they bring. */
#include "cpu/vector/factor.h"

#include <pthread.h>

enum { LEAST = 320, BLOCK = 128, COLUMNS = 64, REFLECTORS = 32, LAST_REFLECTORS = 128 };

typedef void (*rank_fn)(const char *uplo, const char *trans, BLAS_IN n, BLAS_IN k, const void *alpha, const void *a,
                        BLAS_IN lda, const void *beta, void *c, BLAS_IN ldc);
typedef void (*laswp_fn)(BLAS_IN n, void *a, BLAS_IN lda, BLAS_IN from, BLAS_IN to, const blas_int *pivots,
                         BLAS_IN step);
typedef void (*larft_fn)(const char *direct, const char *stored, BLAS_IN n, BLAS_IN k, const void *v, BLAS_IN ldv,
                         const void *tau, void *t, BLAS_IN ldt);
typedef void (*larfb_fn)(const char *side, const char *trans, const char *direct, const char *stored, BLAS_IN m,
                         BLAS_IN n, BLAS_IN k, const void *v, BLAS_IN ldv, const void *t, BLAS_IN ldt, void *c,
                         BLAS_IN ldc, void *work, BLAS_IN ldwork);

typedef struct parts { /* of one type; potrf is cut where `rank` is there, and so on */
    rank_fn rank;
    laswp_fn laswp;
    larft_fn larft;
    larfb_fn larfb;
} parts;
static parts found[BLAS_TYPES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_parts(void) {
    for (int t = 0; t < BLAS_TYPES; t++) {
        found[t].rank = (rank_fn)blas_routine((blas_type)t, t < BLAS_C ? "syrk" : "herk");
        found[t].laswp = (laswp_fn)blas_routine((blas_type)t, "laswp");
        found[t].larft = (larft_fn)blas_routine((blas_type)t, "larft");
        found[t].larfb = (larfb_fn)blas_routine((blas_type)t, "larfb");
    }
}
static const parts *parts_of(blas_type t) {
    pthread_once(&once, find_parts);
    return &found[t];
}

typedef struct step { /* columns [from, from + width) are done; what they mean for those from `first` to n */
    const factor_matrix *f;
    const parts *p;
    int64_t from, width, first, columns; /* columns: of one task */
    bool lower; /* potrf */
    const blas_int *pivots;
    const char *trans;
    const void *t; /* of the reflectors */
} step;

static size_t elem_of(blas_type t) {
    static const size_t bytes[] = {4, 8, 8, 16};
    return bytes[t];
}
static char *at(const factor_matrix *f, int64_t i, int64_t j) {
    return f->a + (size_t)(j * f->m + i) * elem_of(f->kind);
}
static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}
static const void *minus_one(blas_type t) {
    static const float f[2] = {-1, 0};
    static const double d[2] = {-1, 0};
    return t == BLAS_S || t == BLAS_C ? (const void *)f : (const void *)d;
}
static int64_t block_of(const factor_matrix *f) {
    return smaller(f->m, f->n) >= 2048 ? 2 * BLOCK : BLOCK;
}

static void over_columns(step *s, int64_t count, team_fn fn) {
    s->columns = count >= 1024 ? 2 * COLUMNS : COLUMNS;
    team_for_alone(s->f->team, &blas_library, (count + s->columns - 1) / s->columns, 1, fn, s);
}

/* c -= a b, m x n; a and b are turned over where told. */
static void subtract(const factor_matrix *f, const char *ta, const char *tb, int64_t m, int64_t n, int64_t k,
                     const char *a, const char *b, char *c) {
    blas_int rows = (blas_int)m, columns = (blas_int)n, depth = (blas_int)k, ld = (blas_int)f->m;
    blas_get()->gemm[f->kind](ta, tb, &rows, &columns, &depth, minus_one(f->kind), a, &ld, b, &ld,
                              blas_number(f->kind, true), c, &ld);
}
static void solve(const factor_matrix *f, const char *side, const char *uplo, const char *trans, const char *diag,
                  int64_t m, int64_t n, int64_t from, char *b) {
    blas_int rows = (blas_int)m, columns = (blas_int)n, ld = (blas_int)f->m;
    blas_get()->trsm[f->kind](side, uplo, trans, diag, &rows, &columns, blas_number(f->kind, true), at(f, from, from),
                              &ld, b, &ld);
}

/* --- Cholesky --- */
/* The block's rows below it, or its columns beside it. */
static void potrf_solve(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const step *s = ctx;
    const factor_matrix *f = s->f;
    for (int64_t q = begin; q < end; q++) {
        int64_t i = s->first + q * s->columns, n = smaller(s->columns, f->n - i);
        if (s->lower)
            solve(f, "R", "L", "C", "N", n, s->width, s->from, at(f, i, s->from));
        else
            solve(f, "L", "U", "C", "N", s->width, n, s->from, at(f, s->from, i));
    }
}
static void potrf_update(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const step *s = ctx;
    const factor_matrix *f = s->f;
    for (int64_t q = begin; q < end; q++) {
        int64_t j = s->first + q * s->columns, n = smaller(s->columns, f->n - j), below = f->n - j - n;
        blas_int size = (blas_int)n, k = (blas_int)s->width, ld = (blas_int)f->m;
        const char *mine = s->lower ? at(f, j, s->from) : at(f, s->from, j);
        s->p->rank(s->lower ? "L" : "U", s->lower ? "N" : "C", &size, &k, minus_one(f->kind), mine, &ld,
                   blas_number(f->kind, true), at(f, j, j), &ld);
        if (s->lower && below)
            subtract(f, "N", "C", below, n, s->width, at(f, j + n, s->from), mine, at(f, j + n, j));
        else if (!s->lower && j > s->first)
            subtract(f, "C", "N", j - s->first, n, s->width, at(f, s->from, s->first), mine, at(f, s->first, j));
    }
}

blas_int factor_potrf(const factor_matrix *f, bool lower) {
    const parts *p = parts_of(f->kind);
    int64_t block = f->n < LEAST || !p->rank ? f->n : block_of(f);
    blas_int ld = (blas_int)f->m, info = 0;
    for (int64_t j = 0; j < f->n; j += block) {
        step s = {.f = f, .p = p, .from = j, .width = smaller(block, f->n - j), .lower = lower};
        blas_int n = (blas_int)s.width;
        s.first = j + s.width;
        blas_get()->potrf[f->kind](lower ? "L" : "U", &n, at(f, j, j), &ld, &info);
        if (info) return info > 0 ? (blas_int)j + info : info;
        if (s.first == f->n) break;
        over_columns(&s, f->n - s.first, potrf_solve);
        over_columns(&s, f->n - s.first, potrf_update);
    }
    return 0;
}

/* --- LU --- */
/* Columns to the left of the block see its exchanges of rows, those to the right all of it. */
static void getrf_update(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const step *s = ctx;
    const factor_matrix *f = s->f;
    for (int64_t q = begin; q < end; q++) {
        int64_t right = (f->n - s->first + s->columns - 1) / s->columns; /* these come first: they take longer */
        bool left = q >= right;
        int64_t j = left ? (q - right) * s->columns : s->first + q * s->columns,
                n = smaller(s->columns, (left ? s->from : f->n) - j);
        blas_int columns = (blas_int)n, ld = (blas_int)f->m, from = (blas_int)s->from + 1,
                 to = (blas_int)(s->from + s->width), by = 1;
        s->p->laswp(&columns, at(f, 0, j), &ld, &from, &to, s->pivots, &by);
        if (left) continue;
        solve(f, "L", "L", "N", "U", s->width, n, s->from, at(f, s->from, j));
        int64_t below = f->m - s->from - s->width;
        if (below)
            subtract(f, "N", "N", below, n, s->width, at(f, s->from + s->width, s->from), at(f, s->from, j),
                     at(f, s->from + s->width, j));
    }
}

blas_int factor_getrf(const factor_matrix *f, blas_int *pivots) {
    const parts *p = parts_of(f->kind);
    int64_t least = smaller(f->m, f->n), block = block_of(f);
    blas_int ld = (blas_int)f->m, info = 0, first_zero = 0;
    if (least < LEAST || !p->laswp) {
        blas_int n = (blas_int)f->n;
        blas_get()->getrf[f->kind](&ld, &n, f->a, &ld, pivots, &info);
        return info;
    }
    for (int64_t j = 0; j < least; j += block) {
        step s = {.f = f,
                  .p = p,
                  .from = j,
                  .width = smaller(block, least - j),
                  .pivots = pivots,
                  .columns = f->n >= 1024 ? 2 * COLUMNS : COLUMNS};
        blas_int m = (blas_int)(f->m - j), n = (blas_int)s.width;
        s.first = j + s.width;
        blas_get()->getrf[f->kind](&m, &n, at(f, j, j), &ld, pivots + j, &info);
        if (info > 0 && !first_zero) first_zero = (blas_int)j + info;
        for (int64_t i = 0; i < s.width; i++) pivots[j + i] += (blas_int)j;
        int64_t right = (f->n - s.first + s.columns - 1) / s.columns, left = (j + s.columns - 1) / s.columns;
        if (right + left) team_for_alone(f->team, &blas_library, right + left, 1, getrf_update, &s);
    }
    return first_zero;
}

/* --- QR --- */
typedef struct wide { /* room for an element of any type */
    double part[2];
} wide;

static void reflect(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const step *s = ctx;
    const factor_matrix *f = s->f;
    wide work[2 * COLUMNS * REFLECTORS];
    blas_int m = (blas_int)(f->m - s->from), k = (blas_int)s->width, ld = (blas_int)f->m, ldt = REFLECTORS;
    for (int64_t q = begin; q < end; q++) {
        int64_t j = s->first + q * s->columns;
        blas_int n = (blas_int)smaller(s->columns, f->n - j);
        s->p->larfb("L", s->trans, "F", "C", &m, &n, &k, at(f, s->from, s->from), &ld, s->t, &ldt, at(f, s->from, j),
                    &ld, work, &n);
    }
}
/* The reflectors in columns [from, from + width) on all columns to their right. */
static void reflect_columns(const factor_matrix *f, const parts *p, int64_t from, int64_t width, const char *tau,
                            const char *trans) {
    wide t[REFLECTORS * REFLECTORS];
    step s = {.f = f, .p = p, .from = from, .width = width, .first = from + width, .trans = trans, .t = t};
    blas_int m = (blas_int)(f->m - from), k = (blas_int)width, ld = (blas_int)f->m, ldt = REFLECTORS;
    if (s.first >= f->n) return;
    p->larft("F", "C", &m, &k, at(f, from, from), &ld, tau + (size_t)from * elem_of(f->kind), t, &ldt);
    over_columns(&s, f->n - s.first, reflect);
}

void factor_geqrf(const factor_matrix *f, char *tau, void *work, blas_int lwork) {
    const parts *p = parts_of(f->kind);
    int64_t least = smaller(f->m, f->n), block = least < LEAST || !p->larft || !p->larfb ? f->n : REFLECTORS;
    blas_int ld = (blas_int)f->m, info = 0;
    for (int64_t j = 0; j < least; j += block) {
        int64_t width = smaller(block, (block == f->n ? f->n : least) - j);
        blas_int m = (blas_int)(f->m - j), n = (blas_int)width;
        blas_get()->geqrf[f->kind](&m, &n, at(f, j, j), &ld, tau + (size_t)j * elem_of(f->kind), work, &lwork, &info);
        if (block == REFLECTORS) reflect_columns(f, p, j, width, tau, f->kind < BLAS_C ? "T" : "C");
    }
}

static void zero(const factor_matrix *f, int64_t rows, int64_t from, int64_t to) {
    for (int64_t j = from; j < to; j++) memset(at(f, 0, j), 0, (size_t)rows * elem_of(f->kind));
}
void factor_orgqr(const factor_matrix *f, int64_t k, const char *tau, void *work, blas_int lwork) {
    const parts *p = parts_of(f->kind);
    bool cut = k >= LEAST && p->larft && p->larfb;
    int64_t last = cut ? (k - LAST_REFLECTORS - 1) / REFLECTORS * REFLECTORS : -REFLECTORS,
            rest = last + REFLECTORS; /* the block of the last reflectors is one call */
    blas_int ld = (blas_int)f->m, info = 0;
    if (cut) zero(f, rest, rest, f->n);
    if (rest < f->n) {
        blas_int m = (blas_int)(f->m - rest), n = (blas_int)(f->n - rest), t = (blas_int)(k - rest);
        blas_get()->orgqr[f->kind](&m, &n, &t, at(f, rest, rest), &ld, tau + (size_t)rest * elem_of(f->kind), work,
                                   &lwork, &info);
    }
    for (int64_t j = last; j >= 0; j -= REFLECTORS) {
        blas_int m = (blas_int)(f->m - j), n = REFLECTORS;
        reflect_columns(f, p, j, REFLECTORS, tau, "N");
        blas_get()->orgqr[f->kind](&m, &n, &n, at(f, j, j), &ld, tau + (size_t)j * elem_of(f->kind), work, &lwork,
                                   &info);
        zero(f, j, j, j + REFLECTORS);
    }
}
