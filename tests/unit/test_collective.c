/* The public collectives on 4 ranks: values of every kind, group and dtype against a host reference, gradients against
 * central differences of that reference, the same by host calls, what one rank gives, and what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <xtrain/xtrain.h>

#include "base/base.h"

#include "launched.h"

enum { RANKS = 4, ROWS = 4, COLS = 8, N = ROWS * COLS, MOST = N * RANKS };
#define CHECK(cond)                                                                \
    do {                                                                           \
        if (!(cond)) {                                                             \
            fprintf(stderr, "rank %d, line %d: %s\n", xt_rank(), __LINE__, #cond); \
            _exit(99);                                                             \
        }                                                                          \
    } while (0)

typedef enum kind { REDUCE, GATHER, SCATTER, EXCHANGE, PERMUTE, BROADCAST } kind;
typedef struct row {
    kind kind;
    xt_reduce op;
    const char *groups; /* "" = all */
    int dim, concat, root;
    const char *pairs;
    int shift;
} row;
static const row rows[] = {
    {.kind = REDUCE, .op = XT_SUM},
    {.kind = REDUCE, .op = XT_MEAN},
    {.kind = REDUCE, .op = XT_MIN},
    {.kind = REDUCE, .op = XT_MAX},
    {.kind = REDUCE, .op = XT_PRODUCT},
    {.kind = REDUCE, .op = XT_SUM, .groups = "0,2;1,3"},
    {.kind = REDUCE, .op = XT_PRODUCT, .groups = "3,0;1,2"},
    {.kind = REDUCE, .op = XT_MEAN, .groups = "0;1;2;3"},
    {.kind = GATHER, .dim = 0},
    {.kind = GATHER, .dim = 1},
    {.kind = GATHER, .dim = 1, .groups = "2,0;3,1"},
    {.kind = SCATTER, .op = XT_SUM, .dim = 0},
    {.kind = SCATTER, .op = XT_MEAN, .dim = 1},
    {.kind = SCATTER, .op = XT_MAX, .dim = 1, .groups = "0,1;2,3"},
    {.kind = SCATTER, .op = XT_PRODUCT, .dim = 0},
    {.kind = EXCHANGE, .dim = 0, .concat = 1},
    {.kind = EXCHANGE, .dim = 1, .concat = 1, .groups = "0,3;1,2"},
    {.kind = PERMUTE, .pairs = "0>1;1>3;2>0"},
    {.kind = PERMUTE, .shift = 1},
    {.kind = PERMUTE, .shift = -1, .groups = "0,1;2,3"},
    {.kind = BROADCAST, .root = 2},
    {.kind = BROADCAST, .root = 1, .groups = "0,2;1,3"},
};

/* --- the reference --- */
/* The group of `rank`, and its place. */
static int group_of(const row *w, int rank, int *members, int *place) {
    int n = 0;
    const char *p = w->groups ? w->groups : "0,1,2,3";
    for (;; p++) {
        int r = *p++ - '0';
        if (r == rank) *place = n;
        members[n++] = r;
        if (*p == ',') continue;
        for (int i = 0; i < n; i++)
            if (members[i] == rank) return n;
        n = 0;
    }
}

static double combine(xt_reduce op, double a, double b) {
    switch (op) {
    case XT_MIN: return a < b ? a : b;
    case XT_MAX: return a > b ? a : b;
    case XT_PRODUCT: return a * b;
    default: return a + b;
    }
}

/* What rank gets; rows and cols are its shape. */
static void expect(const row *w, double x[RANKS][N], int rank, double *y, int *rows_out, int *cols_out) {
    int m[RANKS], place = 0, n = group_of(w, rank, m, &place), R = ROWS
    , C = COLS;
    double all[N];
    if (w->kind == REDUCE || w->kind == SCATTER)
        for (int i = 0; i < N; i++) {
            all[i] = x[m[0]][i];
            for (int k = 1; k < n; k++) all[i] = combine(w->op, all[i], x[m[k]][i]);
            if (w->op == XT_MEAN) all[i] /= n;
        }
    if (w->kind == GATHER) *(w->dim ? &C : &R) *= n;
    if (w->kind == SCATTER) *(w->dim ? &C : &R) /= n;
    if (w->kind == EXCHANGE) {
        *(w->dim ? &C : &R) /= n;
        *(w->concat ? &C : &R) *= n;
    }
    int pieceR = ROWS
    / (w->kind == EXCHANGE && w->dim == 0 ? n : 1), pieceC = COLS / (w->kind == EXCHANGE && w->dim == 1 ? n : 1);
    for (int r = 0; r < R; r++)
        for (int c = 0; c < C; c++) {
            double v = 0;
            switch (w->kind) {
            case REDUCE: v = all[r * COLS + c]; break;
            case GATHER: v = w->dim ? x[m[c / COLS]][r * COLS + c % COLS] : x[m[r / ROWS]][r % ROWS * COLS + c]; break;
            case SCATTER: v = all[(w->dim ? r : r + place * R) * COLS + (w->dim ? c + place * C : c)]; break;
            case EXCHANGE: {
                int from = w->concat ? c / pieceC : r / pieceR, pr = w->concat ? r : r % pieceR,
                    pc = w->concat ? c % pieceC : c;
                v = x[m[from]][(w->dim ? pr : pr + place * pieceR) * COLS + (w->dim ? pc + place * pieceC : pc)];
                break;
            }
            case BROADCAST: v = x[m[w->root]][r * COLS + c]; break;
            case PERMUTE:
                if (w->shift)
                    v = x[m[((place - w->shift) % n + n) % n]][r * COLS + c];
                else
                    for (const char *p = w->pairs; *p; p += p[3] ? 4 : 3)
                        if (p[2] - '0' == rank) v = x[p[0] - '0'][r * COLS + c];
                break;
            }
            y[r * C + c] = v;
        }
    *rows_out = R;
    *cols_out = C;
}

static double weight(int rank, int i) {
    return 0.25 + 0.5 * ((rank * 7 + i * 3) % 5);
}
static double total_loss(const row *w, double x[RANKS][N]) {
    double sum = 0, y[MOST];
    for (int r = 0; r < RANKS; r++) {
        int R, C;
        expect(w, x, r, y, &R, &C);
        for (int i = 0; i < R * C; i++) sum += weight(r, i) * y[i] * y[i];
    }
    return sum;
}

static xt_tensor record(const row *w, xt_tensor x) {
    switch (w->kind) {
    case REDUCE: return xt_all_reduce(x, .op = w->op, .groups = w->groups);
    case GATHER: return xt_all_gather(x, w->dim, .groups = w->groups);
    case SCATTER: return xt_reduce_scatter(x, w->dim, .op = w->op, .groups = w->groups);
    case EXCHANGE: return xt_all_to_all(x, w->dim, w->concat, .groups = w->groups);
    case PERMUTE: return xt_collective_permute(x, .pairs = w->pairs, .shift = w->shift, .groups = w->groups);
    default: return xt_broadcast(x, .root = w->root, .groups = w->groups);
    }
}

static void inputs(double x[RANKS][N]) {
    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < N; i++) x[r][i] = 0.5 + 0.125 * ((r * 13 + i * 7) % 17);
}

static int values_and_gradients(int rank, void *arg) {
    static double x[RANKS][N], y[MOST];
    (void)arg;
    for (size_t k = 0; k < BASE_COUNT(rows); k++) {
        const row *w = &rows[k];
        double got[MOST], d[N], c[MOST];
        int R, C;
        inputs(x);
        if (w->op == XT_PRODUCT) { /* one zero among the members, and two */
            x[1][3] = 0;
            x[0][5] = x[3][5] = 0;
        }
        expect(w, x, rank, y, &R, &C);
        xt_tensor t = xt_from_data(x[rank], XT_F64, 2, ((int64_t[]) {
                                       ROWS
                                       , COLS
                                   }));
        xt_requires_grad(t, true);
        xt_tensor out = record(w, t);
        CHECK(xt_dim(out, 0) == R && xt_dim(out, 1) == C);
        for (int i = 0; i < R * C; i++) c[i] = weight(rank, i);
        xt_backward(xt_sum(xt_mul(xt_from_data(c, XT_F64, 2, ((int64_t[]){R, C})), xt_square(out))));
        xt_tensor g = xt_keep(xt_grad(t));
        xt_keep(out);
        CHECK(xt_read(out, got, sizeof(double) * (size_t)(R * C)));
        CHECK(xt_read(g, d, sizeof d));
        for (int i = 0; i < R * C; i++)
            if (!(fabs(got[i] - y[i]) <= 1e-12 * (1 + fabs(y[i])))) {
                fprintf(stderr, "rank %d, row %zu, element %d: %.17g, expected %.17g\n", rank, k, i, got[i], y[i]);
                _exit(98);
            }
        for (int i = 0; i < N; i++) {
            bool tie = false;
            for (int r = 0; r < RANKS; r++) tie |= r != rank && x[r][i] == x[rank][i];
            /* there a one-sided difference differs from the other */
            if (tie && (w->op == XT_MIN || w->op == XT_MAX)) continue;
            double was = x[rank][i], h = 1e-5, up, down;
            x[rank][i] = was + h;
            up = total_loss(w, x);
            x[rank][i] = was - h;
            down = total_loss(w, x);
            x[rank][i] = was;
            double want = (up - down) / (2 * h);
            if (!(fabs(d[i] - want) <= 1e-6 * (1 + fabs(want)))) {
                fprintf(stderr, "rank %d, row %zu, gradient %d: %.12g, differences give %.12g\n", rank, k, i, d[i],
                        want);
                _exit(97);
            }
        }
        xt_drop(out);
        xt_drop(g);
        xt_mark_step();
    }
    return xt_finish();
}

/* --- dtypes: small whole numbers, exact in all of them --- */
static const xt_dtype dtypes[] = {XT_BOOL, XT_I8,  XT_I16, XT_I32,  XT_I64, XT_U8, XT_U16,
                                  XT_U32,  XT_U64, XT_F16, XT_BF16, XT_F32, XT_F64};
static const xt_reduce ops[] = {XT_SUM, XT_MIN, XT_MAX, XT_PRODUCT, XT_AND, XT_OR};

static bool whole(xt_dtype t) {
    return t != XT_F16 && t != XT_BF16 && t != XT_F32 && t != XT_F64;
}
static int number(int rank, int i, bool truth) {
    return truth ? (rank + i) % 3 == 0 : 1 + (rank * 3 + i * 5) % 3;
}

static double reduced(xt_reduce op, xt_dtype t, const int *m, int n, int i) {
    bool truth = t == XT_BOOL;
    long v = number(m[0], i, truth);
    for (int k = 1; k < n; k++) {
        long u = number(m[k], i, truth);
        v = op == XT_AND       ? v & u
            : op == XT_OR      ? v | u
            : op == XT_MIN     ? (u < v ? u : v)
            : op == XT_MAX     ? (u > v ? u : v)
            : op == XT_PRODUCT ? v * u
            : truth            ? v | u
                               : v + u;
    }
    return (double)v;
}

static int all_dtypes(int rank, void *arg) {
    (void)arg;
    for (size_t a = 0; a < BASE_COUNT(dtypes); a++)
        for (size_t b = 0; b < BASE_COUNT(ops); b++)
            for (int grouped = 0; grouped < 2; grouped++) {
                xt_dtype t = dtypes[a];
                if ((ops[b] == XT_AND || ops[b] == XT_OR) && !whole(t)) continue;
                float in[12];
                double got[12], part[3];
                int all[] = {0, 1, 2, 3}, pair[] = {rank % 2, rank % 2 + 2}, n = grouped ? 2 : 4,
                    place = grouped ? rank / 2 : rank;
                const int *m = grouped ? pair : all;
                for (int i = 0; i < 12; i++) in[i] = (float)number(rank, i, t == XT_BOOL);
                xt_tensor x = xt_cast(xt_from_data(in, XT_F32, 1, (int64_t[]){12}), t);
                xt_tensor y =
                    xt_keep(xt_cast(xt_all_reduce(x, .op = ops[b], .groups = grouped ? "0,2;1,3" : NULL), XT_F64));
                xt_tensor z = xt_keep(
                    xt_cast(xt_reduce_scatter(x, 0, .op = ops[b], .groups = grouped ? "0,2;1,3" : NULL), XT_F64));
                CHECK(xt_read(y, got, sizeof got));
                for (int i = 0; i < 12; i++)
                    if (got[i] != reduced(ops[b], t, m, n, i)) {
                        fprintf(stderr, "%s, op %zu: %g, expected %g\n", xt_dtype_name(t), b, got[i],
                                reduced(ops[b], t, m, n, i));
                        _exit(96);
                    }
                double parts[12];
                CHECK(xt_read(z, grouped ? parts : part, sizeof(double) * (size_t)(12 / n)));
                for (int i = 0; i < 12 / n; i++)
                    CHECK((grouped ? parts : part)[i] == reduced(ops[b], t, m, n, place * (12 / n) + i));
                xt_drop(y);
                xt_drop(z);
                xt_mark_step();
            }
    return xt_finish();
}

/* --- on the host --- */
static int on_host(int rank, void *arg) {
    static double x[RANKS][N], y[MOST];
    (void)arg;
    for (size_t k = 0; k < BASE_COUNT(rows); k++) {
        const row *w = &rows[k];
        double got[MOST];
        int R, C, m[RANKS], place, n = group_of(w, rank, m, &place);
        if (w->dim || w->concat) continue; /* bytes have no dims */
        inputs(x);
        expect(w, x, rank, y, &R, &C);
        memcpy(got, x[rank], sizeof x[rank]);
        xt_status s = NULL;
        switch (w->kind) {
        case REDUCE: s = xt_host_all_reduce(got, XT_F64, N, .op = w->op, .groups = w->groups); break;
        case GATHER: s = xt_host_all_gather(x[rank], sizeof x[rank], got, .groups = w->groups); break;
        case SCATTER:
            s = xt_host_reduce_scatter(x[rank], XT_F64, (size_t)(N / n), got, .op = w->op, .groups = w->groups);
            break;
        case PERMUTE:
            s = xt_host_permute(x[rank], sizeof x[rank], got, .pairs = w->pairs, .shift = w->shift,
                                .groups = w->groups);
            break;
        case BROADCAST: s = xt_host_broadcast(got, sizeof x[rank], .root = w->root, .groups = w->groups); break;
        default: continue;
        }
        if (s) fprintf(stderr, "%s\n", xt_status_message(s));
        CHECK(!s);
        for (int i = 0; i < R * C; i++) CHECK(fabs(got[i] - y[i]) < 1e-12);
    }
    for (int grouped = 0; grouped < 2; grouped++) {
        int to_all[RANKS], from_all[RANKS], n = grouped ? 2 : 4;
        for (int i = 0; i < n; i++) to_all[i] = rank * 10 + i;
        CHECK(!xt_host_all_to_all(to_all, sizeof(int), from_all, .group_size = grouped ? 2 : 0));
        for (int i = 0; i < n; i++)
            CHECK(from_all[i] == (grouped ? rank / 2 * 2 + i : i) * 10 + (grouped ? rank % 2 : rank));
    }
    uint16_t half[3] = {0x3f80, 0x4000, 0x4040}; /* bf16 1, 2, 3 */
    CHECK(!xt_host_all_reduce(half, XT_BF16, 3, .op = XT_MEAN) && half[0] == 0x3f80 && half[1] == 0x4000 &&
          half[2] == 0x4040);
    return xt_finish();
}

/* --- mistakes --- */
static void listen(xt_severity sev, const char *text, size_t n, void *user) {
    (void)sev, (void)text, (void)n, (void)user;
}
static void refused(const char *part) {
    xt_status s = xt_error();
    if (!s || !strstr(xt_status_message(s), part) || !strstr(xt_status_message(s), "test_collective.c:")) {
        fprintf(stderr, "expected \"%s\", got \"%s\"\n", part, s ? xt_status_message(s) : "no error");
        _exit(95);
    }
    xt_clear_error();
}
static int mistakes(int rank, void *arg) {
    (void)arg, (void)rank;
    xt_set_sink(listen, NULL);
    xt_tensor x = xt_zeros(XT_F32, 3, 4), i = xt_zeros(XT_I32, 4);
    xt_all_reduce(x, .groups = "0,1;2");
    refused("one size");
    xt_all_reduce(x, .groups = "0,1,2");
    refused("rank 3 of 4 is in no group");
    xt_all_reduce(x, .groups = "0,1;2,4");
    refused("there is no rank 4");
    xt_all_reduce(x, .groups = "0,1;2,1");
    refused("rank 1 twice");
    xt_all_reduce(x, .groups = "0,1 2,3");
    refused("groups by ';'");
    xt_all_reduce(x, .group_size = 3);
    refused("4 ranks cannot be divided so");
    xt_all_reduce(i, .op = XT_MEAN);
    refused("a mean needs floats");
    xt_all_reduce(x, .op = XT_AND);
    refused("not defined");
    xt_all_reduce(x, .op = XT_LAST);
    refused("no reduction over ranks");
    xt_reduce_scatter(x, 0);
    refused("pad it to 4");
    xt_all_gather(x, 2);
    refused("xt_all_gather");
    xt_collective_permute(x);
    refused("who sends to whom");
    xt_collective_permute(x, .pairs = "0>1;2>1");
    refused("receives twice");
    xt_broadcast(x, .root = 4);
    refused("0 to 3");
    return xt_finish();
}

static int alone(int rank, void *arg) {
    (void)rank, (void)arg;
    float in[] = {1, 2, 3, 4}, out[4];
    xt_tensor x = xt_from_data(in, XT_F32, 1, (int64_t[]){4});
    xt_tensor y = xt_broadcast(
        xt_all_to_all(xt_reduce_scatter(xt_all_gather(xt_all_reduce(x, .op = XT_MEAN), 0), 0, .op = XT_PRODUCT), 0, 0));
    y = xt_keep(xt_collective_permute(y, .shift = 5));
    CHECK(xt_read(y, out, sizeof out) && memcmp(in, out, sizeof in) == 0);
    CHECK(!xt_host_all_reduce(out, XT_F32, 4, .op = XT_MEAN) && memcmp(in, out, sizeof in) == 0);
    const size_t no_size = (size_t)-7; /* a negative number that became a size */
    xt_status refused[] = {
        xt_host_all_gather(in, no_size, out),          xt_host_all_to_all(in, no_size, out),
        xt_host_permute(in, no_size, out, .shift = 1), xt_host_broadcast(in, no_size),
        xt_host_all_reduce(out, XT_F32, no_size),      xt_host_reduce_scatter(in, XT_F32, no_size, out)};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        CHECK(refused[i] && strstr(xt_status_message(refused[i]), "too many"));
        xt_status_free(refused[i]);
    }
    return xt_finish();
}

static void on_tensors(void **state) {
    (void)state;
    assert_int_equal(launched(RANKS, values_and_gradients, NULL), 0);
}
static void every_dtype(void **state) {
    (void)state;
    assert_int_equal(launched(RANKS, all_dtypes, NULL), 0);
}
static void host_calls(void **state) {
    (void)state;
    assert_int_equal(launched(RANKS, on_host, NULL), 0);
}
static void refusals(void **state) {
    (void)state;
    assert_int_equal(launched(RANKS, mistakes, NULL), 0);
}
static void one_rank(void **state) {
    (void)state;
    assert_int_equal(launched(1, alone, NULL), 0);
}

int main(void) {
    setenv("XT_SUMMARY", "off", 1);
    setenv("XT_CACHE", "off", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(on_tensors), cmocka_unit_test(every_dtype),
                                       cmocka_unit_test(host_calls), cmocka_unit_test(refusals),
                                       cmocka_unit_test(one_rank)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
