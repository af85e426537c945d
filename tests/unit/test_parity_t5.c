/* T5 against transformers: logits and gradients with the config.json of each, texts that it says by the cache, alone
 * and beside others, and configurations that ask for what is not known. */
#include "configs.h"

#include "models/generate.h"
#include "models/t5.h"

enum { VOCAB = 23, SOURCE = 15, TEXTS = 3, MADE = 20 };

static int begin(void **state) {
    (void)state;
    return configs_open("t5") ? 0 : -1;
}

static xt_status config_of(const cJSON *json, t5_config *out) {
    xt_status s = config_write(json, NULL, NULL);
    return s ? s : t5_read_config(config_path, out);
}
static xt_status read_any(const char *path) {
    t5_config c;
    return t5_read_config(path, &c);
}

static void whole(xt_module *m, const xt_tensor *x, xt_tensor *y, void *user) {
    y[0] = t5(m, x[0], user);
}

/* What is tied is the file's to say (t5_find_tied). */
static void config_in(const parity_file *f, const cJSON *e, t5_config *out) {
    assert_null(config_of(e, out));
    out->tied = !parity_find(f, "%s/w/lm_head.weight", e->string);
    out->source = SOURCE;
}

/* More exactly than gradients, for which the scores' exponentials differ in their last digits. */
static void expect_logits(const parity_file *f, const char *name, t5_config *c) {
    char what[64];
    xt_module *net = xt_module_new(t5, c);
    parity_weights(f, name, net);
    snprintf(what, sizeof what, "%s/x0", name);
    xt_tensor y = xt_forward(net, parity_input(f, what));
    snprintf(what, sizeof what, "%s/y0", name);
    parity_close(f, what, y, 1e-5, 0);
    xt_mark_step();
    xt_module_free(net);
}

static void logits_and_gradients(void **state) {
    (void)state;
    parity_file *f = parity_open("t5");
    const cJSON *e;
    int n = 0;
    cJSON_ArrayForEach(e, configs) {
        t5_config c;
        config_in(f, e, &c);
        for (int checkpoint = 0; checkpoint < 2; checkpoint++, n++) {
            c.checkpoint = checkpoint;
            parity_case(f, e->string, whole, &c, 1e-4, 1e-5);
        }
        expect_logits(f, e->string, &c);
    }
    assert_int_equal(n, 6);
    parity_close_file(f);
}

typedef struct made {
    int64_t tokens[MADE];
    int n;
} made;
static bool take(int64_t token, void *user) {
    made *m = user;
    m->tokens[m->n++] = token;
    return true;
}

static generate_opts opts_of(const parity_file *f, const char *name, int i, int32_t *prompt, made *out) {
    const parity_tensor *x = parity_find(f, "%s/x0", name);
    const int64_t *row = (const int64_t *)x->data + i * x->type->dims[1];
    size_t n = 0;
    while (n < SOURCE && row[n] >= 0) n++;
    for (size_t k = 0; k < n; k++) prompt[k] = (int32_t)row[k];
    *out = (made){.n = 0};
    return (generate_opts){.prompt = prompt, .n_prompt = n, .tokens = MADE, .stop = -1, .take = take, .user = out};
}

static void expect_made(const parity_file *f, const char *name, int i, const made *m) {
    const int64_t *want = (const int64_t *)parity_find(f, "%s/made", name)->data + i * MADE;
    assert_int_equal(m->n, MADE);
    for (int k = 0; k < MADE; k++)
        if (m->tokens[k] != want[k])
            fail_msg("%s, text %d, token %d: %lld, there %lld", name, i, k, (long long)m->tokens[k],
                     (long long)want[k]);
}

/* Greedy texts are transformers', alone and when they begin one behind the other. */
static void texts_by_the_cache(void **state) {
    (void)state;
    parity_file *f = parity_open("t5");
    const cJSON *e;
    cJSON_ArrayForEach(e, configs) {
        t5_config c;
        model_options o;
        generator *g;
        int32_t prompts[TEXTS][SOURCE];
        generate_opts opts[TEXTS];
        made m[TEXTS];
        int64_t place;
        config_in(f, e, &c);
        t5_generates(&c, 64, &o);
        xt_module *net = xt_module_new(t5, &c);
        parity_weights(f, e->string, net);
        assert_null(xt_module_build(net, (xt_spec){XT_I64, {1, SOURCE + 1}}));
        for (int i = 0; i < TEXTS; i++) {
            opts[i] = opts_of(f, e->string, i, prompts[i], &m[i]);
            assert_null(generator_new(net, &o, &g));
            assert_null(generate(g, &opts[i], NULL));
            generator_free(g);
            expect_made(f, e->string, i, &m[i]);
        }
        assert_null(generator_new_for(net, &o, 2, 40, &g));
        for (int i = 0; i < TEXTS; i++) {
            opts[i] = opts_of(f, e->string, i, prompts[i], &m[i]);
            while (generator_busy(g) == 2) assert_null(generator_advance(g));
            assert_null(generator_begin(g, &opts[i], &place));
            for (int k = 0; k < 3; k++) assert_null(generator_advance(g));
        }
        while (generator_busy(g)) assert_null(generator_advance(g));
        for (int i = 0; i < TEXTS; i++) expect_made(f, e->string, i, &m[i]);
        generator_free(g);
        xt_module_free(net);
    }
    parity_close_file(f);
}

static void what_is_not_known(void **state) {
    (void)state;
    static const config_row rows[] = {
        {"tied", "vocab_size", NULL, "\"vocab_size\" is missing"},
        {"tied", "d_model", "\"8\"", "\"d_model\" is \"8\""},
        {"tied", "d_kv", "0", "\"d_kv\" is 0"},
        {"tied", "num_layers", "-1", "num_layers"},
        {"tied", "relative_attention_num_buckets", "6", "a multiple of 4"},
        {"tied", "relative_attention_max_distance", "4", "more than half"},
        {"tied", "dropout_rate", "1", "dropout_rate"},
        {"tied", "layer_norm_epsilon", "0", "layer_norm_epsilon"},
        {"tied", "feed_forward_proj", "\"gated-mish\"", "\"gated-mish\"; relu, gelu"},
        {"tied", "feed_forward_proj", "3", "\"feed_forward_proj\" is 3"},
        {"tied", "tie_word_embeddings", "1", "tie_word_embeddings"},
        {"tied", "is_encoder_decoder", "false", "is_encoder_decoder"},
        {"tied", "decoder_start_token_id", "23", "decoder_start_token_id"},
        {"tied", "eos_token_id", "\"x\"", "eos_token_id"},
        {"tied", "quantization_config", "{}", "weights quantised by \"(none)\" are not read"},
        {"gated", "model_type", "\"longt5\"", "\"longt5\" is not known"}};
    configs_refused(rows, BASE_COUNT(rows), read_any);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(logits_and_gradients), cmocka_unit_test(texts_by_the_cache),
                                       cmocka_unit_test(what_is_not_known)};
    return cmocka_run_group_tests(tests, begin, configs_close);
}
