/* Llama's family against transformers: logits and gradients with the config.json of each, folders of shards, and
 * configurations that ask for what is not known. */
#include "configs.h"

#include "models/generate.h"
#include "models/llama.h"

static int begin(void **state) {
    (void)state;
    return configs_open("llama") ? 0 : -1;
}

static xt_status config_of(const cJSON *json, llama_config *out) {
    xt_status s = config_write(json, NULL, NULL);
    return s ? s : llama_read_config(config_path, out);
}
static xt_status read_any(const char *path) {
    llama_config c;
    return llama_read_config(path, &c);
}

static void whole(xt_module *m, const xt_tensor *x, xt_tensor *y, void *user) {
    y[0] = llama(m, x[0], user);
}

static void logits_and_gradients(void **state) {
    (void)state;
    parity_file *f = parity_open("llama");
    const cJSON *e;
    int n = 0;
    cJSON_ArrayForEach(e, configs) {
        llama_config c;
        assert_null(config_of(e, &c));
        parity_case(f, e->string, whole, &c, 1e-4, 1e-5);
        n++;
    }
    assert_int_equal(n, 6);
    parity_close_file(f);
}

/* The weights of a case as a folder of shards; what that folder's network gives for the case's tokens. */
static void a_folder_loads(void **state) {
    (void)state;
    llama_config c;
    char path[128], said[300];
    float logits[2 * 13 * 19];
    parity_file *f = parity_open("llama");
    assert_null(config_of(cJSON_GetObjectItem(configs, "qwen2"), &c));
    snprintf(path, sizeof path, "%s/model.safetensors", config_dir);
    assert_null(xt_convert_weights(PARITY_DIR "/llama.safetensors", path, .keep = "qwen2/w/*", .rename = "qwen2/w/*=*",
                                   .max_shard_size = 3000));
    assert_int_equal(access(path, F_OK), -1);
    xt_module *net = xt_module_new(llama, &c);
    xt_status s = llama_load(net, config_dir);
    if (s) fail_msg("%s", xt_status_message(s));
    const parity_tensor *x = parity_find(f, "qwen2/x0"), *y = parity_find(f, "qwen2/y0");
    assert_true(
        xt_read(xt_forward(net, xt_from_array((const int64_t *)x->data, XT_I64, 2, 13)), logits, sizeof logits));
    for (size_t i = 0; i < 2 * 13 * 19; i++) {
        float want = ((const float *)y->data)[i];
        if (!(fabsf(logits[i] - want) <= 1e-5f * (1 + fabsf(want)))) fail_msg("%zu: %g, %g", i, logits[i], want);
    }
    xt_module_free(net);
    parity_close_file(f);
    cJSON *deeper = cJSON_Duplicate(cJSON_GetObjectItem(configs, "qwen2"), true);
    cJSON_DeleteItemFromObjectCaseSensitive(deeper, "layer_types"); /* of two layers */
    assert_null(config_write(deeper, "num_hidden_layers", "3"));
    assert_null(llama_read_config(config_path, &c));
    cJSON_Delete(deeper);
    net = xt_module_new(llama, &c);
    s = llama_load(net, config_dir);
    snprintf(said, sizeof said, "%s", xt_status_message(s));
    xt_status_free(s);
    if (!strstr(said, "are missing, model.layers.2.")) fail_msg("%s", said);
    xt_module_free(net);
}

static int64_t likeliest(const float *logits) {
    int64_t best = 0;
    for (int64_t i = 1; i < 19; i++)
        if (logits[i] > logits[best]) best = i;
    return best;
}

typedef struct made {
    int64_t tokens[40];
    int n;
} made;
static bool take(int64_t token, void *user) {
    made *m = user;
    m->tokens[m->n++] = token;
    return true;
}

/* Greedy text by the cache, tokens one by one and in chunks, is that of whole passes, which is transformers'. */
static void the_cache_gives_whole_passes(void **state) {
    (void)state;
    parity_file *f = parity_open("llama");
    const cJSON *e;
    cJSON_ArrayForEach(e, configs) {
        llama_config c;
        model_options o;
        generator *g;
        char path[128], pattern[64], rename[80];
        float logits[40 * 19];
        int64_t wide[40] = {0};
        int32_t text[40];
        enum { PROMPT = 18, NEW = 20 }; /* a chunk, and then one by one */
        made got = {.n = 0};
        assert_null(config_of(e, &c));
        llama_generates(&c, 64, &o);
        snprintf(path, sizeof path, "%s/%s.safetensors", config_dir, e->string);
        snprintf(pattern, sizeof pattern, "%s/w/*", e->string);
        snprintf(rename, sizeof rename, "%s=*", pattern);
        assert_null(xt_convert_weights(PARITY_DIR "/llama.safetensors", path, .keep = pattern, .rename = rename));
        xt_module *net = xt_module_new(llama, &c);
        assert_null(llama_load(net, path));
        for (int i = 0; i < PROMPT; i++) wide[i] = text[i] = (i * 7 + i * i) % 19;
        assert_null(generator_new(net, &o, &g));
        generate_opts how = {.prompt = text, .n_prompt = PROMPT, .tokens = NEW, .stop = -1, .take = take, .user = &got};
        assert_null(generate(g, &how, NULL));
        generator_free(g);
        assert_int_equal(got.n, NEW);
        xt_eval(net);
        xt_no_grad_begin();
        for (int i = 0; i < NEW; i++) wide[PROMPT + i] = got.tokens[i];
        assert_true(xt_read(xt_forward(net, xt_from_array(wide, XT_I64, 1, 40)), logits, sizeof logits));
        xt_no_grad_end();
        for (int i = 0; i < NEW; i++)
            if (likeliest(logits + (PROMPT + i - 1) * 19) != got.tokens[i]) fail_msg("%s: token %d", e->string, i);
        xt_module_free(net);
    }
    parity_close_file(f);
}

static void unknown_configurations_say_so(void **state) {
    (void)state;
    static const config_row rows[] = {
        {"llama2", "model_type", "\"gemma\"", "\"gemma\" is not known"},
        {"llama2", "model_type", NULL, "\"(none)\" is not known"},
        {"llama2", "hidden_act", "\"gelu\"", "\"hidden_act\" is \"gelu\""},
        {"llama2", "vocab_size", NULL, "\"vocab_size\" is missing"},
        {"llama2", "hidden_size", "-8", "\"hidden_size\" is -8; a whole number from 1"},
        {"llama2", "num_hidden_layers", "1e300", "\"num_hidden_layers\" is 1e+300; a whole number"},
        {"llama3", "num_key_value_heads", "3", "must divide the first"},
        {"llama3", "head_dim", "3", "be even"},
        {"llama3", "rope_parameters", "{\"rope_type\":\"yarn\",\"rope_theta\":1e4,\"factor\":2}",
         "the positions \"yarn\" are not known"},
        {"llama3", "rope_parameters", "{\"rope_type\":\"llama3\",\"rope_theta\":1e4,\"factor\":2}",
         "the positions \"llama3\" have"},
        {"llama3", "rope_parameters", "{\"rope_theta\":-1}", "\"rope_theta\" is -1"},
        {"mistral", "sliding_window", "-2", "\"sliding_window\" is -2"},
        {"qwen2", "layer_types", "[\"sliding_attention\",\"full_attention\"]", "layer 1 has no window"}};
    configs_refused(rows, BASE_COUNT(rows), read_any);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(logits_and_gradients), cmocka_unit_test(a_folder_loads),
                                       cmocka_unit_test(the_cache_gives_whole_passes),
                                       cmocka_unit_test(unknown_configurations_say_so)};
    return cmocka_run_group_tests(tests, begin, configs_close);
}
