/* Random numbers of random.h: the bits are those of the host's Philox, the same after the same seed, others at the next
 * draw; ranges are kept and the moments of large draws are within five standard errors of what they should be. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lazy/core/ctx.h"
#include <xtrain/xtrain.h>

enum { MANY = 20000 };
static const uint64_t SEED = 0x123456789abcdefu;

static int fresh(void **state) {
    (void)state;
    lazy_reset_thread();
    xt_seed(SEED);
    return 0;
}
static int finish(void **state) {
    (void)state;
    return xt_finish();
}

static void read_floats(xt_tensor t, float *out, size_t n) {
    if (!xt_read(t, out, n * sizeof *out)) fail_msg("%s", xt_status_message(xt_error()));
}
static void read_ints(xt_tensor t, int64_t *out, size_t n) {
    if (!xt_read(t, out, n * sizeof *out)) fail_msg("%s", xt_status_message(xt_error()));
}

static uint32_t word(uint64_t draw, uint64_t i) {
    uint32_t w[4];
    philox4x32(SEED, i / 4, draw, w);
    return w[i % 4];
}

static void bits_are_the_hosts(void **state) {
    (void)state;
    int64_t v[10];
    xt_rand(XT_F32, 3); /* draw 0 */
    read_ints(xt_randint(-5, 1000, XT_I64, 2, 5), v, 10);
    for (uint64_t i = 0; i < 10; i++) assert_int_equal(v[i], -5 + (int64_t)(((uint64_t)word(1, i) * 1005) >> 32));
    const int64_t far[] = {((int64_t)1 << 53) + 1, ((int64_t)1 << 62) + 1, -((int64_t)1 << 62) - 3, INT64_MAX - 3};
    for (int k = 0; k < 4; k++) { /* bounds that no double is */
        bool all[3] = {false};
        read_ints(xt_randint(far[k], far[k] + 3, XT_I64, 10), v, 10);
        for (int i = 0; i < 10; i++) {
            assert_true(v[i] >= far[k] && v[i] < far[k] + 3);
            all[v[i] - far[k]] = true;
        }
        assert_true(all[0] + all[1] + all[2] > 1);
    }
    xt_seed(SEED);
    xt_rand(XT_F32, 3), xt_randint(-5, 1000, XT_I64, 2, 5);
    float u[7];
    read_floats(xt_uniform(0, 1, XT_F32, 7), u, 7);
    for (uint64_t i = 0; i < 7; i++) assert_true(u[i] == (float)(word(2, i) >> 8) * 0x1p-24f);
}

static void same_seed_same_draws(void **state) {
    (void)state;
    float first[3][8], again[3][8];
    for (int pass = 0; pass < 2; pass++) {
        fresh(NULL);
        for (int k = 0; k < 3; k++)
            read_floats(k == 2 ? xt_trunc_normal(0, 1, -1, 1, XT_F32, 8) : xt_normal(0, 1, XT_F32, 8),
                        pass ? again[k] : first[k], 8);
    }
    assert_memory_equal(first, again, sizeof first);
    assert_memory_not_equal(first[0], first[1], sizeof first[0]);
}

/* A draw is numbered by element: its shape does not matter. */
static void shape_does_not_matter(void **state) {
    (void)state;
    float flat[12], square[12];
    read_floats(xt_exponential(2, XT_F32, 12), flat, 12);
    fresh(NULL);
    read_floats(xt_exponential(2, XT_F32, 3, 4), square, 12);
    assert_memory_equal(flat, square, sizeof flat);
}

/* --- distributions --- */
static xt_tensor uniform(void) {
    return xt_uniform(-2, 3, XT_F32, MANY);
}
static xt_tensor normal(void) {
    return xt_normal(1, 2, XT_F32, MANY);
}
static xt_tensor trunc_normal(void) {
    return xt_trunc_normal(0.5, 1, -0.5, 1.5, XT_F32, MANY);
}
static xt_tensor exponential(void) {
    return xt_exponential(4, XT_F32, MANY);
}
static xt_tensor bernoulli(void) {
    return xt_bernoulli(xt_full(0.3, XT_F32, MANY));
}
static xt_tensor never(void) {
    return xt_bernoulli(xt_full(0, XT_F32, MANY));
}
static xt_tensor always(void) {
    return xt_bernoulli(xt_full(1, XT_F32, MANY));
}
static xt_tensor randint(void) {
    return xt_randint(-3, 5, XT_F32, MANY);
}
static xt_tensor dropout(void) {
    return xt_dropout_fn(xt_full(3, XT_F32, MANY), 0.25);
}
static xt_tensor dropout_all(void) {
    return xt_dropout_fn(xt_full(3, XT_F32, MANY), 1);
}
static xt_tensor attention_all(void) {
    xt_tensor one = xt_full(3, XT_F32, 1, 1), q = xt_reshape(xt_full(3, XT_F32, MANY), -1, 1);
    return xt_reshape(xt_scaled_dot_product_attention(q, one, one, .dropout = 1), MANY);
}
static xt_tensor rand_like(void) {
    return xt_rand_like(xt_full(3, XT_F32, MANY));
}
static xt_tensor randn_like(void) {
    return xt_randn_like(xt_full(3, XT_F32, MANY));
}

static const struct {
    const char *name;
    xt_tensor (*draw)(void);
    double low, high, mean, variance;
} kinds[] = {
    {"uniform", uniform, -2, 3, 0.5, 25.0 / 12},
    {"normal", normal, -INFINITY, INFINITY, 1, 4},
    {"trunc_normal", trunc_normal, -0.5, 1.5, 0.5, 0.2911},
    {"exponential", exponential, 0, INFINITY, 0.25, 1.0 / 16},
    {"bernoulli", bernoulli, 0, 1, 0.3, 0.21},
    {"never", never, 0, 0, 0, 0},
    {"always", always, 1, 1, 1, 0},
    {"randint", randint, -3, 4, 0.5, 63.0 / 12},
    {"dropout", dropout, 0, 4, 3, 3},
    {"dropout_all", dropout_all, 0, 0, 0, 0},
    {"attention_all", attention_all, 0, 0, 0, 0},
    {"rand_like", rand_like, 0, 1, 0.5, 1.0 / 12},
    {"randn_like", randn_like, -INFINITY, INFINITY, 0, 1},
};

static void distributions(void **state) {
    (void)state;
    static float v[MANY];
    for (size_t k = 0; k < BASE_COUNT(kinds); k++) {
        read_floats(kinds[k].draw(), v, MANY);
        double sum = 0, squares = 0;
        for (int i = 0; i < MANY; i++) {
            if (!(v[i] >= kinds[k].low && v[i] <= kinds[k].high))
                fail_msg("%s: %g is out of range", kinds[k].name, (double)v[i]);
            sum += v[i];
        }
        double mean = sum / MANY, error = 5 * sqrt(kinds[k].variance / MANY);
        for (int i = 0; i < MANY; i++) squares += (v[i] - mean) * (v[i] - mean);
        if (fabs(mean - kinds[k].mean) > error + 1e-6)
            fail_msg("%s: the mean is %g, expected %g", kinds[k].name, mean, kinds[k].mean);
        if (fabs(squares / MANY - kinds[k].variance) > 0.08 * kinds[k].variance + 1e-6)
            fail_msg("%s: the variance is %g, expected %g", kinds[k].name, squares / MANY, kinds[k].variance);
    }
}

static void a_permutation(void **state) {
    (void)state;
    enum { N = 1000 };
    int64_t v[N], moved = 0;
    bool seen[N] = {false};
    read_ints(xt_randperm(N), v, N);
    for (int i = 0; i < N; i++) {
        assert_in_range(v[i], 0, N - 1);
        assert_false(seen[v[i]]);
        seen[v[i]] = true;
        moved += v[i] != i;
    }
    assert_true(moved > N / 2);
}

static const float weights[2][4] = {{1, 0, 3, 4}, {0, 5, 5, 0}};

static void draws_with_replacement(void **state) {
    (void)state;
    static int64_t v[2][MANY];
    xt_tensor w = xt_from_array(weights, XT_F32, 2, 4);
    read_ints(xt_multinomial(w, MANY, true), v[0], 2 * MANY);
    for (int row = 0; row < 2; row++) {
        double count[4] = {0}, total = 0;
        for (int i = 0; i < MANY; i++) count[v[row][i]]++;
        for (int c = 0; c < 4; c++) total += weights[row][c];
        for (int c = 0; c < 4; c++) {
            double p = weights[row][c] / total, got = count[c] / MANY;
            if (fabs(got - p) > 5 * sqrt(p * (1 - p) / MANY))
                fail_msg("row %d: class %d comes up with %g, expected %g", row, c, got, p);
        }
    }
}

static void draws_without_replacement(void **state) {
    (void)state;
    int64_t v[2][2];
    int first[4] = {0};
    for (int round = 0; round < 200; round++) {
        xt_tensor w = xt_from_array(weights, XT_F32, 2, 4);
        read_ints(xt_multinomial(w, 2, false), v[0], 4);
        for (int row = 0; row < 2; row++) {
            assert_int_not_equal(v[row][0], v[row][1]);
            for (int i = 0; i < 2; i++) assert_true(weights[row][v[row][i]] > 0);
        }
        first[v[0][0]]++;
        assert_true(xt_mark_step());
    }
    assert_true(first[0] > 5 && first[0] < 60 && first[3] > 60); /* 25 and 100 are expected */
}

/* What was kept passes its gradient on, scaled up; what was dropped passes none. */
static void dropout_gradient(void **state) {
    (void)state;
    float y[64], g[64];
    xt_tensor x = xt_requires_grad(xt_keep(xt_from_array((float[64]){0}, XT_F32, 64)), true);
    xt_tensor out = xt_keep(xt_dropout_fn(xt_add_scalar(x, 1), 0.5));
    xt_backward(xt_sum(out));
    assert_true(xt_mark_step());
    read_floats(out, y, 64);
    read_floats(xt_grad(x), g, 64);
    for (int i = 0; i < 64; i++) assert_true(y[i] == g[i] && (y[i] == 0 || y[i] == 2));
}

/* One-hot rows whose frequencies are the softmax, and a gradient that is that of the soft ones: rows of it add
 * up to nothing. */
static void gumbel_softmax(void **state) {
    (void)state;
    enum { ROWS = 4000 };
    static float y[ROWS][3], g[ROWS][3];
    static const double p[3] = {0.1, 0.3, 0.6};
    float logits[3], w[3] = {1, -2, 0.5f};
    double count[3] = {0};
    for (int c = 0; c < 3; c++) logits[c] = (float)log(p[c]);
    xt_tensor x = xt_requires_grad(xt_keep(xt_repeat(xt_from_array(logits, XT_F32, 3), XT_LIST(ROWS, 1))), true);
    xt_tensor out = xt_keep(xt_gumbel_softmax(x, 0.7, true, -1));
    xt_backward(xt_sum(xt_mul(out, xt_from_array(w, XT_F32, 3))));
    assert_true(xt_mark_step());
    read_floats(out, y[0], 3 * ROWS);
    read_floats(xt_grad(x), g[0], 3 * ROWS);
    for (int i = 0; i < ROWS; i++) {
        assert_true(fabsf(y[i][0] + y[i][1] + y[i][2] - 1) < 1e-6f && fabsf(g[i][0] + g[i][1] + g[i][2]) < 1e-5f);
        for (int c = 0; c < 3; c++) count[c] += y[i][c] > 0.5f;
    }
    for (int c = 0; c < 3; c++) assert_true(fabs(count[c] / ROWS - p[c]) < 5 * sqrt(p[c] * (1 - p[c]) / ROWS));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(bits_are_the_hosts, fresh),
        cmocka_unit_test_setup(same_seed_same_draws, fresh),
        cmocka_unit_test_setup(shape_does_not_matter, fresh),
        cmocka_unit_test_setup(distributions, fresh),
        cmocka_unit_test_setup(a_permutation, fresh),
        cmocka_unit_test_setup(draws_with_replacement, fresh),
        cmocka_unit_test_setup(draws_without_replacement, fresh),
        cmocka_unit_test_setup(dropout_gradient, fresh),
        cmocka_unit_test_setup(gumbel_softmax, fresh),
    };
    return cmocka_run_group_tests_name("ops_random", tests, NULL, finish);
}
