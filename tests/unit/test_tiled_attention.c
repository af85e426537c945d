/* .tile of xt_self_attention and xt_multihead_attention on one device: outputs and gradients are those of all scores at
 * once, for tiles of every size that divides the positions, with and without the causal mask, in f32 and bf16, inside
 * checkpointed blocks, with masks of every kind and with dropout, which takes out the same weights; no tile's program
 * keeps scores of all pairs of positions; what cannot be is refused with a sentence. */
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
    float y[N], d[N], behind[4]; /* behind: drawn after the layer */
    double d_weight;
} result;

/* Two calls: a share that changes at one line would be data of the program from there on (moving_dropout). */
static xt_tensor block(xt_module *m, xt_tensor x, void *user) {
    const job *j = user;
    if (!j->dropout)
        return xt_self_attention(m, "attn", x, .heads = H, .causal = j->causal ? XT_ON : XT_OFF, .tile = j->tile);
    return xt_self_attention(m, "attn", x, .heads = H, .causal = j->causal ? XT_ON : XT_OFF, .tile = j->tile,
                             .dropout = j->dropout);
}
static xt_tensor moving(xt_module *m, xt_tensor x, void *user) {
    const job *j = user;
    return xt_self_attention(m, "attn", x, .heads = H, .causal = XT_ON, .tile = j->tile, .dropout = j->dropout);
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
    xt_tensor behind = xt_keep(xt_rand(XT_F32, 4));
    xt_backward(xt_sum(xt_mul(y, xt_from_array(r, XT_F32, B, T, C))));
    xt_tensor weights = xt_grad(xt_module_find(net, "attn.c_attn.weight"));
    assert_true(xt_mark_step());
    assert_true(xt_read(y, out.y, sizeof out.y) && xt_read(xt_grad(in), out.d, sizeof out.d));
    assert_true(xt_read(behind, out.behind, sizeof out.behind));
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
    for (int kind = 0; kind < 16; kind++) {
        job j = {.causal = kind & 1, .half = kind & 2, .checkpoint = kind & 4, .dropout = kind & 8 ? 0.3 : 0};
        result whole = run(j);
        double tolerance = j.half ? 0.02 : 1e-5; /* bf16: 8 bits, and sums in another order */
        for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++) {
            j.tile = tiles[i];
            result got = run(j);
            near(got.y, whole.y, tolerance, &j, "y");
            near(got.d, whole.d, tolerance, &j, "d_x");
            assert_true(fabs(got.d_weight - whole.d_weight) <= 10 * tolerance * whole.d_weight);
            assert_memory_equal(got.behind, whole.behind, sizeof got.behind);
        }
    }
}

/* A share that moves is data of one program, 0 and 1 too. */
static void moving_dropout(void **state) {
    (void)state;
    static const double shares[] = {0.1, 0.3, 0, 1, 0.5};
    enum { STEPS = sizeof shares / sizeof shares[0] };
    static float x[N], y[2][STEPS][N], d[2][STEPS][N], behind[2][STEPS][4];
    for (int i = 0; i < N; i++) x[i] = (float)(i * 37 % 101) / 25 - 2;
    for (int tiled = 0; tiled < 2; tiled++) {
        job j = {.tile = tiled ? 6 : 0, .causal = true};
        xt_seed(5);
        xt_module *net = xt_module_new(moving, &j);
        for (int i = 0; i < STEPS; i++) {
            j.dropout = shares[i];
            xt_tensor in = xt_keep(xt_from_array(x, XT_F32, B, T, C));
            xt_requires_grad(in, true);
            xt_tensor out = xt_keep(xt_forward(net, in)), next = xt_keep(xt_rand(XT_F32, 4));
            xt_backward(xt_sum(xt_square(xt_add(out, xt_mul(in, 0.1)))));
            assert_true(xt_mark_step());
            assert_true(xt_read(out, y[tiled][i], sizeof y[0][0]) && xt_read(xt_grad(in), d[tiled][i], sizeof d[0][0]));
            assert_true(xt_read(next, behind[tiled][i], sizeof behind[0][0]));
            xt_drop(out), xt_drop(next), xt_drop(in);
        }
        xt_module_free(net);
    }
    job j = {.tile = 6, .causal = true};
    for (int i = 0; i < STEPS; i++) {
        if (shares[i] < 1) near(y[1][i], y[0][i], 1e-5, &j, "y");
        near(d[1][i], d[0][i], 1e-5, &j, "d_x");
        assert_memory_equal(behind[1][i], behind[0][i], sizeof behind[0][0]);
    }
}

/* --- xt_multihead_attention: T queries, S keys; 10 of them are no whole number of blocks of random words --- */
enum { MT = 12, MS = 10, MB = 2, ME = 8, MH = 2, MQ = MT * MB * ME, MK = MS * MB * ME, MASK = MB * MH * MT * MS };
enum { NONE, FLAGS, FLOATS, FLAGS_OF_HEADS, FLOATS_OF_HEADS, MASKS }; /* attn_mask: [T,S] or [B*heads,T,S] */
typedef struct mha_job {
    int64_t tile;
    int mask;
    bool keys, causal, batch_first, lone, half;
    double dropout;
} mha_job;
typedef struct mha_result {
    float y[MQ], weights[MB * MT * MS], d_q[MQ], d_k[MK], d_mask[MASK], behind[4];
} mha_result;
typedef struct mha_call {
    const mha_job *j;
    xt_tensor k, mask, keys, weights;
} mha_call;

static xt_tensor mha_net(xt_module *m, xt_tensor q, void *user) {
    mha_call *c = user;
    if (!c->j->dropout)
        return xt_multihead_attention(m, "attn", q, c->k, c->k, .heads = MH, .causal = c->j->causal ? XT_ON : XT_OFF,
                                      .batch_first = c->j->batch_first ? XT_ON : XT_OFF, .key_padding_mask = c->keys,
                                      .attn_mask = c->mask, .out_weights = &c->weights, .tile = c->j->tile);
    return xt_multihead_attention(m, "attn", q, c->k, c->k, .heads = MH, .dropout = c->j->dropout,
                                  .causal = c->j->causal ? XT_ON : XT_OFF,
                                  .batch_first = c->j->batch_first ? XT_ON : XT_OFF, .key_padding_mask = c->keys,
                                  .attn_mask = c->mask, .out_weights = &c->weights, .tile = c->j->tile);
}

static xt_tensor numbers(float *v, int n, int by) {
    for (int i = 0; i < n; i++) v[i] = (float)(i * by % 97) / 40 - 1.2F;
    return xt_from_array(v, XT_F32, n);
}

static xt_tensor sequences(const mha_job *j, float *v, int64_t length, int by) {
    int64_t batch = j->lone ? 1 : MB;
    xt_tensor x = numbers(v, (int)(length * batch * ME), by);
    x = j->lone          ? xt_reshape(x, length, ME)
        : j->batch_first ? xt_reshape(x, batch, length, ME)
                         : xt_reshape(x, length, batch, ME);
    x = xt_keep(x);
    xt_requires_grad(x, true);
    return x;
}

static mha_result run_mha(mha_job j) {
    static float vq[MQ], vk[MK], vm[MASK], r[MQ];
    mha_result out = {0};
    mha_call c = {.j = &j};
    int64_t batch = j.lone ? 1 : MB;
    bool wide = j.mask == FLAGS_OF_HEADS || j.mask == FLOATS_OF_HEADS, floats = j.mask == FLOATS
    || j.mask == FLOATS_OF_HEADS;
    int n = (int)((wide ? batch * MH : 1) * MT * MS);
    xt_seed(7);
    xt_module *net = xt_module_new(mha_net, &c);
    xt_tensor q = sequences(&j, vq, MT, 37);
    c.k = sequences(&j, vk, MS, 13);
    if (j.mask) {
        xt_tensor mask = numbers(vm, n, 29);
        mask = wide ? xt_reshape(mask, batch * MH, MT, MS) : xt_reshape(mask, MT, MS);
        c.mask = xt_keep(floats ? mask : xt_gt(mask, 0.6));
        if (floats) xt_requires_grad(c.mask, true);
    }
    xt_tensor key = xt_ge(xt_arange(MS, XT_I32), MS - 2);
    if (j.keys) c.keys = j.lone ? key : xt_expand(xt_unsqueeze(key, 0), batch, MS);
    if (j.half) xt_autocast_begin(XT_BF16);
    xt_tensor y = xt_forward(net, q);
    if (j.half) xt_autocast_end();
    y = xt_keep(xt_cast(y, XT_F32));
    xt_tensor weights = xt_keep(xt_cast(c.weights, XT_F32)), behind = xt_keep(xt_rand(XT_F32, 4));
    xt_backward(
        xt_add(xt_sum(xt_mul(xt_reshape(y, -1), numbers(r, (int)(MT * batch * ME), 11))), xt_sum(xt_square(weights))));
    assert_true(xt_mark_step());
    assert_true(xt_read(y, out.y, (size_t)(MT * batch * ME) * 4));
    assert_true(xt_read(weights, out.weights, (size_t)(batch * MT * MS) * 4));
    assert_true(xt_read(xt_grad(q), out.d_q, (size_t)(MT * batch * ME) * 4));
    assert_true(xt_read(xt_grad(c.k), out.d_k, (size_t)(MS * batch * ME) * 4));
    if (floats) assert_true(xt_read(xt_grad(c.mask), out.d_mask, (size_t)n * 4));
    assert_true(xt_read(behind, out.behind, sizeof out.behind));
    xt_module_free(net);
    return out;
}

static void mha_near(const float *got, const float *want, int n, const mha_job *j, const char *what) {
    double scale = 0, tolerance = j->half ? 0.02 : 1e-5;
    for (int i = 0; i < n; i++) scale = fmax(scale, fabs((double)want[i]));
    assert_true((scale > 0.01 || (n == MASK && j->mask != FLOATS && j->mask != FLOATS_OF_HEADS)) && scale < 1e6);
    for (int i = 0; i < n; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= tolerance * scale))
            fail_msg("tile %d, mask %d, keys %d, causal %d, batch first %d, lone %d, dropout %g: %s[%d] is %.8g, all "
                     "scores at once give %.8g",
                     (int)j->tile, j->mask, j->keys, j->causal, j->batch_first, j->lone, j->dropout, what, i,
                     (double)got[i], (double)want[i]);
}

static void multihead_same_as_whole(void **state) {
    (void)state;
    static const int64_t tiles[] = {1, 3, 4, 6, 12, 100};
    for (int kind = 0; kind < 3 * MASKS; kind++) {
        mha_job j = {.mask = kind % MASKS,
                     .keys = kind & 1,
                     .causal = kind % 4 == 2,
                     .batch_first = kind % 3 == 1,
                     .lone = kind % 5 == 3,
                     .half = kind % 7 == 6,
                     .dropout = kind % 3 ? 0.25 : 0};
        mha_result whole = run_mha(j);
        for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++) {
            j.tile = tiles[i];
            mha_result got = run_mha(j);
            mha_near(got.y, whole.y, MQ, &j, "y");
            mha_near(got.weights, whole.weights, MB * MT * MS, &j, "weights");
            mha_near(got.d_q, whole.d_q, MQ, &j, "d_q");
            mha_near(got.d_k, whole.d_k, MK, &j, "d_k");
            mha_near(got.d_mask, whole.d_mask, MASK, &j, "d_mask");
            assert_memory_equal(got.behind, whole.behind, sizeof got.behind);
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
                 {{.tile = 8, .dropout = 1.1}, "the probability is 1.1"}};
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
    mha_job j = {.tile = 5};
    mha_call c = {.j = &j, .k = xt_randn(XT_F32, MS, MB, ME)};
    xt_module *net = xt_module_new(mha_net, &c);
    xt_forward(net, xt_randn(XT_F32, MT, MB, ME));
    assert_non_null(xt_error());
    assert_non_null(strstr(xt_status_message(xt_error()),
                           "xt_multihead_attention attn: .tile = 5 does not divide the positions T = 12 of the query"));
    xt_clear_error();
    xt_module_free(net);
}

int main(void) {
    setenv("XT_SUMMARY", "off", 1);
    setenv("XT_PROGRESS", "off", 1);
    setenv("XT_CACHE", "off", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_scores_of_all), cmocka_unit_test(same_as_whole),
                                       cmocka_unit_test(moving_dropout), cmocka_unit_test(multihead_same_as_whole),
                                       cmocka_unit_test(refused)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    xt_finish();
    return failed;
}
