/* Modules: how parameters begin, by their layers and by rules for patterns, and which of them are frozen. */
#include "nn_test.h"

/* Uniform in +-bound: inside, near the ends, and with the deviation bound / sqrt 3. */
static void is_uniform(const xt_module *m, const char *name, double bound) {
    const moments *r = read(m, name);
    bool fits = r->most <= bound && r->least >= -bound;
    if (r->n > 1000)
        fits = fits && r->most > 0.97 * bound && r->least < -0.97 * bound &&
               fabs(r->std - bound / sqrt(3)) < 0.05 * bound && fabs(r->mean) < 0.06 * bound;
    if (!fits)
        fail_msg("%s is in [%g,%g] with deviation %g, expected bound %g", name, r->least, r->most, r->std, bound);
}

static void is_normal(const xt_module *m, const char *name, double mean, double std) {
    const moments *r = read(m, name);
    if (fabs(r->mean - mean) > 0.05 * std || fabs(r->std - std) > 0.05 * std)
        fail_msg("%s has mean %g and deviation %g, expected %g and %g", name, r->mean, r->std, mean, std);
}

static void is_constant(const xt_module *m, const char *name, double v) {
    const moments *r = read(m, name);
    if (r->least != v || r->most != v) fail_msg("%s is in [%g,%g], expected %g", name, r->least, r->most, v);
}

static xt_tensor zoo(xt_module *m, xt_tensor x, void *user) { /* [1,64] */
    (void)user;
    xt_tensor image = xt_reshape(xt_linear(m, "fc", x, 48 * 4), 1, 12, 4, 4), word = xt_arange(2, XT_I64);
    xt_conv2d(m, "conv", image, 40, 3, .padding = 1, .groups = 2);
    xt_conv_transpose2d(m, "up", image, 40, 3, .groups = 4);
    xt_bilinear(m, "both", x, x, 3);
    xt_batch_norm(m, "bn", image);
    xt_layer_norm(m, "ln", x);
    xt_embedding(m, "words", word, 50, 40, .padding_idx = 7);
    xt_embedding(m, "padded", word, 5, 4, .padding_idx = 0);
    xt_embedding(m, "whole", word, 5, 4);
    xt_prelu(m, "act", x, 1);
    xt_lstm(m, "lstm", xt_reshape(x, 2, 2, 16), 25);
    xt_tensor s = xt_reshape(x, 4, 1, 16);
    return xt_multihead_attention(m, "attn", s, s, s, .heads = 2);
}

static void layers_begin_as_pytorchs(void **state) {
    (void)state;
    xt_seed(5);
    xt_module *m = built(zoo, 64);
    is_uniform(m, "fc.weight", 1.0 / 8);
    is_uniform(m, "fc.bias", 1.0 / 8);
    is_uniform(m, "conv.weight", 1 / sqrt(6 * 9));
    is_uniform(m, "conv.bias", 1 / sqrt(6 * 9));
    is_uniform(m, "up.weight", 1 / sqrt(10 * 9));
    is_uniform(m, "both.weight", 1.0 / 8);
    is_uniform(m, "lstm.weight_ih_l0", 1.0 / 5);
    is_uniform(m, "lstm.bias_hh_l0", 1.0 / 5);
    is_uniform(m, "attn.in_proj_weight", sqrt(6.0 / 64));
    is_uniform(m, "attn.out_proj.weight", 1.0 / 4);
    is_constant(m, "attn.in_proj_bias", 0);
    is_constant(m, "attn.out_proj.bias", 0);
    is_constant(m, "bn.weight", 1);
    is_constant(m, "bn.bias", 0);
    is_constant(m, "bn.running_mean", 0); /* building has not moved them */
    is_constant(m, "bn.running_var", 1);
    is_constant(m, "ln.weight", 1);
    is_constant(m, "act.weight", 0.25);
    is_normal(m, "words.weight", 0, sqrt(49.0 / 50));
    const moments *r = read(m, "words.weight");
    for (int i = 0; i < 40; i++) assert_true(r->v[7 * 40 + i] == 0);
    r = read(m, "padded.weight");
    for (int i = 0; i < 20; i++) assert_true((r->v[i] == 0) == (i < 4));
    r = read(m, "whole.weight");
    for (int i = 0; i < 20; i++) assert_true(r->v[i] != 0);
    int64_t count;
    ok(lazy_state_read(xt_module_find(m, "bn.num_batches_tracked"), &count, sizeof count));
    assert_int_equal(count, 0);
    finish();
}

static xt_tensor square(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "b", xt_linear(m, "a", x, 100), 50);
}

static double row_product(const moments *r, int64_t cols, int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t k = 0; k < cols; k++) sum += (double)r->v[i * cols + k] * r->v[j * cols + k];
    return sum;
}

static void initialisers(void **state) {
    (void)state;
    xt_module *m = built(square, 80);
    assert_int_equal(xt_init_normal(m, "?.weight", .mean = 1, .std = 0.02), 2);
    is_normal(m, "a.weight", 1, 0.02);
    assert_int_equal(xt_init_constant(m, "*.bias", 0.5), 2);
    is_constant(m, "b.bias", 0.5);
    xt_init_zeros(m, "b.bias");
    is_constant(m, "b.bias", 0);
    xt_init_uniform(m, "a.weight", .low = -2, .high = 2);
    is_uniform(m, "a.weight", 2);
    xt_init_xavier_uniform(m, "a.weight", .gain = 2);
    is_uniform(m, "a.weight", 2 * sqrt(6.0 / 180));
    xt_init_xavier_normal(m, "a.weight");
    is_normal(m, "a.weight", 0, sqrt(2.0 / 180));
    xt_init_kaiming_uniform(m, "a.weight", .slope = sqrt(5));
    is_uniform(m, "a.weight", 1 / sqrt(80));
    xt_init_kaiming_normal(m, "a.weight", .fan_out = XT_ON);
    is_normal(m, "a.weight", 0, sqrt(2.0 / 100));
    xt_init_truncated_normal(m, "a.weight", .std = 2, .low = -1, .high = 3);
    const moments *r = read(m, "a.weight");
    assert_true(r->least >= -1 && r->most <= 3 && r->most > 2.9 && r->least < -0.95);
    assert_true(fabs(r->mean - 0.7125) < 0.03); /* 2 (phi(-1/2) - phi(3/2)) / (Phi(3/2) - Phi(-1/2)) */
    xt_init_orthogonal(m, "*.weight", .gain = 3);
    r = read(m, "b.weight"); /* [50,100]: orthogonal rows */
    for (int i = 0; i < 50; i += 7)
        for (int j = 0; j < 50; j += 7) assert_true(fabs(row_product(r, 100, i, j) - (i == j ? 9 : 0)) < 1e-4);
    r = read(m, "a.weight"); /* [100,80]: orthogonal columns */
    double same = 0, other = 0;
    for (int k = 0; k < 100; k++) {
        same += (double)r->v[k * 80 + 3] * r->v[k * 80 + 3];
        other += (double)r->v[k * 80 + 3] * r->v[k * 80 + 11];
    }
    assert_true(fabs(same - 9) < 1e-4 && fabs(other) < 1e-4);
    xt_init_eye(m, "b.weight"); /* [50,100] */
    r = read(m, "b.weight");
    for (int i = 0; i < 50 * 100; i++) assert_true(r->v[i] == (i / 100 == i % 100 ? 1 : 0));
    xt_init_sparse(m, "a.weight", .sparsity = 0.25); /* 25 of each column's 100 rows are 0 */
    r = read(m, "a.weight");
    double square = 0;
    uint32_t first_zeros[2] = {0};
    for (int k = 0; k < 80; k++) {
        int zeros = 0;
        for (int i = 0; i < 100; i++) {
            zeros += r->v[i * 80 + k] == 0;
            if (k < 2 && r->v[i * 80 + k] == 0) first_zeros[k] = first_zeros[k] * 31 + (uint32_t)i;
            square += (double)r->v[i * 80 + k] * r->v[i * 80 + k];
        }
        assert_int_equal(zeros, 25);
    }
    assert_true(first_zeros[0] != first_zeros[1] && fabs(sqrt(square / 6000) - 0.01) < 5e-4);
    assert_int_equal(xt_init_dirac(m, "a.weight"), -1);
    error_says("a.weight has 2 dims and 100 outputs; a Dirac kernel has 3 to 5", "test_nn_init.c");
    assert_int_equal(xt_init_eye(m, "a.bias"), -1);
    error_says("a.bias has 1 dims", "matrices");
    assert_int_equal(xt_init_kaiming_normal(m, "a.bias"), -1);
    error_says("a.bias has 1 dims", "test_nn_init.c");
    assert_int_equal(xt_init_normal(m, "a.bias", .std = -1), -1);
    error_says("std is -1", "positive");
    finish();
}

/* Kernels that give the input back, group by group, as torch.nn.init.dirac_ does. */
static xt_tensor kernels(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_conv2d(m, "c", x, 6, 3, .groups = 2, .padding = 1, .bias = XT_OFF);
}

static void dirac_kernels(void **state) {
    (void)state;
    xt_module *m = xt_module_new(kernels, NULL);
    float x[4 * 5 * 5], y[6 * 5 * 5];
    for (int i = 0; i < 100; i++) x[i] = (float)(i * 7 % 31);
    xt_init_dirac(m, "c.weight", .groups = 2);
    assert_true(xt_read(xt_forward(m, xt_from_array(x, XT_F32, 1, 4, 5, 5)), y, sizeof y));
    for (int o = 0; o < 6; o++)
        for (int i = 0; i < 25; i++) {
            int in = o % 3 < 2 ? o / 3 * 2 + o % 3 : -1; /* the third output of a group has no channel */
            assert_true(y[o * 25 + i] == (in < 0 ? 0 : x[in * 25 + i]));
        }
    finish();
}

/* Large weights are drawn where they stay, on the device: the same numbers, in a value that is read, trained and saved
 * like others. */
static xt_tensor wide(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    xt_init_uniform(m, "fc.weight", .low = -3, .high = 1);
    return xt_linear(m, "fc", x, 700);
}

static void large_weights_are_drawn_on_the_device(void **state) {
    (void)state;
    enum { N = 700 * 500 };
    xt_module *m = built(wide, 500);
    float *want, *got = malloc(N * sizeof *got);
    assert_non_null(got);
    ok(nn_first_value("fc.weight", &(nn_recipe){NN_UNIFORM, .a = 2, .mean = -1},
                      ir_tensor(XT_F32, 2, (int64_t[]){700, 500}), (void **)&want));
    assert_true(xt_read(xt_module_find(m, "fc.weight"), got, N * sizeof *got));
    assert_memory_equal(got, want, N * sizeof *got);
    xt_optimizer *o = xt_sgd(m, .lr = 1);
    float ones[500];
    for (int i = 0; i < 500; i++) ones[i] = 1;
    xt_tensor loss = xt_sum(xt_forward(m, xt_from_array(ones, XT_F32, 1, 500)));
    xt_backward(loss);
    xt_optimizer_step(o);
    assert_true(xt_mark_step());
    assert_true(xt_read(xt_module_find(m, "fc.weight"), got, N * sizeof *got));
    for (int i = 0; i < N; i += 997) assert_true(got[i] == want[i] - 1);
    free(got);
    base_free(want);
    finish();
}

/* A rule from inside the function: parameters begin so, and are not drawn again by later passes. */
static xt_tensor ruled(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    xt_init_normal(m, "*.weight", .std = 3);
    xt_init_ones(xt_sub(m, "inner", -1), "fc.weight");
    return xt_linear(xt_sub(m, "inner", -1), "fc", xt_linear(m, "fc", x, 100), 5);
}

static void rules_before_birth(void **state) {
    (void)state;
    xt_module *m = built(ruled, 80);
    is_normal(m, "fc.weight", 0, 3);
    is_constant(m, "inner.fc.weight", 1);
    xt_init_constant(m, "fc.weight", 7);
    float x[80] = {0};
    xt_forward(m, xt_from_array(x, XT_F32, 1, 80));
    assert_true(xt_mark_step());
    is_constant(m, "fc.weight", 7);
    assert_int_equal(m->root->n_wishes, 3);
    finish();
}

/* Whatever the step holds, a build uses nothing of it: parameters may be written behind it, and train. */
static xt_tensor one_layer(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", x, 4);
}
static void built_within_a_step(void **state) {
    (void)state;
    float x[16] = {1, 2, 3};
    xt_tensor in = xt_from_array(x, XT_F32, 2, 8), twice = xt_mul(in, 2);
    xt_module *m = xt_module_new(one_layer, NULL);
    assert_null(xt_module_build(m, (xt_spec){XT_F32, {2, 8}}));
    xt_init_constant(m, "fc.weight", 0.5);
    assert_null(xt_error());
    xt_optimizer *o = xt_sgd(m, .lr = 0.25);
    xt_backward(xt_sum(xt_forward(m, twice)));
    xt_optimizer_step(o);
    if (!xt_mark_step()) fail_msg("%s", xt_status_message(xt_error()));
    float w[4 * 8];
    assert_true(xt_read(xt_module_find(m, "fc.weight"), w, sizeof w));
    assert_true(w[0] == 0.5f - 0.25f * 2 && w[1] == 0.5f - 0.25f * 4 && w[31] == 0.5f);
    assert_int_equal(xt_finish(), 0);
}

static void freezing(void **state) {
    (void)state;
    float x[8] = {1, -2, 3, 4, 0.5f, 6, -7, 8};
    xt_module *m = xt_module_new(square, NULL);
    assert_int_equal(xt_freeze(m, "a.*"), 0); /* not made yet */
    xt_optimizer *opt = xt_sgd(m, .lr = 0.1, .weight_decay = 0.1);
    double before[2] = {0}, after[2] = {0};
    for (int round = 0; round < 2; round++) {
        xt_backward(xt_mean(xt_square(xt_forward(m, xt_from_array(x, XT_F32, 1, 8)))));
        assert_true(xt_is_none(xt_grad(xt_module_find(m, "a.weight"))) == (round == 0));
        assert_false(xt_is_none(xt_grad(xt_module_find(m, "b.weight"))));
        if (round == 0) {
            xt_mark_step();
            before[0] = read(m, "a.weight")->v[0];
            before[1] = read(m, "b.weight")->v[0];
        }
        xt_optimizer_step(opt);
        assert_true(xt_mark_step());
        after[0] = read(m, "a.weight")->v[0];
        after[1] = read(m, "b.weight")->v[0];
        assert_true((after[0] == before[0]) == (round == 0));
        assert_true(after[1] != before[1]);
        if (round == 0) assert_int_equal(xt_unfreeze(m, "a.*"), 2);
    }
    finish();
}

/* Of rules for the same parameters the last call counts, though it was made before. */
static void said_again(void **state) {
    (void)state;
    float x[8] = {1, 2, 3};
    xt_module *m = xt_module_new(one_layer, NULL);
    for (int i = 0; i < 2; i++) {
        xt_freeze(m, "fc.weight");
        xt_init_constant(m, "*.weight", 1);
        if (i) break;
        xt_unfreeze(m, "*.weight");
        xt_init_constant(m, "fc.*", 2);
    }
    xt_backward(xt_mean(xt_forward(m, xt_from_array(x, XT_F32, 1, 8))));
    assert_true(xt_is_none(xt_grad(xt_module_find(m, "fc.weight"))));
    assert_false(xt_is_none(xt_grad(xt_module_find(m, "fc.bias"))));
    assert_true(xt_mark_step());
    is_constant(m, "fc.weight", 1);
    is_constant(m, "fc.bias", 2);
    xt_clear_error();
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_begin_as_pytorchs),
        cmocka_unit_test(initialisers),
        cmocka_unit_test(dirac_kernels),
        cmocka_unit_test(large_weights_are_drawn_on_the_device),
        cmocka_unit_test(rules_before_birth),
        cmocka_unit_test(built_within_a_step),
        cmocka_unit_test(freezing),
        cmocka_unit_test(said_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
