/* Weights as integers (xt_quantize): each is as near as its group's factor says, layers compute with them, what does
 * not fit stays, and what cannot be is an error that changes nothing. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <xtrain/xtrain.h>

#include "base/base.h"

enum { IN = 96, OUT = 5, ROWS = 3 };

static xt_tensor two_layers(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "b", xt_relu(xt_linear(m, "a", x, IN)), OUT, .bias = XT_OFF);
}

static xt_module *make(void) {
    xt_module *m = xt_module_new(two_layers, NULL);
    assert_null(xt_module_build(m, (xt_spec){XT_F32, {1, IN}}));
    return m;
}

static const char *take_message(void) {
    static char text[400];
    xt_status e = xt_error();
    snprintf(text, sizeof text, "%s", e ? xt_status_message(e) : "");
    xt_clear_error();
    return text;
}

/* The weight number (row, p) that integers and factors stand for. */
static double number_at(const uint8_t *q, const float *f, int bits, int group, int row, int p) {
    int k = p % group, half = group / 2, at = row * IN + p;
    double factor = (double)f[at / group];
    if (bits == 8) return factor * (int8_t)q[at];
    unsigned byte = q[(row * IN + p - k) / 2 + k % half];
    return factor * ((double)(k < half ? byte & 15 : byte >> 4) - 8);
}

static void weights_are_near(void **state) {
    (void)state;
    static const struct {
        int bits, group;
        double half_steps; /* how far a number may be, in factors */
    } rows[] = {{8, 32, 0.5001}, {4, 32, 1.0001}, {8, 96, 0.5001}, {4, 48, 1.0001}};
    for (size_t r = 0; r < BASE_COUNT(rows); r++) {
        xt_module *m = make();
        float w[IN * OUT], f[IN * OUT], x[ROWS * IN], y[ROWS * IN], got[ROWS * OUT];
        uint8_t q[IN * OUT];
        int bits = rows[r].bits, group = rows[r].group;
        assert_true(xt_read(xt_module_find(m, "b.weight"), w, sizeof w));
        for (int i = 0; i < group; i++) w[i] = 0; /* a group of zeros */
        w[group + 1] = -3, w[2 * IN] = 4;
        xt_assign(xt_module_find(m, "b.weight"), xt_from_array(w, XT_F32, OUT, IN));
        xt_mark_step();
        assert_int_equal(xt_quantize(m, "b.weight", .bits = bits, .block_size = group), 1);
        xt_tensor integers = xt_module_find(m, "b.weight"), factors = xt_module_find(m, "b.weight_scale");
        assert_int_equal(xt_dim(integers, 2), bits == 8 ? group : group / 2);
        assert_true(xt_read(integers, q, (size_t)(IN * OUT * bits / 8)));
        assert_true(xt_read(factors, f, (size_t)(IN * OUT / group) * sizeof *f));
        for (int i = 0; i < IN * OUT; i++) {
            double is = number_at(q, f, bits, group, i / IN, i % IN);
            if (!(fabs(is - (double)w[i]) <= rows[r].half_steps * fabs((double)f[i / group])))
                fail_msg("%d bits: weight %d is %g, was %g", bits, i, is, (double)w[i]);
        }
        /* the layer computes with just these */
        for (int i = 0; i < ROWS * IN; i++) x[i] = (float)(i % 11) / 7 - 0.6f;
        xt_eval(m);
        xt_no_grad_begin();
        xt_tensor in = xt_from_array(x, XT_F32, ROWS, IN);
        assert_true(xt_read(xt_forward(m, in), got, sizeof got));
        xt_tensor a = xt_matmul(in, xt_transpose(xt_module_find(m, "a.weight"), 0, 1));
        assert_true(xt_read(xt_relu(xt_add(a, xt_module_find(m, "a.bias"))), y, sizeof y));
        xt_no_grad_end();
        for (int i = 0; i < ROWS * OUT; i++) {
            double want = 0;
            for (int p = 0; p < IN; p++) want += (double)y[i / OUT * IN + p] * number_at(q, f, bits, group, i % OUT, p);
            if (!(fabs(want - (double)got[i]) <= 1e-4)) fail_msg("%d bits: %g, %g", bits, want, (double)got[i]);
        }
        xt_module_free(m);
    }
}

static void what_fits(void **state) {
    (void)state;
    xt_module *m = make();
    int n = xt_module_tensors(m);
    assert_int_equal(xt_quantize(m, "*.bias"), 0);
    assert_int_equal(xt_quantize(m, "*.weight", .block_size = 64), 0); /* rows of 96 */
    assert_int_equal(xt_module_tensors(m), n);
    assert_int_equal(xt_quantize(m, "*"), 2);
    assert_int_equal(xt_module_tensors(m), n + 2);
    assert_int_equal(xt_quantize(m, "*", .bits = 4), 0); /* integers stay what they are */
    for (int i = 0; i < n + 2; i++)
        if (strstr(xt_module_tensor_name(m, i), "weight")) assert_false(xt_module_tensor_is_param(m, i));
    xt_module_free(m);
}

static void refusals_change_nothing(void **state) {
    (void)state;
    xt_module *m = make(), *unbuilt = xt_module_new(two_layers, NULL);
    int n = xt_module_tensors(m);
    assert_int_equal(xt_quantize(unbuilt, "*"), -1);
    assert_non_null(strstr(take_message(), "no tensors yet"));
    assert_int_equal(xt_quantize(m, "*", .bits = 3), -1);
    assert_non_null(strstr(take_message(), ".bits = 3"));
    assert_int_equal(xt_quantize(m, "*", .block_size = 0), -1);
    assert_non_null(strstr(take_message(), ".block_size = 0"));
    assert_int_equal(xt_quantize(m, "*", .block_size = 33), -1);
    take_message();
    xt_assign(xt_module_find(m, "b.weight"), xt_full(NAN, XT_F32, OUT, IN));
    xt_mark_step();
    assert_int_equal(xt_quantize(m, "b.weight"), -1);
    assert_non_null(strstr(take_message(), "b.weight has numbers that are not finite"));
    assert_int_equal(xt_module_tensors(m), n);
    assert_true(xt_module_tensor_is_param(m, xt_module_next(m, "b.weight", 0)));
    xt_module_free(m);
    xt_module_free(unbuilt);
}

/* --- adapters over integers --- */
typedef struct sizes {
    int64_t in, middle, out, rows;
} sizes;

static xt_tensor adapted(xt_module *m, xt_tensor x, void *user) {
    const sizes *z = user;
    x = xt_relu(xt_linear(m, "a", x, z->in));
    return xt_linear(m, "c", xt_tanh(xt_linear(m, "b", x, z->middle, .bias = XT_OFF)), z->out, .bias = XT_OFF);
}

/* The numbers that integers stand for take the place of the weights in `into`. */
static void dequantise_into(const xt_module *from, xt_module *into, const char *name, int bits) {
    char factors[64];
    snprintf(factors, sizeof factors, "%s_scale", name);
    xt_tensor q = xt_module_find(from, name), f = xt_module_find(from, factors), w = xt_module_find(into, name);
    int64_t rows = xt_dim(w, 0), in = xt_dim(w, 1), groups = xt_dim(f, 1), half = 16;
    size_t n = (size_t)(rows * in);
    uint8_t *bytes = malloc(n);
    float *scale = malloc((size_t)(rows * groups) * sizeof *scale), *wide = malloc(n * sizeof *wide);
    assert_true(bytes && scale && wide);
    assert_true(xt_read(q, bytes, n * (size_t)bits / 8) && xt_read(f, scale, (size_t)(rows * groups) * sizeof *scale));
    for (size_t i = 0; i < n; i++) {
        size_t k = i % 32, base = i - k;
        unsigned byte = bits == 8 ? 0 : bytes[base / 2 + k % (size_t)half];
        float number = bits == 8 ? (int8_t)bytes[i] : (float)(k < 16 ? byte & 15 : byte >> 4) - 8;
        wide[i] = number * scale[i / 32];
    }
    xt_assign(w, xt_from_array(wide, XT_F32, rows, in));
    xt_mark_step();
    free(bytes);
    free(scale);
    free(wide);
}

enum { STEPS = 3 };
static void train(xt_module *m, const sizes *z, double *losses) {
    assert_true(xt_lora(m, "*.weight", .r = 3, .alpha = 9));
    assert_null(xt_module_build(m, (xt_spec){XT_F32, {1, z->in}}));
    xt_seed(5);
    xt_init_normal(m, "*.lora_?.weight", .std = 0.1);
    xt_optimizer *o = xt_adamw(m, .lr = 1e-3);
    size_t n = (size_t)(z->rows * z->in);
    float *x = malloc(n * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++) x[i] = (float)(i * 7 % 23) / 11 - 1;
    for (int step = 0; step < STEPS; step++) {
        xt_tensor loss = xt_mean(xt_square(xt_forward(m, xt_from_array(x, XT_F32, z->rows, z->in))));
        xt_backward(loss);
        losses[step] = xt_item(loss);
        xt_optimizer_step(o);
        xt_mark_step();
    }
    free(x);
    xt_optimizer_free(o);
}

/* Losses and adapters are those over f32 weights of the same numbers, and no integer moves. */
static void adapters_learn(void **state) {
    (void)state;
    static sizes all[] = {{96, 64, 5, 3}, {96, 64, 5, 50}, {64, 8192, 1100, 40}};
    for (size_t k = 0; k < BASE_COUNT(all); k++)
        for (int bits = 8; bits >= 4; bits -= 4) {
            sizes *z = &all[k];
            double narrow[STEPS], wide[STEPS];
            xt_module *m[2];
            for (int i = 0; i < 2; i++) {
                xt_seed(3);
                m[i] = xt_module_new(adapted, z);
                assert_null(xt_module_build(m[i], (xt_spec){XT_F32, {1, z->in}}));
            }
            assert_int_equal(xt_quantize(m[0], "*.weight", .bits = bits), 3);
            static const char *const names[] = {"a.weight", "b.weight", "c.weight"};
            for (size_t i = 0; i < BASE_COUNT(names); i++) dequantise_into(m[0], m[1], names[i], bits);
            train(m[0], z, narrow);
            train(m[1], z, wide);
            if (!(wide[STEPS - 1] < wide[0])) fail_msg("%g, %g", wide[0], wide[STEPS - 1]);
            for (int i = 0; i < STEPS; i++)
                if (!(fabs(narrow[i] - wide[i]) <= 2e-6 * fabs(wide[i])))
                    fail_msg("%lld rows, %d bits, step %d: %.9g, %.9g", (long long)z->rows, bits, i, narrow[i],
                             wide[i]);
            int matrices = 0;
            for (int i = 0; (i = xt_module_next(m[1], "*.lora_?.weight", i)) >= 0; i++, matrices++) {
                xt_tensor a = xt_module_find(m[0], xt_module_tensor_name(m[1], i)), b = xt_module_tensor(m[1], i);
                double far = xt_item(xt_max(xt_abs(xt_minus(a, b))));
                if (!(far <= 1e-4)) fail_msg("%s differs by %g", xt_module_tensor_name(m[1], i), far);
            }
            assert_int_equal(matrices, 6);
            assert_null(xt_error());
            xt_module_free(m[0]);
            xt_module_free(m[1]);
        }
}

/* --- in files --- */
enum { WORDS = 40, WIDTH = 64 };
static xt_tensor tied(xt_module *m, xt_tensor tokens, void *user) {
    (void)user;
    xt_tensor x = xt_embedding(m, "words", tokens, WORDS, WIDTH);
    x = xt_add(x, xt_linear(m, "fc", xt_linear(m, "odd", x, 33), WIDTH)); /* rows of 33 stay what they are */
    return xt_matmul(x, xt_transpose(xt_param(m, "words.weight", "normal", 1, XT_F32, WORDS, WIDTH), 0, 1));
}

static void say(xt_module *m, float *out, size_t size) {
    int64_t tokens[] = {3, 39, 0, 7};
    xt_eval(m);
    xt_no_grad_begin();
    if (!xt_read(xt_forward(m, xt_from_array(tokens, XT_I64, 4)), out, size)) fail_msg("%s", take_message());
    xt_no_grad_end();
    xt_mark_step();
}

/* A module that was quantised and saved is so again where it is loaded: in front of its first pass, into weights that
 * are there, and into integers; of another module's wide file nothing is left. */
static void files_keep_integers(void **state) {
    (void)state;
    char path[4096];
    const char *dir = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/quantised-%ld.safetensors", dir ? dir : "/tmp", (long)getpid());
    for (int bits = 8; bits >= 4; bits -= 4) {
        float want[4 * WORDS], got[4 * WORDS];
        xt_seed(1);
        xt_module *m = xt_module_new(tied, NULL);
        assert_null(xt_module_build(m, (xt_spec){XT_I64, {4}}));
        assert_int_equal(xt_quantize(m, "*.weight", .bits = bits), 2);
        int tensors = xt_module_tensors(m);
        say(m, want, sizeof want);
        assert_null(xt_save(m, path));
        for (int how = 0; how < 4; how++) {
            xt_seed(2);
            xt_module *other = xt_module_new(tied, NULL);
            if (how > 0) assert_null(xt_module_build(other, (xt_spec){XT_I64, {4}}));
            if (how == 2) assert_int_equal(xt_quantize(other, "*.weight", .bits = bits), 2);
            if (how == 3) say(other, got, sizeof got);
            xt_status s = xt_load(other, path);
            if (s) fail_msg("%d bits, %d: %s", bits, how, xt_status_message(s));
            say(other, got, sizeof got);
            for (size_t i = 0; i < BASE_COUNT(want); i++)
                if (memcmp(&want[i], &got[i], sizeof *got) != 0)
                    fail_msg("%d bits, %d: number %zu is %g, was %g", bits, how, i, (double)got[i], (double)want[i]);
            assert_int_equal(xt_module_tensors(other), tensors);
            assert_false(xt_module_tensor_is_param(other, xt_module_next(other, "words.weight", 0)));
            assert_null(xt_save(other, path)); /* and again */
            xt_module_free(other);
        }
        xt_module_free(m);
    }
    assert_int_equal(unlink(path), 0);
}

/* --- orders of calls --- */
typedef struct told {
    char text[4096];
    size_t n;
} told;
static void note(xt_severity sev, const char *text, size_t n, void *user) {
    told *t = user;
    (void)sev;
    if (n > sizeof t->text - 1 - t->n) n = sizeof t->text - 1 - t->n;
    memcpy(t->text + t->n, text, n);
    t->text[t->n += n] = 0;
}

/* What comes behind xt_quantize is told what its pattern met: adapters are at home there, and frozen integers are. */
static void what_comes_behind(void **state) {
    (void)state;
    static sizes z = {96, 64, 5, 3};
    enum { LORA, FREEZE, INIT, UNFREEZE };
    static const char *const wants[] = {
        [LORA] = NULL,
        [FREEZE] = NULL,
        [INIT] = "xt_init at ",
        [UNFREEZE] = "fits no parameter; a.weight is integers since xt_quantize, which never learn",
    };
    for (int call = 0; call < (int)BASE_COUNT(wants); call++) {
        told t = {.n = 0};
        xt_module *m = xt_module_new(adapted, &z);
        assert_null(xt_module_build(m, (xt_spec){XT_F32, {1, z.in}}));
        assert_int_equal(xt_quantize(m, "*.weight", .bits = 8), 3);
        xt_set_sink(note, &t);
        if (call == LORA) assert_true(xt_lora(m, "*.weight", .r = 2));
        if (call == FREEZE) assert_int_equal(xt_freeze(m, "*.weight"), 0);
        if (call == INIT) assert_int_equal(xt_init_normal(m, "*.weight", .std = 0.1), 0);
        if (call == UNFREEZE) assert_int_equal(xt_unfreeze(m, "*.weight"), 0);
        assert_null(xt_module_build(m, (xt_spec){XT_F32, {1, z.in}}));
        xt_set_sink(NULL, NULL);
        if (wants[call] ? !strstr(t.text, wants[call]) : !!strstr(t.text, "fits")) fail_msg("%d: %s", call, t.text);
        if (call == INIT) assert_non_null(strstr(t.text, "a.weight is integers since xt_quantize: call this before"));
        xt_module_free(m);
    }
}

/* Where a pattern fits parameters too, the integers among what it fits are told. */
static xt_tensor normed(xt_module *m, xt_tensor x, void *user) {
    return adapted(m, xt_layer_norm(m, "norm", x), user);
}
static void integers_among_parameters(void **state) {
    (void)state;
    static sizes z = {96, 64, 5, 3};
    told t = {.n = 0};
    xt_module *m = xt_module_new(normed, &z);
    assert_null(xt_module_build(m, (xt_spec){XT_F32, {1, z.in}}));
    assert_int_equal(xt_quantize(m, "?.weight"), 3);
    xt_set_sink(note, &t);
    assert_int_equal(xt_freeze(m, "*.weight"), 1);
    assert_int_equal(xt_init_constant(m, "norm.*", 1), 2);
    assert_int_equal(t.n, 0);
    assert_int_equal(xt_init_constant(m, "*.weight", 1), 1);
    assert_non_null(strstr(t.text, "\"*.weight\" fits 1 parameter; a.weight is integers since xt_quantize: call this"));
    assert_int_equal(xt_unfreeze(m, "*.weight"), 1);
    assert_non_null(strstr(t.text, "\"*.weight\" fits 1 parameter; a.weight is integers since xt_quantize, which"));
    xt_set_sink(NULL, NULL);
    xt_module_free(m);
}

/* Floats that are loaded in the place of integers: nothing of these is left over. */
static void floats_take_their_place(void **state) {
    (void)state;
    static sizes z = {96, 64, 5, 3};
    char path[2][300];
    const char *dir = getenv("TMPDIR");
    for (int i = 0; i < 2; i++)
        snprintf(path[i], sizeof path[i], "%s/places-%d-%ld", dir ? dir : "/tmp", i, (long)getpid());
    xt_module *m = xt_module_new(adapted, &z);
    assert_null(xt_module_build(m, (xt_spec){XT_F32, {1, z.in}}));
    assert_null(xt_save(m, path[0]));
    assert_int_equal(xt_quantize(m, "*.weight"), 3);
    assert_null(xt_save(m, path[1]));
    xt_module_free(m);
    told t = {.n = 0};
    m = xt_module_new(adapted, &z);
    assert_null(xt_load(m, path[1]));
    assert_null(xt_load(m, path[0]));
    xt_set_sink(note, &t);
    assert_true(isfinite(xt_item(xt_sum(xt_forward(m, xt_ones(XT_F32, 1, 96))))));
    xt_mark_step();
    assert_true(xt_module_tensor_is_param(m, xt_module_next(m, "a.weight", 0)));
    xt_module_free(m);
    xt_set_sink(NULL, NULL);
    if (t.n) fail_msg("%s", t.text);
    for (int i = 0; i < 2; i++) assert_int_equal(unlink(path[i]), 0);
}

/* Integers and their factors are not turned around, and nothing passes them by in silence. */
static void integers_are_not_turned(void **state) {
    (void)state;
    static sizes z = {96, 96, 96, 3};
    static const char *const patterns[] = {"a.weight", "a.weight_scale", "*"};
    char path[300], other[310];
    const char *dir = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/turned-%ld", dir ? dir : "/tmp", (long)getpid());
    snprintf(other, sizeof other, "%s-2", path);
    xt_module *m = xt_module_new(adapted, &z), *unbuilt = xt_module_new(adapted, &z);
    assert_null(xt_module_build(m, (xt_spec){XT_F32, {1, z.in}}));
    assert_int_equal(xt_quantize(m, "a.weight"), 1);
    assert_null(xt_save(m, path));
    for (size_t i = 0; i < BASE_COUNT(patterns); i++) {
        xt_status all[] = {xt_save_with(m, other, .transposed = patterns[i]),
                           xt_load_with(m, path, .transposed = patterns[i]),
                           xt_load_with(unbuilt, path, .transposed = patterns[i]),
                           xt_convert_weights(path, other, .transposed = patterns[i])};
        for (size_t k = 0; k < BASE_COUNT(all); k++) {
            if (!all[k]) fail_msg("%s, %zu: nothing is said", patterns[i], k);
            if (!strstr(xt_status_message(all[k]), "is kept as integers with a factor for each group"))
                fail_msg("%s, %zu: %s", patterns[i], k, xt_status_message(all[k]));
            xt_status_free(all[k]);
        }
        assert_int_equal(access(other, F_OK), -1);
    }
    assert_null(xt_convert_weights(path, other, .transposed = "b.weight")); /* which is none */
    assert_int_equal(unlink(other) | unlink(path), 0);
    xt_module_free(m);
    xt_module_free(unbuilt);
}

static int end(void **state) {
    (void)state;
    return xt_finish() || live_get(LIVE_status) != 0 || live_get(LIVE_module) != 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_near),          cmocka_unit_test(what_fits),
        cmocka_unit_test(refusals_change_nothing),   cmocka_unit_test(adapters_learn),
        cmocka_unit_test(files_keep_integers),       cmocka_unit_test(what_comes_behind),
        cmocka_unit_test(integers_among_parameters), cmocka_unit_test(floats_take_their_place),
        cmocka_unit_test(integers_are_not_turned)};
    return cmocka_run_group_tests(tests, NULL, end);
}
