/* all_reduce and its fellows: every dtype, operation, size (odd ones, one per chunk edge) and 1 to 4 ranks against a
 * fold written here the plain way; equal bits on all ranks; calls that differ between ranks are errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "ranks.h"

static uint64_t bits_of(int rank, size_t i) {
    uint64_t x = (uint64_t)rank * 0x9e3779b97f4a7c15u + i * 0xbf58476d1ce4e5b9u + 12345;
    x ^= x >> 31;
    x *= 0x94d049bb133111ebu;
    return x ^ (x >> 29);
}

/* --- independent arithmetic: everything by way of double or 64-bit integers, element by element --- */

static float half_value(uint16_t h) {
    int e = (h >> 10) & 31, m = h & 1023;
    float v = e == 0 ? ldexpf((float)m, -24) : e == 31 ? (m ? NAN : INFINITY) : ldexpf((float)(m + 1024), e - 25);
    return h & 0x8000 ? -v : v;
}

static float bf16_value(uint16_t b) {
    uint32_t u = (uint32_t)b << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}

static float f32_at(xt_dtype t, const char *p) {
    uint16_t h;
    float f;
    if (t == XT_F32) {
        memcpy(&f, p, 4);
        return f;
    }
    memcpy(&h, p, 2);
    return t == XT_F16 ? half_value(h) : bf16_value(h);
}

static double fold_one(coll_op op, double a, double b, bool single) {
    double r = op == COLL_SUM         ? a + b
               : op == COLL_PROD      ? a * b
               : isnan(a) || isnan(b) ? NAN
               : op == COLL_MIN       ? fmin(a, b)
                                      : fmax(a, b);
    return single ? (double)(float)r : r;
}

static bool is_float(xt_dtype t) {
    return t == XT_F16 || t == XT_BF16 || t == XT_F32 || t == XT_F64;
}
static bool is_signed(xt_dtype t) {
    return t == XT_I8 || t == XT_I16 || t == XT_I32 || t == XT_I64;
}

static uint64_t int_at(xt_dtype t, const char *p) {
    size_t n = xt_dtype_size(t);
    uint64_t u = 0;
    memcpy(&u, p, n);
    if (is_signed(t) && n < 8 && (u >> (8 * n - 1))) u |= ~(uint64_t)0 << (8 * n);
    return u;
}

static uint64_t fold_int(xt_dtype t, coll_op op, uint64_t a, uint64_t b) {
    bool less = is_signed(t) ? (int64_t)b < (int64_t)a : b < a;
    switch (op) {
    case COLL_SUM: return t == XT_BOOL ? (a | b) : a + b;
    case COLL_PROD: return a * b;
    case COLL_MIN: return less ? b : a;
    case COLL_MAX: return less ? a : b;
    case COLL_AND: return a & b;
    default: return a | b;
    }
}

/* A value that keeps sums and products finite in f16 too. */
static void make_element(xt_dtype t, int rank, size_t i, char *p) {
    uint64_t u = bits_of(rank, i);
    double v = (double)(int64_t)(u % 2001) / 1000.0 - 1.0;
    float f = (float)v;
    uint16_t h = (uint16_t)(u & 0xb3ff); /* |f16| < 1: exponent field below 13 */
    if (t == XT_F32)
        memcpy(p, &f, 4);
    else if (t == XT_F64)
        memcpy(p, &v, 8);
    else if (t == XT_F16)
        memcpy(p, &h, 2);
    else if (t == XT_BF16) {
        uint32_t w;
        memcpy(&w, &f, 4);
        h = (uint16_t)(w >> 16);
        memcpy(p, &h, 2);
    } else if (t == XT_BOOL)
        *p = (char)(u & 1);
    else
        memcpy(p, &u, xt_dtype_size(t));
}

static void check_element(xt_dtype t, coll_op op, int size, size_t i, const char *got) {
    char in[8];
    make_element(t, 0, i, in);
    if (!is_float(t)) {
        uint64_t acc = int_at(t, in);
        for (int r = 1; r < size; r++) {
            make_element(t, r, i, in);
            acc = fold_int(t, op, acc, int_at(t, in));
        }
        RANK_CHECK(memcmp(&acc, got, xt_dtype_size(t)) == 0);
        return;
    }
    double acc = 0, v = 0;
    for (int r = 0; r < size; r++) {
        make_element(t, r, i, in);
        if (t == XT_F64)
            memcpy(&v, in, 8);
        else
            v = f32_at(t, in);
        acc = r ? fold_one(op, acc, v, t != XT_F64) : v;
    }
    double g = 0;
    if (t == XT_F64)
        memcpy(&g, got, 8);
    else
        g = f32_at(t, got);
    if (t == XT_F32 || t == XT_F64)
        RANK_CHECK(g == acc);
    else
        /* half a unit in the last place */
        RANK_CHECK(fabs(g - acc) <= fabs(acc) * (t == XT_F16 ? 0x1p-11 : 0x1p-8) + 0x1p-25);
}

static const xt_dtype dtypes[] = {XT_BOOL, XT_I8,  XT_I16, XT_I32,  XT_I64, XT_U8, XT_U16,
                                  XT_U32,  XT_U64, XT_F16, XT_BF16, XT_F32, XT_F64};

static void reduce_case(coll_group *g, xt_dtype t, coll_op op, size_t count) {
    size_t elem = xt_dtype_size(t);
    char *data = malloc(count * elem + 1), *all = malloc((count * elem + 1) * (size_t)coll_size(g));
    for (size_t i = 0; i < count; i++) make_element(t, coll_rank(g), i, data + i * elem);
    data[count * elem] = 77; /* nothing behind the end is touched */
    RANK_OK(coll_all_reduce(g, op, t, data, count));
    RANK_CHECK(data[count * elem] == 77);
    for (size_t i = 0; i<count; i += count> 5000 ? 37 : 1) check_element(t, op, coll_size(g), i, data + i * elem);
    if (count) check_element(t, op, coll_size(g), count - 1, data + (count - 1) * elem);
    RANK_OK(coll_all_gather(g, data, count * elem, all));
    for (int r = 0; r < coll_size(g); r++) RANK_CHECK(memcmp(all + (size_t)r * count * elem, data, count * elem) == 0);
    free(data);
    free(all);
}

static void reduce_all(const char *name, int rank, int size, void *arg) {
    static const size_t counts[] = {0, 1, 3, 1023, 1025, 8193};
    coll_group *g;
    (void)arg;
    RANK_OK(coll_open(name, rank, size, 100, &g));
    for (size_t d = 0; d < BASE_COUNT(dtypes); d++)
        for (int op = COLL_SUM; op <= COLL_OR; op++) {
            if (op >= COLL_AND && is_float(dtypes[d])) continue;
            for (size_t c = 0; c < BASE_COUNT(counts); c++) reduce_case(g, dtypes[d], (coll_op)op, counts[c]);
        }
    reduce_case(g, XT_F32, COLL_SUM, 131072 * 3 + 7); /* more than three chunks of 512 KiB */
    reduce_case(g, XT_BF16, COLL_SUM, 262144 + 1);
    reduce_case(g, XT_F64, COLL_MAX, 65536 * 2);
    coll_close(g);
}

static void sizes_and_types(void **state) {
    (void)state;
    int codes[4];
    for (int size = 1; size <= 4; size++) {
        run_ranks(size, reduce_all, NULL, codes);
        for (int r = 0; r < size; r++) assert_int_equal(codes[r], 0);
    }
}

static void nan_and_refusals(const char *name, int rank, int size, void *arg) {
    coll_group *g;
    (void)arg;
    RANK_OK(coll_open(name, rank, size, 100, &g));
    float x[3] = {rank == 1 ? NAN : 1.0f, rank == 1 ? 5.0f : NAN, (float)rank};
    RANK_OK(coll_all_reduce(g, COLL_MAX, XT_F32, x, 3));
    RANK_CHECK(isnan(x[0]) && isnan(x[1]) && x[2] == (float)(size - 1));
    uint16_t big = 0x7bff; /* the largest f16: the sum of two is infinite, and rounding happens once */
    RANK_OK(coll_all_reduce(g, COLL_SUM, XT_F16, &big, 1));
    RANK_CHECK(big == 0x7c00);
    float c[2] = {1, -2};
    RANK_OK(coll_all_reduce(g, COLL_SUM, XT_C64, c, 1));
    RANK_CHECK(c[0] == (float)size && c[1] == -2.0f * (float)size);
    xt_status st = coll_all_reduce(g, COLL_AND, XT_F32, x, 3);
    RANK_CHECK(xt_status_code(st) == XT_INVALID_ARGUMENT && strstr(xt_status_message(st), "all_reduce(and) of f32"));
    xt_status_free(st);
    coll_close(g);
}

static void edge_values(void **state) {
    (void)state;
    int codes[3];
    run_ranks(3, nan_and_refusals, NULL, codes);
    for (int r = 0; r < 3; r++) assert_int_equal(codes[r], 0);
}

/* The f32 sum of values of very different size depends on the order; it must be by rank however the message is cut. */
static void order_body(const char *name, int rank, int size, void *arg) {
    coll_group *g;
    (void)arg;
    RANK_OK(coll_open(name, rank, size, 100, &g));
    for (size_t count = 1; count <= 400000; count = count * 13 + 1) {
        float *x = malloc(count * 4), *want = malloc(count * 4);
        for (size_t i = 0; i < count; i++) {
            x[i] = ldexpf((float)bits_of(rank, i), (int)(bits_of(rank, i + 7) % 60) - 90);
            want[i] = ldexpf((float)bits_of(0, i), (int)(bits_of(0, i + 7) % 60) - 90);
            for (int r = 1; r < size; r++) want[i] += ldexpf((float)bits_of(r, i), (int)(bits_of(r, i + 7) % 60) - 90);
        }
        RANK_OK(coll_all_reduce(g, COLL_SUM, XT_F32, x, count));
        RANK_CHECK(memcmp(x, want, count * 4) == 0);
        free(x);
        free(want);
    }
    coll_close(g);
}

static void rank_order(void **state) {
    (void)state;
    int codes[3];
    run_ranks(3, order_body, NULL, codes);
    for (int r = 0; r < 3; r++) assert_int_equal(codes[r], 0);
}

static void move_body(const char *name, int rank, int size, void *arg) {
    static const size_t sizes[] = {0, 1, 5, 4096, 600001, 1200000};
    coll_group *g;
    (void)arg;
    RANK_OK(coll_open(name, rank, size, 100, &g));
    for (size_t c = 0; c < BASE_COUNT(sizes); c++) {
        size_t n = sizes[c];
        char *src = malloc(n * (size_t)size + 1), *dst = malloc(n * (size_t)size + 1);
        for (int root = 0; root < size; root++) {
            for (size_t i = 0; i < n; i++) src[i] = (char)bits_of(rank + 100, i);
            RANK_OK(coll_broadcast(g, root, src, n));
            for (size_t i = 0; i < n; i++) RANK_CHECK(src[i] == (char)bits_of(root + 100, i));
        }
        for (int r = 0; r < size; r++)
            for (size_t i = 0; i < n; i++) src[(size_t)r * n + i] = (char)bits_of(rank * 16 + r, i);
        RANK_OK(coll_all_to_all(g, src, n, dst));
        for (int r = 0; r < size; r++)
            for (size_t i = 0; i < n; i++) RANK_CHECK(dst[(size_t)r * n + i] == (char)bits_of(r * 16 + rank, i));
        free(src);
        free(dst);
    }
    coll_close(g);
}

static void broadcast_and_all_to_all(void **state) {
    (void)state;
    int codes[3];
    run_ranks(3, move_body, NULL, codes);
    for (int r = 0; r < 3; r++) assert_int_equal(codes[r], 0);
}

static void differ_body(const char *name, int rank, int size, void *arg) {
    coll_group *g;
    float x[8] = {0};
    (void)arg;
    RANK_OK(coll_open(name, rank, size, 100, &g));
    coll_note(g, rank ? "b.c:7 loss" : "a.c:3 gradients");
    xt_status st = rank ? coll_all_reduce(g, COLL_SUM, XT_F32, x, 8) : coll_all_reduce(g, COLL_SUM, XT_F32, x, 7);
    RANK_CHECK(xt_status_code(st) == XT_FAILED_PRECONDITION);
    const char *text = xt_status_message(st);
    RANK_CHECK(strstr(text, "28 bytes") && strstr(text, "32 bytes") && strstr(text, "a.c:3") && strstr(text, "b.c:7"));
    xt_status_free(st);
    st = coll_barrier(g, 1, NULL); /* the group stays failed, at once */
    RANK_CHECK(st && strstr(xt_status_message(st), "failed before"));
    xt_status_free(st);
    coll_close(g);
}

static void differing_calls(void **state) {
    (void)state;
    int codes[2];
    run_ranks(2, differ_body, NULL, codes);
    assert_int_equal(codes[0], 0);
    assert_int_equal(codes[1], 0);
}

/* --- started now, finished later: several at once, in any state when another collective comes --- */
static void jobs_body(const char *name, int rank, int size, void *arg) {
    static const size_t counts[] = {3, 1000, 700001, 1, 20000};
    enum { JOBS = BASE_COUNT(counts) };
    coll_group *g;
    coll_job jobs[JOBS];
    float *data[JOBS];
    int all[8];
    (void)arg;
    RANK_OK(coll_open(name, rank, size, 20, &g));
    for (int turn = 0; turn < 4; turn++) {
        for (int k = 0; k < JOBS; k++) {
            data[k] = malloc(counts[k] * sizeof **data);
            for (size_t i = 0; i < counts[k]; i++) data[k][i] = (float)((i + (size_t)k) % 97) + (float)rank;
            if (rank == turn) usleep(2000);
            RANK_OK(coll_start(g, COLL_SUM, XT_F32, data[k], counts[k], &jobs[k]));
            RANK_OK(coll_poll(g));
        }
        if (turn == 1) RANK_OK(coll_finish(g, &jobs[2]));
        if (turn >= 2) { /* comes after all of them */
            RANK_OK(coll_all_gather(g, &rank, sizeof rank, all));
            for (int r = 0; r < size; r++) RANK_CHECK(all[r] == r);
            for (int k = 0; k < JOBS; k++) RANK_CHECK(jobs[k].done);
        }
        for (int k = JOBS - 1; k >= 0; k--) RANK_OK(coll_finish(g, &jobs[k]));
        for (int k = 0; k < JOBS; k++) {
            for (size_t i = 0; i < counts[k]; i++)
                RANK_CHECK(data[k][i] == (float)(size * (int)((i + (size_t)k) % 97) + size * (size - 1) / 2));
            free(data[k]);
        }
    }
    coll_close(g);
}

static void in_two_halves(void **state) {
    (void)state;
    int codes[4];
    for (int n = 1; n <= 4; n++) {
        run_ranks(n, jobs_body, NULL, codes);
        for (int r = 0; r < n; r++) assert_int_equal(codes[r], 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_two_halves), cmocka_unit_test(sizes_and_types),          cmocka_unit_test(edge_values),
        cmocka_unit_test(rank_order),    cmocka_unit_test(broadcast_and_all_to_all), cmocka_unit_test(differing_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
