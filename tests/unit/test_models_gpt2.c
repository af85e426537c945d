/* GPT-2: its options, Hugging Face's files, and generation with a cache against whole passes. */
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
#include "format/safetensors.h"
#include "models/generate.h"
#include "models/gpt2_files.h"

enum { VOCAB = 31, CONTEXT = 24, LAYERS = 2, WIDTH = 16, HEADS = 4, LONG = 21 };
static char dir[64];

static model_options small(void) {
    return (model_options){
        .seq = 8, .context = CONTEXT, .vocab = VOCAB, .layers = LAYERS, .width = WIDTH, .heads = HEADS};
}

static int begin(void **state) {
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/xt_gpt2_XXXXXX");
    xt_seed(3);
    return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    int failed = xt_finish();
    return system(command) || failed || live_get(LIVE_status) != 0 || live_get(LIVE_module) != 0;
}

static const char *in_dir(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void tokens_of(int32_t *narrow, int64_t *wide, int n) {
    for (int i = 0; i < n; i++) wide[i] = narrow[i] = (i * 7 + i * i) % VOCAB;
}

/* Logits [n,VOCAB] of one whole pass. */
static void whole_pass(xt_module *net, const int64_t *tokens, int n, float *out) {
    xt_eval(net);
    xt_no_grad_begin();
    xt_tensor y = xt_keep(xt_forward(net, xt_from_array(tokens, XT_I64, 1, n)));
    xt_mark_step();
    assert_true(xt_read(y, out, (size_t)n * VOCAB * sizeof *out));
    xt_drop(y);
    xt_no_grad_end();
    xt_train(net);
}

static void near(const float *got, const float *want, int n) {
    for (int i = 0; i < n; i++)
        if (!(fabsf(got[i] - want[i]) <= 1e-5f * (1 + fabsf(want[i]))))
            fail_msg("element %d is %.9g, expected %.9g", i, (double)got[i], (double)want[i]);
}

/* Weights large enough that attention looks at something. */
static xt_module *make(model_options *o) {
    xt_module *net = xt_module_new(model_gpt2.net, o);
    assert_null(xt_module_build(net, (xt_spec){XT_I64, {1, 1}}));
    xt_mark_step();
    xt_init_normal(net, "*.weight", .std = 0.3);
    return net;
}

/* --- the cache --- */
static void cache_gives_the_whole_pass(void **state) {
    (void)state;
    model_options o = small();
    xt_module *net = make(&o);
    generator *g;
    int32_t narrow[LONG];
    int64_t wide[LONG];
    float all[LONG][VOCAB], one[VOCAB];
    tokens_of(narrow, wide, LONG);
    whole_pass(net, wide, LONG, all[0]);
    assert_null(generator_new(net, &o, &g));
    for (int i = 0; i < LONG; i++) { /* token by token */
        assert_null(generator_feed(g, narrow + i, 1, i, one));
        near(one, all[i], VOCAB);
    }
    /* the same cache begun again: what stands behind is not seen */
    assert_null(generator_feed(g, narrow, GENERATE_CHUNK, 0, one));
    near(one, all[GENERATE_CHUNK - 1], VOCAB);
    assert_null(generator_feed(g, narrow + GENERATE_CHUNK, 1, GENERATE_CHUNK, one));
    near(one, all[GENERATE_CHUNK], VOCAB);
    assert_true(xt_is_training(net));
    assert_null(o.cache);
    whole_pass(net, wide, LONG, all[0]); /* the module still does whole passes */
    near(one, all[GENERATE_CHUNK], VOCAB);
    generator_free(g);
    xt_module_free(net);
}

typedef struct story {
    int64_t tokens[64];
    int n;
} story;

static bool take(int64_t token, void *user) {
    story *s = user;
    s->tokens[s->n++] = token;
    return s->n < 64;
}

static story tell(generator *g, int n, double temperature, int64_t top_k, uint64_t seed) {
    story s = {.n = 0};
    generate_stats st;
    int32_t prompt[LONG];
    int64_t wide[LONG];
    tokens_of(prompt, wide, LONG);
    assert_null(generate(g,
                         &(generate_opts){.prompt = prompt,
                                          .n_prompt = LONG,
                                          .tokens = n,
                                          .temperature = temperature,
                                          .top_k = top_k,
                                          .seed = seed,
                                          .stop = -1,
                                          .take = take,
                                          .user = &s},
                         &st));
    assert_int_equal(s.n, n);
    assert_int_equal(st.tokens, n);
    assert_int_equal(st.prompt_tokens, LONG);
    return s;
}

static void generates(void **state) {
    (void)state;
    model_options o = small();
    xt_module *net = make(&o);
    generator *g;
    assert_null(generator_new(net, &o, &g));
    story s = tell(g, 60, 0, 0, 1); /* beyond the context */
    int64_t before = xt_counter("compiles");
    /* without temperature the seed is nothing */
    assert_memory_equal(tell(g, 60, 0, 0, 2).tokens, s.tokens, 60 * sizeof *s.tokens);
    assert_memory_equal(tell(g, 60, 1, 1, 3).tokens, s.tokens, 60 * sizeof *s.tokens); /* the one likeliest */
    story warm = tell(g, 60, 1, 0, 4);
    assert_memory_equal(tell(g, 60, 1, 0, 4).tokens, warm.tokens, 60 * sizeof *s.tokens);
    assert_memory_not_equal(tell(g, 60, 1, 0, 5).tokens, warm.tokens, 60 * sizeof *s.tokens);
    /* one program a token, one a chunk of the prompt, and both are known */
    assert_int_equal(xt_counter("compiles"), before);
    /* The greedy text is what whole passes say, as long as the context holds. */
    int32_t narrow[LONG];
    int64_t text[CONTEXT];
    float all[CONTEXT][VOCAB];
    tokens_of(narrow, text, LONG);
    for (int n = LONG; n < CONTEXT; n++) {
        int best = 0;
        whole_pass(net, text, n, all[0]);
        for (int k = 1; k < VOCAB; k++)
            if (all[n - 1][k] > all[n - 1][best]) best = k;
        assert_int_equal(s.tokens[n - LONG], best);
        text[n] = best;
    }
    xt_status e = generate(g, &(generate_opts){.prompt = &(int32_t){VOCAB}, .n_prompt = 1, .tokens = 1}, NULL);
    assert_int_equal(xt_status_code(e), XT_INVALID_ARGUMENT);
    xt_status_free(e);
    generator_free(g);
    xt_module_free(net);
}

/* Positions behind the window are never used: the text is that of a model that has none. */
static void window_is_kept(void **state) {
    (void)state;
    model_options o = small(), narrow = small();
    o.window = narrow.context = 8;
    xt_module *net = make(&o), *cut = make(&narrow);
    generator *g, *h;
    for (int i = 0; i < xt_module_tensors(net); i++) { /* the same weights, fewer positions */
        xt_tensor from = xt_module_tensor(net, i), to = xt_module_tensor(cut, i);
        xt_assign(to, xt_slice(from, 0, 0, xt_dim(to, 0)));
    }
    xt_mark_step();
    assert_null(generator_new(net, &o, &g));
    assert_null(generator_new(cut, &narrow, &h));
    story a = {.n = 0}, b = {.n = 0};
    generate_opts how = {
        .prompt = (int32_t[]){1, 2, 3}, .n_prompt = 3, .tokens = 30, .stop = -1, .take = take, .user = &a};
    assert_null(generate(g, &how, NULL));
    how.user = &b;
    assert_null(generate(h, &how, NULL));
    assert_memory_equal(a.tokens, b.tokens, 30 * sizeof *a.tokens);
    generator_free(g);
    generator_free(h);
    xt_module_free(net);
    xt_module_free(cut);
}

static void top_k_leaves_the_rest_out(void **state) {
    (void)state;
    model_options o = small();
    xt_module *net = make(&o);
    generator *g;
    int32_t prompt[LONG];
    int64_t wide[LONG];
    float all[LONG][VOCAB];
    tokens_of(prompt, wide, LONG);
    whole_pass(net, wide, LONG, all[0]);
    assert_null(generator_new(net, &o, &g));
    bool seen[VOCAB] = {false};
    int different = 0;
    /* so warm that all three come */
    for (uint64_t seed = 0; seed < 24; seed++) seen[tell(g, 1, 100, 3, seed).tokens[0]] = true;
    for (int k = 0; k < VOCAB; k++) {
        int better = 0;
        for (int j = 0; j < VOCAB; j++) better += all[LONG - 1][j] > all[LONG - 1][k];
        if (seen[k]) assert_true(better < 3);
        different += seen[k];
    }
    assert_int_equal(different, 3);
    generator_free(g);
    xt_module_free(net);
}

/* --- files --- */
/* As transformers saves it: linear weights [in,out], a prefix, masks, and the output layer beside the embedding
 * it is tied to. */
static void save_as_hugging_face(xt_module *net, const char *path, const char *prefix) {
    st_writer *w;
    assert_null(st_create(path, &w));
    float *data[64] = {0};
    int64_t size[64];
    int n = xt_module_tensors(net);
    for (int i = 0; i < n; i++) {
        xt_tensor t = xt_module_tensor(net, i);
        char name[128];
        snprintf(name, sizeof name, "%s%s", prefix, xt_module_tensor_name(net, i));
        bool turned = xt_rank_of(t) == 2 && strstr(name, ".c_");
        int64_t r = xt_dim(t, 0), q = xt_rank_of(t) == 2 ? xt_dim(t, 1) : 1, dims[2] = {turned ? q : r, turned ? r : q};
        size[i] = r * q;
        data[i] = malloc((size_t)size[i] * sizeof(float));
        float *plain = malloc((size_t)size[i] * sizeof(float));
        assert_true(xt_read(t, plain, (size_t)size[i] * sizeof(float)));
        for (int64_t a = 0; a < r; a++)
            for (int64_t b = 0; b < q; b++) data[i][turned ? b * r + a : a * q + b] = plain[a * q + b];
        free(plain);
        assert_null(st_declare(w, name, XT_F32, xt_rank_of(t), dims));
    }
    char mask[64];
    snprintf(mask, sizeof mask, "%sh.0.attn.bias", prefix);
    assert_null(st_declare(w, mask, XT_F32, 2, (int64_t[]){2, 2}));
    for (int i = 0; i < n; i++) {
        assert_null(st_data(w, data[i], (size_t)size[i] * sizeof(float)));
        free(data[i]);
    }
    assert_null(st_data(w, (float[4]){1, 0, 1, 1}, 16));
    assert_null(st_commit(w));
}

static void hugging_face_loads(void **state) {
    (void)state;
    model_options o = small();
    xt_module *net = make(&o), *other;
    int32_t narrow[LONG];
    int64_t wide[LONG];
    float want[LONG][VOCAB], got[LONG][VOCAB];
    tokens_of(narrow, wide, LONG);
    whole_pass(net, wide, LONG, want[0]);
    for (int kind = 0; kind < 3; kind++) {
        const char *path = in_dir("model.safetensors");
        if (kind == 2)
            assert_null(xt_save(net, path));
        else
            save_as_hugging_face(net, path, kind ? "transformer." : "");
        other = xt_module_new(model_gpt2.net, &o);
        assert_null(gpt2_load(other, path));
        whole_pass(other, wide, LONG, got[0]);
        near(got[0], want[0], LONG * VOCAB);
        xt_module_free(other);
    }
    model_options larger = small();
    larger.layers = 3;
    other = xt_module_new(model_gpt2.net, &larger);
    xt_status s = gpt2_load(other, in_dir("model.safetensors"));
    assert_non_null(s);
    assert_non_null(strstr(xt_status_message(s), "missing, h.2.ln_1.weight the first"));
    xt_status_free(s);
    xt_module_free(other);
    xt_module_free(net);
}

static void configurations(void **state) {
    (void)state;
    model_options o = small(), read = {.heads = 2};
    char found[256];
    assert_null(gpt2_read_config(dir, &read)); /* none there: nothing changes */
    assert_int_equal(read.width, 0);
    assert_false(gpt2_find_weights(dir, found, sizeof found));
    assert_null(gpt2_write_config(dir, &o));
    assert_null(gpt2_read_config(dir, &read));
    assert_int_equal(read.heads, 2); /* what was asked for stays */
    assert_int_equal(read.width, WIDTH);
    assert_int_equal(read.vocab, VOCAB);
    assert_int_equal(read.context, CONTEXT);
    assert_int_equal(read.layers, LAYERS);
    assert_int_equal(read.window, 8); /* what it was trained on */
    FILE *f = fopen(in_dir("config.json"), "wb");
    fputs("{\"n_layer\": 2}", f);
    fclose(f);
    xt_status s = gpt2_read_config(dir, &(model_options){0});
    assert_non_null(strstr(xt_status_message(s), "no number \"vocab_size\""));
    xt_status_free(s);
}

/* --- options --- */
static void refused(const model *m, model_options o, const char *part) {
    char why[256] = "";
    assert_false(model_settle(m, &o, why, sizeof why));
    if (!strstr(why, part)) fail_msg("\"%s\" is not in: %s", part, why);
}

static void options(void **state) {
    (void)state;
    char why[256];
    model_options o = {.layers = 3};
    assert_true(model_settle(&model_gpt2, &o, why, sizeof why));
    assert_int_equal(o.layers, 3);
    assert_int_equal(o.width, 768);
    assert_int_equal(o.vocab, 50257);
    refused(&model_gpt2, (model_options){.heads = 7}, "width = 768, heads = 7; the heads must divide the width");
    refused(&model_gpt2, (model_options){.seq = 2048}, "seq = 2048, context = 1024");
    refused(&model_gpt2, (model_options){.side = 32}, "gpt2 has no option side");
    refused(&model_gpt2, (model_options){.layers = -1}, "layers = -1; from 1 to");
    refused(&model_gpt2, (model_options){.dropout = 1}, "from 0 to less than 1");
    refused(&model_resnet18, (model_options){.checkpoint = true}, "no blocks to checkpoint");
    refused(&model_mnist, (model_options){.small_stem = true}, "no stem");
    refused(&model_mnist, (model_options){.dropout = 0.5}, "no dropout");
    int n;
    const model *const *all = model_list(&n);
    for (int i = 0; i < n; i++) {
        model_options own = {0};
        assert_ptr_equal(model_find(all[i]->name), all[i]);
        assert_true(model_settle(all[i], &own, why, sizeof why));
    }
    assert_null(model_find("gpt3"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(cache_gives_the_whole_pass, begin, end),
        cmocka_unit_test_setup_teardown(generates, begin, end),
        cmocka_unit_test_setup_teardown(window_is_kept, begin, end),
        cmocka_unit_test_setup_teardown(top_k_leaves_the_rest_out, begin, end),
        cmocka_unit_test_setup_teardown(hugging_face_loads, begin, end),
        cmocka_unit_test_setup_teardown(configurations, begin, end),
        cmocka_unit_test(options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
