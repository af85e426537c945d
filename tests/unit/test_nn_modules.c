/* Modules: containers, dropout's shares, modes, summaries, shared layers, several inputs, and what wrong calls say. */
#include "nn_test.h"

static xt_tensor one(xt_module *m, xt_tensor x, void *user) {
    return xt_linear(m, "", x, *(int64_t *)user);
}
static xt_tensor relu(xt_module *m, xt_tensor x, void *user) {
    (void)m;
    (void)user;
    return xt_relu(x);
}
static xt_tensor chain(xt_module *m, xt_tensor x, void *user) {
    static int64_t four = 4, two = 2;
    (void)user;
    x = xt_sequential(m, "net", x, {one, &four}, {relu, NULL}, {one, &two});
    return xt_sequential(m, "", x, {one, &two});
}

static void containers(void **state) {
    (void)state;
    static const char *const names[] = {"net.0.weight", "net.0.bias", "net.2.weight",
                                        "net.2.bias",   "0.weight",   "0.bias"};
    xt_module *m = built(chain, 3);
    assert_int_equal(xt_module_tensors(m), 6);
    for (int i = 0; i < 6; i++) assert_string_equal(xt_module_tensor_name(m, i), names[i]);
    int found = 0;
    for (int i = -1; (i = xt_module_next(m, "*.bias", i + 1)) >= 0; found++) assert_int_equal(i % 2, 1);
    assert_int_equal(found, 3);
    assert_int_equal(xt_module_next(xt_sub(m, "net", -1), "2.*", 0), 2);
    assert_int_equal(xt_module_next(m, "nothing", 0), -1);
    /* each tensor by the same name for both, within every module that has it */
    xt_module *in[] = {m, xt_sub(m, "net", -1), xt_sub(xt_sub(m, "net", -1), "2", -1)};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 6; i++) {
            const char *prefix[] = {"", "net.", "net.2."};
            char full[64];
            snprintf(full, sizeof full, "%s%s", prefix[k], names[i]);
            int want = -1;
            for (int j = 0; j < 6; j++)
                if (strcmp(names[j], full) == 0) want = j;
            assert_int_equal(xt_module_next(in[k], names[i], 0), want);
            assert_int_equal(xt_module_find(in[k], names[i]).slot, want < 0 ? 0 : xt_module_tensor(m, want).slot);
            size_t skip = strlen(prefix[k]);
            if (strncmp(names[i], prefix[k], skip) == 0)
                assert_int_equal(xt_module_find(in[k], names[i] + skip).slot, xt_module_tensor(m, i).slot);
        }
    xt_relu(xt_module_find(in[1], "net.2.weight"));
    if (!strstr(xt_status_message(xt_error()), "the module has no tensor \"net.net.2.weight\""))
        fail_msg("%s", xt_status_message(xt_error()));
    xt_clear_error();
    xt_tensor none = xt_module_find(m, "a.weight"); /* which of two it is, it does not say itself */
    xt_module_find(m, "a.bias");
    xt_relu(none);
    if (!strstr(xt_status_message(xt_error()), "no tensor \"a.bias\"") ||
        !strstr(xt_status_message(xt_error()), "before that: xt_module_find: the module has no tensor \"a.weight\""))
        fail_msg("%s", xt_status_message(xt_error()));
    xt_clear_error();
    xt_add(xt_grad(xt_module_find(m, "0.bias")), xt_ones(XT_F32, 2));
    if (!strstr(xt_status_message(xt_error()), "the newest that gave none: xt_grad at ") ||
        !strstr(xt_status_message(xt_error()), "no xt_backward has reached"))
        fail_msg("%s", xt_status_message(xt_error()));
    xt_clear_error();
    xt_neg(xt_module_tensor(m, 6));
    if (!strstr(xt_status_message(xt_error()), "xt_module_tensor: number 6 of 6 tensors"))
        fail_msg("%s", xt_status_message(xt_error()));
    xt_clear_error();
    xt_module *unbuilt = xt_module_new(chain, NULL); /* as a trainer's .net is in on_fit_start */
    xt_neg(xt_module_tensor(unbuilt, 0));
    if (!strstr(xt_status_message(xt_error()), "number 0 of 0 tensors: a module makes them in its first pass, or when "
                                               "xt_module_build is called on it"))
        fail_msg("%s", xt_status_message(xt_error()));
    xt_clear_error();
    xt_module_free(unbuilt);
    char text[1024];
    size_t n = xt_module_summary(m, text, sizeof text);
    assert_int_equal(n, strlen(text));
    assert_non_null(strstr(text, "  net.2                            10  weight [2,4], bias [2]\n"));
    assert_non_null(strstr(text, "32 parameters"));
    assert_int_equal(xt_module_summary(m, text, 5), n);
    assert_int_equal(strlen(text), 4);
    finish();
}

/* How many of the elements are zero, and what the others are (all the same). */
static void shares(xt_tensor y, double p, double kept, int64_t run) {
    static float v[MANY];
    int64_t n = xt_numel(y), zeros = 0;
    assert_true(n <= MANY);
    if (!xt_read(y, v, (size_t)n * sizeof *v)) fail_msg("%s", xt_status_message(xt_error()));
    for (int64_t i = 0; i < n; i++) {
        zeros += v[i] == 0;
        if (v[i] != 0) assert_true(fabs(v[i] - kept) < 1e-6);
        if (i % run) assert_true((v[i] == 0) == (v[i - 1] == 0)); /* whole channels */
    }
    double share = (double)zeros / (double)n;
    if (fabs(share - p) > 4 * sqrt(p * (1 - p) * (double)run / (double)n) + 1e-9)
        fail_msg("%g of the elements are 0, expected %g", share, p);
}

static xt_tensor none(xt_module *m, xt_tensor x, void *user) {
    (void)m;
    (void)user;
    return x;
}

static void dropouts(void **state) {
    (void)state;
    xt_module *m = xt_module_new(none, NULL);
    xt_tensor x = xt_full(1, XT_F32, 40, 50, 20);
    shares(xt_dropout(m, x, 0.3), 0.3, 1 / 0.7, 1);
    shares(xt_dropout1d(m, x, 0.3), 0.3, 1 / 0.7, 20);
    shares(xt_dropout2d(m, xt_reshape(x, 40, 50, 4, 5), 0.5), 0.5, 2, 20);
    shares(xt_dropout3d(m, xt_reshape(x, 40, 50, 1, 4, 5), 0.25), 0.25, 4.0 / 3, 20);
    shares(xt_dropout(m, x, 1), 1, 0, 1);
    xt_tensor y = xt_alpha_dropout(m, xt_randn(XT_F32, 200, 200), 0.2);
    double mean = xt_item(xt_mean(y)), var = xt_item(xt_mean(xt_square(y)));
    assert_true(fabs(mean) < 0.03 && fabs(var - 1) < 0.04);
    xt_eval(m);
    assert_true(xt_dropout(m, x, 0.3).slot == x.slot && xt_dropout1d(m, x, 0.3).slot == x.slot &&
                xt_alpha_dropout(m, x, 0.3).slot == x.slot);
    xt_dropout(m, x, 1.5);
    error_says("xt_dropout: the probability is 1.5", "[0,1]");
    xt_dropout2d(m, xt_full(1, XT_F32, 3), 0.5);
    error_says("xt_dropout2d", "tensor<3xf32>");
    finish();
}

/* xt_eval of a child is about it and what is below, as in PyTorch: the others stay as they are. */
static xt_tensor drop_in(xt_module *m, xt_tensor x) {
    return xt_dropout(m, x, 0.5);
}
static void modes_of_children(void **state) {
    (void)state;
    xt_module *m = xt_module_new(none, NULL), *a = xt_sub(m, "a", -1), *in_a = xt_sub(a, "in", 0),
              *b = xt_sub(m, "b", -1);
    xt_tensor x = xt_ones(XT_F32, 8, 4);
    xt_eval(a);
    assert_true(xt_is_training(m) && xt_is_training(b) && !xt_is_training(a) && !xt_is_training(in_a));
    assert_false(xt_is_training(xt_sub(a, "later", -1)));
    assert_true(drop_in(in_a, x).slot == x.slot && drop_in(a, x).slot == x.slot);
    assert_true(drop_in(b, x).slot != x.slot && drop_in(m, x).slot != x.slot);
    xt_train(in_a);
    assert_true(xt_is_training(in_a) && !xt_is_training(a));
    xt_eval(m);
    assert_false(xt_is_training(m) || xt_is_training(in_a) || xt_is_training(b));
    xt_train(m);
    assert_true(xt_is_training(m) && xt_is_training(a) && xt_is_training(in_a));
    xt_module_free(m);
    finish();
}

/* A batch norm that is a child by its name uses its running statistics, and keeps them, while the rest trains. */
static xt_tensor two_norms(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_batch_norm(m, "block.free", xt_batch_norm(m, "block.frozen", x));
}
static void frozen_batch_norm(void **state) {
    (void)state;
    static float v[32];
    for (int i = 0; i < 32; i++) v[i] = (float)i;
    xt_module *m = xt_module_new(two_norms, NULL);
    xt_eval(xt_sub(xt_sub(m, "block", -1), "frozen", -1));
    xt_forward(m, xt_from_array(v, XT_F32, 8, 4));
    assert_true(xt_mark_step());
    assert_true(xt_is_training(m));
    assert_true(read(m, "block.frozen.running_mean")->most == 0);
    assert_true(read(m, "block.free.running_mean")->most > 0);
    xt_module_free(m);
    finish();
}

/* A compiled step that was recorded in one mode of a child is not run in another. */
static xt_module *stepped;
static xt_tensor child_step(const xt_tensor *in, int n, void *user) {
    (void)n, (void)user;
    return xt_sum(drop_in(xt_sub(stepped, "a", -1), in[0]));
}
static void compiled_by_mode(void **state) {
    (void)state;
    stepped = xt_module_new(none, NULL);
    xt_step *step = xt_compile(child_step);
    for (int i = 0; i < 6; i++) {
        xt_module *a = xt_sub(stepped, "a", -1);
        if (i % 2)
            xt_eval(a);
        else
            xt_train(a);
        double sum = xt_item(xt_call(step, xt_ones(XT_F32, 64, 64)));
        if (i % 2)
            assert_true(sum == 4096);
        else
            assert_true(sum != 4096);
    }
    assert_int_equal(xt_step_programs(step), 2);
    xt_step_free(step);
    xt_module_free(stepped);
    finish();
}

/* --- long names --- */
static int letters; /* of the names of two children, which differ behind them */
static xt_tensor two_long(xt_module *m, xt_tensor x, void *user) {
    char name[1200];
    (void)user;
    for (int k = 0; k < 2; k++) {
        memset(name, 'a', (size_t)letters);
        snprintf(name + letters, 2, "%d", k);
        x = xt_linear(xt_sub(m, name, -1), "fc", x, 3);
    }
    return x;
}
static xt_tensor nested(xt_module *m, xt_tensor x, void *user) {
    for (int k = 0; k < letters; k++) m = xt_sub(m, "s", -1);
    (void)user;
    return xt_linear(m, "fc", x, 3);
}
/* Whole, or refused: two names are never one. */
static void long_names(void **state) {
    (void)state;
    const int lengths[] = {10, 254, 255, 256, 600, 1000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        letters = lengths[i];
        xt_module *m = xt_module_new(two_long, NULL);
        xt_tensor y = xt_forward(m, xt_ones(XT_F32, 2, 3));
        if (letters < 900) {
            assert_non_null(xt_error() ? NULL : m);
            assert_int_equal(xt_module_param_count(m), 24);
        } else {
            assert_true(xt_is_error(y));
            assert_non_null(strstr(xt_status_message(xt_error()), "has 1001 characters; at most 900 are possible"));
            xt_clear_error();
        }
        xt_module_free(m);
    }
    letters = 600; /* 1,199 characters of path */
    xt_module *m = xt_module_new(nested, NULL);
    xt_forward(m, xt_ones(XT_F32, 2, 3));
    assert_non_null(xt_error());
    assert_non_null(strstr(xt_status_message(xt_error()), "nest them less"));
    xt_clear_error();
    xt_module_free(m);
    finish();
}

/* --- wrong calls --- */
#define F(...) xt_full(1, XT_F32, __VA_ARGS__)
typedef struct wrong {
    const char *a, *b;
    xt_tensor (*call)(xt_module *m);
} wrong;
#define WRONG(name, expr)                     \
    static xt_tensor w_##name(xt_module *m) { \
        (void)m;                              \
        return expr;                          \
    }
WRONG(linear, xt_linear(m, "l", xt_arange(3, XT_I32), 2))
WRONG(bilinear, xt_bilinear(m, "l", F(2, 3), F(3, 3), 2))
WRONG(conv_rank, xt_conv1d(m, "l", F(2), 2, 3))
WRONG(conv_groups, xt_conv2d(m, "l", F(1, 4, 5, 5), 6, 3, .groups = 4))
WRONG(conv_kernel, xt_conv2d(m, "l", F(1, 4, 5, 5), 6, 0))
WRONG(conv_same, xt_conv2d(m, "l", F(1, 4, 5, 5), 6, 3, .same = XT_ON, .stride = 2))
WRONG(conv_mode, xt_conv2d(m, "l", F(1, 4, 3, 3), 6, 3, .padding = 3, .padding_mode = XT_PAD_REFLECT))
WRONG(conv_output_padding, xt_conv_transpose2d(m, "l", F(1, 4, 3, 3), 6, 3, .output_padding = 1))
WRONG(bn_one, xt_batch_norm(m, "l", F(1, 4)))
WRONG(bn_eps, xt_batch_norm(m, "l", F(2, 4), .momentum = 2))
WRONG(gn, xt_group_norm(m, "l", F(2, 4, 3), 3))
WRONG(ln, xt_layer_norm(m, "l", F(4), .dims = 2))
WRONG(in, xt_instance_norm(m, "l", F(4, 3)))
WRONG(embedding, xt_embedding(m, "l", F(4), 3, 2))
WRONG(embedding_pad, xt_embedding(m, "l", xt_arange(3, XT_I32), 3, 2, .padding_idx = 3))
WRONG(prelu, xt_prelu(m, "l", F(2, 3), 2))
WRONG(mha_heads, xt_multihead_attention(m, "l", F(2, 1, 4), F(2, 1, 4), F(2, 1, 4), .heads = 3))
WRONG(mha_mask, xt_multihead_attention(m, "l", F(2, 1, 4), F(3, 1, 4), F(3, 1, 4), .attn_mask = F(3, 2)))
WRONG(lstm_state, xt_lstm(m, "l", F(3, 2, 4), 5, .h0 = F(1, 2, 4)).output)
WRONG(gru_c, xt_gru(m, "l", F(3, 2, 4), 5, .c0 = F(1, 2, 5)).output)
WRONG(pool_pad, xt_max_pool2d(F(1, 1, 4, 4), 2, .padding = 2))
WRONG(adaptive, xt_adaptive_avg_pool2d(F(1, 1, 4, 4), -2))
WRONG(interpolate, xt_interpolate(F(1, 1, 4, 4)))
WRONG(shuffle, xt_pixel_shuffle(F(6, 4, 4), 2))
WRONG(rotary, xt_rotary(F(4, 3), 0))
WRONG(no_utf8, xt_linear(m, "a\xff\xfe", F(2, 3), 4))
WRONG(word_of_the_format, xt_param(m, "__metadata__", "zeros", 0, XT_F32, 2))
WRONG(twice, (xt_linear(m, "t", F(2, 3), 4), xt_linear(m, "t", F(2, 3), 4)))

static const wrong wrongs[] = {
    {"xt_linear l: the input is tensor<3xi32>", "float tensor", w_linear},
    {"xt_bilinear l: the input is tensor<3x3xf32>", "agree with the first", w_bilinear},
    {"xt_conv1d l: the input is tensor<2xf32>", "[N,C,L]", w_conv_rank},
    {"4 input and 6 output channels", "groups, which is 4", w_conv_groups},
    {"xt_conv2d l", "kernel must be at least 1", w_conv_kernel},
    {".same keeps the input's size", "it is 2", w_conv_same},
    {"cannot be padded by 3 and 3 in dim 2 with mode reflect", "0 to 2", w_conv_mode},
    {"output_padding 1 must be", "stride 1", w_conv_output_padding},
    {"more than one value per channel", "xt_eval", w_bn_one},
    {"momentum is 2", "[0,1]", w_bn_eps},
    {"xt_group_norm l: the input is tensor<2x4x3xf32>", "3 groups", w_gn},
    {"xt_layer_norm l", "at least .dims dims", w_ln},
    {"xt_instance_norm l", "at least one dim behind C", w_in},
    {"xt_embedding l", "integer indices", w_embedding},
    {"padding_idx is 3", "3 rows", w_embedding_pad},
    {"xt_prelu l", "as many as dim 1", w_prelu},
    {"xt_multihead_attention l: .heads = 3 does not divide", "E = 4", w_mha_heads},
    {"attn_mask must be [T,S]", "tensor<3x2xf32>", w_mha_mask},
    {"xt_lstm l: the input is tensor<1x2x4xf32>", ".h0 must be of the shape of tensor<1x2x5xf32>", w_lstm_state},
    {"only an LSTM has .c0", "xt_gru l", w_gru_c},
    {"xt_max_pool2d: padding 2", "half the kernel (1)", w_pool_pad},
    {"to size -2 in dim 2", "-1 to keep", w_adaptive},
    {"exactly one of .scale", ".sizes", w_interpolate},
    {"xt_pixel_shuffle: x [6,4,4] with factor 2", "divisible by the factor's square", w_shuffle},
    {"xt_rotary: the input is tensor<4x3xf32>", "even D", w_rotary},
    {"layer t is called twice in one forward pass", "first at", w_twice},
    {"no tensor can be called a", "give the layer another name", w_no_utf8},
    {"no tensor can be called __metadata__", "give the layer another name", w_word_of_the_format},
};

static void wrong_calls(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        xt_module *m = xt_module_new(none, NULL);
        xt_tensor y = wrongs[i].call(m);
        if (!xt_is_error(y)) fail_msg("row %zu (%s) gave no error", i, wrongs[i].a);
        if (!strstr(xt_status_message(xt_error()), "test_nn_modules.c:"))
            fail_msg("\"%s\" names no line", xt_status_message(xt_error()));
        error_says(wrongs[i].a, wrongs[i].b);
        xt_module_free(m);
    }
    finish();
}

static int lines[2]; /* of the two calls below */

static xt_tensor two_lines(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    if (xt_dim(x, 1) == 3) return lines[0] = __LINE__, xt_linear(m, "fc", x, 2);
    return lines[1] = __LINE__, xt_linear(m, "fc", x, 2);
}

/* A call whose input has other features than the first: the message has both lines. */
static void another_shape(void **state) {
    (void)state;
    xt_module *m = xt_module_new(two_lines, NULL);
    xt_forward(m, F(4, 3));
    assert_true(xt_mark_step());
    xt_forward(m, F(4, 5));
    char made[256], now[256];
    snprintf(made, sizeof made, "fc.weight was made as tensor<2x3xf32> at %s:%d, but this call needs tensor<2x5xf32>",
             __FILE__, lines[0]);
    snprintf(now, sizeof now, "%s:%d: ", __FILE__, lines[1]);
    error_says(made, now);
    finish();
}

static void counts_as_text(void **state) {
    (void)state;
    static const struct {
        double n;
        const char *text;
    } rows[] = {{0, "0"},          {123, "123"},    {999, "999"},      {1234, "1.2 K"},
                {2e6, "2.0 M"},    {3e9, "3.0 B"},  {123456, "123 K"}, {99960, "100 K"},
                {999999, "1.0 M"}, {4e14, "400 T"}, {5e15, "5,000 T"}, {1.2345e16, "12,345 T"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[32];
        nn_count_text(rows[i].n, text);
        assert_string_equal(text, rows[i].text);
    }
}

/* A siamese network: one encoder for both inputs. */
static const char *pattern_shared;
static xt_tensor encode(xt_module *m, xt_tensor x) {
    return xt_linear(m, "2", xt_relu(xt_linear(m, "0", x, 4)), 2);
}
static xt_tensor siamese(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    if (*pattern_shared) xt_share(m, pattern_shared);
    xt_tensor a = encode(xt_sub(m, "encoder", -1), x), b = encode(xt_sub(m, "encoder", -1), xt_neg(x));
    return xt_minus(a, b);
}
static void shared_layers(void **state) {
    (void)state;
    static const struct {
        const char *pattern;
        bool ok;
    } rows[] = {{"", false},    {"encoder", true},    {"encoder.*", true}, {"*", true},
                {"enc", false}, {"encoder.0", false}, {"*.2", false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pattern_shared = rows[i].pattern;
        xt_module *m = xt_module_new(siamese, NULL);
        xt_status s = xt_module_build(m, (xt_spec){XT_F32, {1, 3}});
        if ((s == NULL) != rows[i].ok) fail_msg("\"%s\": %s", pattern_shared, xt_status_message(s));
        if (!s) assert_int_equal(xt_module_tensors(m), 4);
        xt_status_free(s);
        xt_clear_error();
        xt_module_free(m);
    }
    xt_finish();
}

/* --- files of a child --- */
static xt_tensor two_parts(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "head", xt_linear(xt_sub(m, "backbone", -1), "fc", x, 4), 2);
}
static xt_tensor one_part(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "head", xt_linear(m, "fc", x, 4), 10);
}
/* --- parameters as one vector --- */
static xt_tensor two_layers(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "b", xt_relu(xt_linear(m, "a", x, 3)), 1);
}
static void one_vector(void **state) {
    (void)state;
    float first[10], back[10], twice[10], weight[6];
    xt_module *m = xt_module_new(two_layers, NULL);
    assert_true(xt_is_error(xt_parameters_to_vector(m)));
    error_says("no parameters yet", "xt_module_build");
    ok(xt_module_build(m, (xt_spec){XT_F32, {1, 2}}));
    /* a.weight [3,2], a.bias [3], b.weight [1,3], b.bias [1]: 13 */
    xt_tensor v = xt_parameters_to_vector(m);
    assert_int_equal(xt_numel(v), 13);
    assert_true(xt_read(xt_slice(v, 0, 0, 10), first, sizeof first));
    assert_true(xt_read(xt_module_find(m, "a.weight"), weight, sizeof weight));
    assert_memory_equal(first, weight, sizeof weight);
    xt_backward(xt_sum(xt_square(v))); /* its derivative is 2 v */
    assert_true(xt_read(xt_grad(xt_module_find(m, "a.weight")), weight, sizeof weight));
    for (int i = 0; i < 6; i++) assert_float_equal(weight[i], 2 * first[i], 1e-6);
    assert_true(xt_vector_to_parameters(xt_mul_scalar(v, 2), m));
    assert_true(xt_read(xt_slice(xt_parameters_to_vector(m), 0, 0, 10), twice, sizeof twice)); /* in this step */
    assert_true(xt_mark_step());
    assert_true(xt_read(xt_slice(xt_parameters_to_vector(m), 0, 0, 10), back, sizeof back)); /* and behind it */
    for (int i = 0; i < 10; i++) assert_true(twice[i] == 2 * first[i] && back[i] == 2 * first[i]);
    assert_int_equal(xt_numel(xt_forward(m, xt_ones(XT_F32, 1, 2))), 1);
    assert_false(xt_vector_to_parameters(xt_zeros(XT_F32, 12), m));
    error_says("12 elements", "13 floats");
    xt_module_free(m);
    finish();
}

static void files_of_a_child(void **state) {
    (void)state;
    char dir[] = "/tmp/xt_child_XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/part.safetensors", dir);
    xt_spec in = {XT_F32, {1, 3}};
    float had[12], has[12];
    xt_module *small = xt_module_new(one_part, NULL), *m = xt_module_new(two_parts, NULL);
    xt_load_report r;
    xt_status s;
    assert_null(xt_module_build(small, in));
    assert_null(xt_save(small, path));
    xt_status nowhere = xt_save(small, "");
    assert_non_null(strstr(xt_status_message(nowhere), "the path to be written is empty"));
    xt_status_free(nowhere);
    s = xt_load(xt_sub(m, "backbone", -1), path);
    assert_non_null(strstr(xt_status_message(s), "xt_module_build"));
    xt_status_free(s);
    assert_null(xt_module_build(m, in));
    s = xt_load(xt_sub(m, "backbone", -1), path);
    assert_non_null(strstr(xt_status_message(s), "holds tensor head."));
    xt_status_free(s);
    /* a pretrained net, but for its head */
    assert_null(xt_load_with(xt_sub(m, "backbone", -1), path, .strict = XT_OFF, .report = &r));
    assert_true(r.loaded == 2 && r.missing == 0 && r.unexpected == 2 && strstr(r.names, "+ head.weight"));
    assert_true(xt_read(xt_module_find(small, "fc.weight"), had, sizeof had) &&
                xt_read(xt_module_find(m, "backbone.fc.weight"), has, sizeof has));
    assert_memory_equal(had, has, sizeof had);
    assert_null(xt_save(xt_sub(m, "backbone", -1), path));
    assert_null(xt_load_with(small, path, .strict = XT_OFF, .report = &r));
    assert_true(r.loaded == 2 && r.missing == 2 && r.unexpected == 0);
    assert_null(xt_load(xt_sub(m, "backbone", -1), path));
    xt_module_free(small);
    xt_module_free(m);
    remove(path);
    remove(dir);
    xt_finish();
}

/* in: x [B,3], scale [B,1] -> x W scale, and the norm of x W; a child's function is the caller's own */
static void two_ways(xt_module *m, const xt_tensor *in, xt_tensor *out, void *user) {
    xt_tensor h = xt_linear(m, "fc", in[0], 4);
    out[0] = xt_mul(h, in[1]);
    if (!*(bool *)user) out[1] = xt_sum(xt_square(h));
}

static void several_inputs_and_outputs(void **state) {
    (void)state;
    bool forgets = false;
    const float x[6] = {1, -2, 3, 0.5f, 4, -1}, s[2] = {2, -3};
    float w[12], b[4], y[8], norm, dw[12], want = 0;
    xt_module *m = xt_module_new_many(two_ways, 2, 2, &forgets);
    ok(xt_module_build_many(m, 2, (xt_spec[]){{XT_F32, {2, 3}}, {XT_F32, {2, 1}}}));
    assert_int_equal(xt_module_param_count(m), 16);
    xt_tensor in[2] = {xt_from_array(x, XT_F32, 2, 3), xt_from_array(s, XT_F32, 2, 1)}, out[2];
    assert_true(xt_forward_many(m, 2, in, 2, out));
    xt_backward(xt_add(xt_sum(out[0]), out[1]));
    assert_true(xt_read(out[0], y, sizeof y) && xt_read(out[1], &norm, sizeof norm));
    assert_true(xt_read(xt_grad(xt_module_find(m, "fc.weight")), dw, sizeof dw));
    assert_true(xt_read(xt_module_find(m, "fc.weight"), w, sizeof w));
    assert_true(xt_read(xt_module_find(m, "fc.bias"), b, sizeof b));
    for (int i = 0; i < 2; i++)
        for (int o = 0; o < 4; o++) {
            float h = b[o] + x[3 * i] * w[3 * o] + x[3 * i + 1] * w[3 * o + 1] + x[3 * i + 2] * w[3 * o + 2];
            assert_float_equal(y[4 * i + o], h * s[i], 1e-5);
            want += h * h;
        }
    assert_float_equal(norm, want, 1e-4);
    for (int o = 0; o < 4; o++) { /* of the first column: sum over i of (s + 2 h) x */
        float d = 0;
        for (int i = 0; i < 2; i++) d += (s[i] + 2 * y[4 * i + o] / s[i]) * x[3 * i];
        assert_float_equal(dw[3 * o], d, 1e-4);
    }
    xt_module_free(m);
    finish();
}

static void wrong_numbers_of_inputs(void **state) {
    (void)state;
    bool forgets = true;
    xt_module *m = xt_module_new_many(two_ways, 2, 2, &forgets), *plain = xt_module_new(one_part, NULL);
    xt_tensor in[3] = {xt_ones(XT_F32, 2, 3), xt_ones(XT_F32, 2, 1), xt_ones(XT_F32, 1)}, out[3];
    assert_false(xt_forward_many(m, 3, in, 2, out));
    assert_true(xt_is_error(out[0]) && xt_is_error(out[1]));
    error_says("3 inputs and 2 outputs", "takes 2 and gives 2");
    assert_true(xt_is_error(xt_forward(m, in[0])));
    error_says("takes 2 and gives 2", "call xt_forward_many");
    assert_false(xt_forward_many(plain, 2, in, 1, out));
    error_says("2 inputs", "takes 1 and gives 1");
    assert_true(xt_forward_many(plain, 1, in, 1, out)); /* which is xt_forward */
    assert_false(xt_forward_many(m, 2, in, 2, out));
    assert_true(xt_is_error(out[1]));
    error_says("did not fill out[1] of 2", "test_nn_modules.c");
    xt_status s = xt_module_build_many(m, 1, (xt_spec[]){{XT_F32, {2, 3}}});
    assert_non_null(strstr(xt_status_message(s), "1 input"));
    xt_status_free(s);
    s = xt_module_build_many(m, 2, (xt_spec[]){{XT_F32, {2, 3}}, {0}});
    assert_non_null(strstr(xt_status_message(s), "the spec of input 1 is no tensor"));
    xt_status_free(s);
    s = xt_module_build(m, (xt_spec){XT_F32, {2, 3}});
    assert_non_null(strstr(xt_status_message(s), "takes 2"));
    xt_status_free(s);
    assert_null(xt_module_new_many(two_ways, 0, 1, NULL));
    error_says("0 inputs", "at least 1");
    xt_module_free(m);
    xt_module_free(plain);
    xt_finish();
}

/* --- buffers of one's own --- */
/* An average of the inputs, and how many there were. */
static xt_tensor averaging(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    xt_tensor mean = xt_buffer(m, "mean", "zeros", 0, XT_F32, 2), count = xt_buffer(m, "count", "zeros", 0, XT_I64, 1);
    xt_tensor y = xt_linear(m, "fc", xt_minus(x, mean), 1);
    if (xt_is_training(m)) {
        xt_assign(mean, xt_add(xt_mul_scalar(mean, 0.5), xt_mul_scalar(xt_mean_axis(x, 0), 0.5)));
        xt_assign(count, xt_add_scalar(count, 1));
    }
    return y;
}
static void own_buffers(void **state) {
    (void)state;
    xt_module *m = xt_module_new(averaging, NULL), *other = xt_module_new(averaging, NULL);
    ok(xt_module_build(m, (xt_spec){XT_F32, {2, 2}})); /* its pass is of no data, and moves nothing */
    assert_true(xt_mark_step());
    assert_true(read(m, "mean")->most == 0 && xt_item(xt_module_find(m, "count")) == 0);
    xt_optimizer *opt = xt_adamw(m, .lr = 0.1, .weight_decay = 0.5);
    for (int step = 0; step < 3; step++) {
        xt_backward(xt_sum(xt_square(xt_forward(m, xt_from_array(((float[]){1, 2, 3, 4}), XT_F32, 2, 2)))));
        assert_true(xt_is_none(xt_grad(xt_module_find(m, "mean"))));
        xt_optimizer_step(opt);
        assert_true(xt_mark_step());
    }
    const float want[2] = {1.75f, 2.625f}; /* 7/8 of 2 and 3: no decay */
    for (int i = 0; i < 2; i++) assert_true(read(m, "mean")->v[i] == want[i]);
    assert_int_equal(xt_module_param_count(m), 3);
    for (int i = 0; i < xt_module_tensors(m); i++)
        assert_int_equal(xt_module_tensor_is_param(m, i), strncmp(xt_module_tensor_name(m, i), "fc.", 3) == 0);
    /* as any other tensor of it */
    ok(xt_save(m, "buffers.safetensors"));
    ok(xt_load(other, "buffers.safetensors"));
    xt_eval(other);
    xt_forward(other, xt_ones(XT_F32, 2, 2));
    assert_true(xt_mark_step());
    for (int i = 0; i < 2; i++) assert_true(read(other, "mean")->v[i] == want[i]);
    assert_true(xt_item(xt_module_find(other, "count")) == 3);
    xt_buffer(m, "more", "eye", 0, XT_F32, 2);
    error_says("xt_buffer more: init is \"eye\"", "zeros, ones, uniform or normal");
    remove("buffers.safetensors");
    finish();
}

/* A module that is built in the middle of a step and freed in it is nothing to that step. */
static void built_within_a_step(void **state) {
    (void)state;
    double sums[2];
    static float x[2][3] = {{1, 2, 3}, {4, 5, 6}};
    for (int k = 0; k < 2; k++) {
        xt_seed(4);
        xt_module *m = built(chain, 3);
        xt_optimizer *o = xt_sgd(m, .lr = 0.01);
        for (int i = 0; i < 4; i++) {
            xt_backward(xt_mean(xt_square(xt_forward(m, xt_from_array(x, XT_F32, 2, 3)))));
            xt_module *other = k && i ? xt_module_new(chain, NULL) : NULL;
            if (other) ok(xt_module_build(other, (xt_spec){XT_F32, {2, 3}}));
            xt_module_free(other);
            xt_optimizer_step(o);
            assert_true(xt_mark_step());
        }
        sums[k] = 0;
        for (int i = 0; i < 6; i++) sums[k] += xt_item(xt_sum(xt_square(xt_module_tensor(m, i))));
        xt_optimizer_free(o);
        xt_module_free(m);
    }
    assert_true(sums[0] == sums[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_names),
        cmocka_unit_test(own_buffers),
        cmocka_unit_test(built_within_a_step),
        cmocka_unit_test(several_inputs_and_outputs),
        cmocka_unit_test(wrong_numbers_of_inputs),
        cmocka_unit_test(containers),
        cmocka_unit_test(dropouts),
        cmocka_unit_test(wrong_calls),
        cmocka_unit_test(another_shape),
        cmocka_unit_test(one_vector),
        cmocka_unit_test(files_of_a_child),
        cmocka_unit_test(shared_layers),
        cmocka_unit_test(counts_as_text),
        cmocka_unit_test(modes_of_children),
        cmocka_unit_test(frozen_batch_norm),
        cmocka_unit_test(compiled_by_mode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
