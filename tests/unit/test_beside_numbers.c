/* Numbers beside tensors of every dtype are what they are in PyTorch: beside_numbers.def has its dtypes and values.
 * Each function twice: with the number as a constant of the program, and as data. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <xtrain/xtrain.h>

#include "base/base.h"
#include "lazy/lazy.h"

enum { NUMBERS = 7 };
static const double numbers[NUMBERS] = {2, -1, 0.5, -1.5, 300, 1e10, 3};

static xt_tensor one(void) {
    return xt_from_array(((int64_t[]){1}), XT_I64, 1);
}
static xt_tensor above_one(xt_tensor x) {
    return xt_gt(xt_cast(x, XT_F64), xt_ones(XT_F64));
}

/* X(name, the tensor of x and v). What xtrain.hpp alone has is in cli/cpp.cpp. */
#define FUNCTIONS(X)                                                 \
    X(add, xt_add_scalar(x, v))                                      \
    X(mul, xt_mul_scalar(x, v))                                      \
    X(div, xt_div_scalar(x, v))                                      \
    X(rsub, xt_rsub_scalar(x, v))                                    \
    X(pow, xt_pow_scalar(x, v))                                      \
    X(clamp_min, xt_clamp(x, v, INFINITY))                           \
    X(clamp_max, xt_clamp(x, -INFINITY, v))                          \
    X(clamp, xt_clamp(x, fmin(v, 3), 3))                             \
    X(masked_fill, xt_masked_fill(x, above_one(x), v))               \
    X(index_fill, xt_index_fill(x, 0, one(), v))                     \
    X(index_add, xt_index_add(x, 0, one(), xt_slice(x, 0, 3, 4), v)) \
    X(full_like, xt_full_like(x, v))                                 \
    X(leaky_relu, xt_leaky_relu(x, v))                               \
    X(threshold, xt_threshold(x, v, 7))                              \
    X(hardtanh, xt_hardtanh(x, fmin(v, 3), 3))                       \
    X(lerp, xt_lerp_scalar(x, x, v))                                 \
    X(addcmul, xt_addcmul(x, x, x, v))                               \
    X(lt, xt_lt_scalar(x, v))                                        \
    X(ge, xt_ge(x, v))                                               \
    X(eq, xt_eq_scalar(x, v))                                        \
    X(over, xt_div(v, xt_add(x, 1)))                                 \
    X(sub, xt_minus(x, v))                                           \
    X(power_of, xt_pow(v, x))                                        \
    X(remainder, xt_remainder(x, v))                                 \
    X(remainder_of, xt_remainder(v, xt_add(x, 1)))                   \
    X(floor_divide, xt_floor_divide(x, v))                           \
    X(floor_divide_of, xt_floor_divide(v, xt_add(x, 1)))             \
    X(fmod, xt_fmod(x, v))                                           \
    X(below, xt_lt(v, x))                                            \
    X(where, xt_where(above_one(x), x, v))                           \
    X(where_of, xt_where(above_one(x), v, x))                        \
    X(pad, xt_slice(xt_pad(x, XT_LIST(0, 1), .value = v), 0, 1, 5))
#define MAKE(name, tensor)                                \
    static xt_tensor make_##name(xt_tensor x, double v) { \
        return tensor;                                    \
    }
FUNCTIONS(MAKE)
#define NAMED(name, tensor) {#name, make_##name},
static const struct function {
    const char *name;
    xt_tensor (*make)(xt_tensor x, double v);
} functions[] = {FUNCTIONS(NAMED)};

static const struct row {
    const char *function, *dtype, *wants;
} rows[] = {
#define ROW(function, dtype, wants) {#function, #dtype, wants},
#include "beside_numbers.def"
};

static void unheard(xt_status s, void *user) {
    (void)s, (void)user;
}
static void silent(xt_severity sev, const char *text, size_t n, void *user) {
    (void)sev, (void)text, (void)n, (void)user;
}

static xt_dtype dtype_named(const char *name) {
    for (xt_dtype t = XT_BOOL; t < XT_DTYPE_COUNT; t++)
        if (strcmp(xt_dtype_name(t), name) == 0) return t;
    fail_msg("no dtype %s", name);
    return XT_DTYPE_NONE;
}

/* What is to be read at once: the tensors in f64, one behind the other, and the row and number of each. */
enum { MOST = 80 };
static struct {
    int n;
    xt_tensor parts[MOST];
    const struct row *rows[MOST];
    double numbers[MOST];
    const char *wants[MOST];
} waiting;

static void read_waiting(void) {
    static double got[MOST][4];
    if (!waiting.n) return;
    xt_tensor all = xt_keep(xt_concat(waiting.n, waiting.parts, 0));
    assert_true(xt_mark_step());
    assert_true(xt_read(all, got, (size_t)waiting.n * sizeof got[0]));
    xt_drop(all);
    for (int p = 0; p < waiting.n; p++) {
        const char *want = waiting.wants[p], *at = want + strcspn(want, " ");
        bool narrow = strncmp(want, "f16", 3) == 0 || strncmp(want, "bf16", 4) == 0;
        double tolerance = narrow ? 8e-3 : strncmp(want, "f32", 3) == 0 ? 1e-6 : 1e-11;
        for (int i = 0; i < 4; i++) {
            double w = strtod(at, (char **)&at), g = got[p][i];
            if (!(g == w || (isnan(g) && isnan(w)) || fabs(g - w) <= tolerance * fabs(w)))
                fail_msg("%s of %s with %g: element %d is %.12g, expected %s", waiting.rows[p]->function,
                         waiting.rows[p]->dtype, waiting.numbers[p], i, g, want);
        }
    }
    waiting.n = 0;
}

static void check(const struct function *f, const struct row *r, double v, const char *want) {
    static const double base[4] = {0, 1, 2, 5};
    char name[8] = "";
    if (*want == '-') return; /* PyTorch has no such function */
    xt_tensor y = f->make(xt_cast(xt_from_array(base, XT_F64, 4), dtype_named(r->dtype)), v);
    size_t n = strcspn(want, " |");
    memcpy(name, want, n < sizeof name ? n : 0);
    const char *message = xt_error() ? xt_status_message(xt_error()) : xt_dtype_name(xt_dtype_of(y));
    bool refused = strcmp(name, "refused") == 0, ok = refused == xt_is_error(y);
    if (!ok || !strstr(message, refused ? r->dtype : name))
        fail_msg("%s of %s with %g: %s, expected %s", r->function, r->dtype, v, message, want);
    xt_clear_error();
    if (refused) return;
    waiting.parts[waiting.n] = xt_cast(y, XT_F64);
    waiting.rows[waiting.n] = r;
    waiting.numbers[waiting.n] = v;
    waiting.wants[waiting.n++] = want;
}

static const char *want_of(const struct row *r, int k) {
    const char *want = r->wants;
    while (k--) want += strcspn(want, "|") + 1;
    return want;
}

/* Each number at a place of its own is a constant; the same place with another number in each step makes it data. */
static size_t each_row(bool data) {
    size_t seen = 0;
    for (size_t f = 0; f < BASE_COUNT(functions); f++) {
        for (int k = 0; k < NUMBERS; k++) {
            for (size_t i = 0; i < BASE_COUNT(rows); i++) {
                if (strcmp(functions[f].name, rows[i].function) != 0) continue;
                char path[32];
                snprintf(path, sizeof path, "row %zu.%d", i, data ? 0 : k);
                lazy_path_push(path);
                check(&functions[f], &rows[i], numbers[k], want_of(&rows[i], k));
                lazy_path_pop();
                seen++;
            }
            if (data) read_waiting();
        }
        read_waiting();
    }
    return seen;
}

static void constants(void **state) {
    (void)state;
    assert_int_equal(each_row(false), BASE_COUNT(functions) * 10 * NUMBERS);
}
static void data(void **state) {
    (void)state;
    assert_int_equal(each_row(true), BASE_COUNT(functions) * 10 * NUMBERS);
}

/* Beyond what a double tells apart: bounds that are none change nothing. */
static void no_bound(void **state) {
    (void)state;
    int64_t got[2];
    xt_tensor x = xt_from_array(((int64_t[]){INT64_MAX, INT64_MIN}), XT_I64, 2);
    assert_true(xt_read(xt_clamp(x, -INFINITY, INFINITY), got, sizeof got));
    assert_true(got[0] == INT64_MAX && got[1] == INT64_MIN);
    assert_true(xt_read(xt_clamp(x, 0, INFINITY), got, sizeof got));
    assert_true(got[0] == INT64_MAX && got[1] == 0);
    uint64_t u[2];
    xt_tensor y = xt_from_array(((uint64_t[]){0, 5}), XT_U64, 2);
    assert_true(xt_read(xt_add_scalar(y, -1), u, sizeof u));
    assert_true(u[0] == UINT64_MAX && u[1] == 4);
}

int main(void) {
    xt_on_error(unheard, NULL);
    xt_set_sink(silent, NULL); /* each number that becomes data says so */
    const struct CMUnitTest tests[] = {cmocka_unit_test(constants), cmocka_unit_test(data), cmocka_unit_test(no_bound)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
