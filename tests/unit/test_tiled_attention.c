/* xt_self_attention with .tile on one device: outputs and gradients are those of all scores at once, for tiles of every
 * size that divides the positions, with and without the causal mask, in f32 and bf16, inside checkpointed blocks;
 * no tile's program keeps scores of all pairs of positions; what cannot be is refused with a sentence. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <xtrain/xtrain.h>

enum { B = 2, H = 2, T = 24, D = 6, C = H * D, N = B * T * C };
typedef struct job {
    int64_t tile;
    bool causal, half, checkpoint;
    double dropout;
} job;
typedef struct result {
    float y[N], d[N];
    double d_weight;
} result;

static xt_tensor block(xt_module *m, xt_tensor x, void *user) {
    const job *j = user;
    return xt_self_attention(m, "attn", x, .heads = H, .causal = j->causal ? XT_ON : XT_OFF, .tile = j->tile,
                             .dropout = j->dropout);
}
static xt_tensor net_of(xt_module *m, xt_tensor x, void *user) {
    const job *j = user;
    return j->checkpoint ? xt_checkpoint_block(block, m, x, user) : block(m, x, user);
}

static result run(job j) {
    static float x[N], r[N];
    result out;
    for (int i = 0; i < N; i++) x[i] = (float)(i * 37 % 101) / 25 - 2, r[i] = (float)(i * 13 % 47) / 23 - 1;
    xt_seed(3);
    xt_module *net = xt_module_new(net_of, &j);
    xt_tensor in = xt_keep(xt_from_array(x, XT_F32, B, T, C));
    xt_requires_grad(in, true);
    if (j.half) xt_autocast_begin(XT_BF16);
    xt_tensor y = xt_cast(xt_forward(net, in), XT_F32);
    if (j.half) xt_autocast_end();
    y = xt_keep(y);
    xt_backward(xt_sum(xt_mul(y, xt_from_array(r, XT_F32, B, T, C))));
    xt_tensor weights = xt_grad(xt_module_find(net, "attn.c_attn.weight"));
    assert_true(xt_mark_step());
    assert_true(xt_read(y, out.y, sizeof out.y) && xt_read(xt_grad(in), out.d, sizeof out.d));
    out.d_weight = xt_item(xt_sum(xt_square(weights)));
    xt_mark_step();
    xt_module_free(net);
    return out;
}

static void near(const float *got, const float *want, double tolerance, const job *j, const char *what) {
    double scale = 0;
    for (int i = 0; i < N; i++) scale = fmax(scale, fabs((double)want[i]));
    assert_true(scale > 0.01 && scale < 1e6);
    for (int i = 0; i < N; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= tolerance * scale))
            fail_msg("tile %d, causal %d, bf16 %d, checkpoint %d: %s[%d] is %.8g, all scores at once give %.8g",
                     (int)j->tile, j->causal, j->half, j->checkpoint, what, i, (double)got[i], (double)want[i]);
}

static void same_as_whole(void **state) {
    (void)state;
    static const int64_t tiles[] = {1, 2, 6, 8, 12, 24, 100};
    for (int kind = 0; kind < 8; kind++) {
        job j = {.causal = kind & 1, .half = kind & 2, .checkpoint = kind & 4};
        result whole = run(j);
        double tolerance = j.half ? 0.02 : 1e-5; /* bf16: 8 bits, and sums in another order */
        for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++) {
            j.tile = tiles[i];
            result got = run(j);
            near(got.y, whole.y, tolerance, &j, "y");
            near(got.d, whole.d, tolerance, &j, "d_x");
            assert_true(fabs(got.d_weight - whole.d_weight) <= 10 * tolerance * whole.d_weight);
        }
    }
}

static int rehearse(void *user) {
    job *j = user;
    xt_module *net = xt_module_new(net_of, j);
    xt_tensor x = xt_randn(XT_F32, 1, 256, C);
    xt_backward(xt_mean(xt_square(xt_forward(net, x))));
    return !xt_mark_step();
}

/* What a compiler is given: all scores at once are arrays [1,2,256,256], whatever it makes of them. First, since a
 * recording wants no device to be open. */
static void no_scores_of_all(void **state) {
    (void)state;
    for (int tiled = 0; tiled < 2; tiled++) {
        job j = {.causal = true, .tile = tiled ? 32 : 0};
        xt_recording *r = NULL;
        assert_null(xt_record(rehearse, &j, 1, &r));
        assert_true(xt_recording_count(r) > 0);
        for (int i = 0; i < xt_recording_count(r); i++)
            assert_int_equal(strstr(xt_recording_text(r, i), "1x2x256x256") != NULL, !tiled);
        xt_recording_free(r);
    }
}

static void refused(void **state) {
    (void)state;
    static const struct {
        job j;
        const char *words;
    } cases[] = {{{.tile = 7}, ".tile = 7 does not divide the positions T = 24"},
                 {{.tile = -1}, ".tile = -1 does not divide"},
                 {{.tile = 8, .dropout = 0.1}, ".tile = 8 and .dropout = 0.1"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        job j = cases[i].j;
        xt_module *net = xt_module_new(net_of, &j);
        xt_forward(net, xt_randn(XT_F32, B, T, C));
        xt_status s = xt_error();
        assert_non_null(s);
        assert_int_equal(xt_status_code(s), XT_INVALID_ARGUMENT);
        if (!strstr(xt_status_message(s), cases[i].words))
            fail_msg("%s; %s was expected", xt_status_message(s), cases[i].words);
        xt_clear_error();
        xt_module_free(net);
    }
    job j = {.tile = 8, .dropout = 0.1}; /* in evaluation nothing is dropped */
    xt_module *net = xt_module_new(net_of, &j);
    xt_eval(net);
    xt_forward(net, xt_randn(XT_F32, B, T, C));
    assert_null(xt_error());
    xt_module_free(net);
}

int main(void) {
    setenv("XT_SUMMARY", "off", 1);
    setenv("XT_PROGRESS", "off", 1);
    setenv("XT_CACHE", "off", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_scores_of_all), cmocka_unit_test(same_as_whole),
                                       cmocka_unit_test(refused)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    xt_finish();
    return failed;
}
