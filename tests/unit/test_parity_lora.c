/* LoRA against peft: values and gradients, adapters in peft's folders both ways, merged weights, and what is trained.
 */
#include "parity.h"

#include <time.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <xtrain/program.h>

#include "base/base.h"
#include "models/folder.h"

static char dir[64];

static int begin(void **state) {
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/xt_lora_XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}
static int end(void **state) {
    char command[100];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command) | xt_finish();
}

static const char *in_dir(const char *name) {
    static char path[4][160];
    static int next;
    char *p = path[next++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", dir, name);
    return p;
}

static void ok(xt_status s) {
    if (s) fail_msg("%s", xt_status_message(s));
}

/* An error that says this, and is looked at. */
static void refused(xt_status s, const char *said) {
    if (!s) fail_msg("no error, where '%s' is to be said", said);
    if (!strstr(xt_status_message(s), said)) fail_msg("'%s' was not said: %s", said, xt_status_message(s));
    xt_status_free(s);
}

#define FN(name, ...)                                                              \
    static void name(xt_module *m, const xt_tensor *x, xt_tensor *y, void *user) { \
        (void)user;                                                                \
        __VA_ARGS__;                                                               \
        y[0] = xt_linear(m, "", x[0], 5);                                          \
    }
FN(plain, assert_true(xt_lora(m, "weight", .r = 3, .alpha = 5)))
FN(rslora, assert_true(xt_lora(m, "weight", .r = 2, .alpha = 3, .rslora = XT_ON)))

static void a_layer_is_pefts(void **state) {
    (void)state;
    parity_file *f = parity_open("lora");
    parity_case(f, "plain", plain, NULL, 0, 0);
    parity_case(f, "rslora", rslora, NULL, 0, 0);
    parity_close_file(f);
}

/* --- a small model of transformers' and an adapter of peft's --- */
static llama_config config;

static xt_module *base_model(const char *weights) {
    char *text;
    size_t n;
    ok(xt_read_file(PARITY_DIR "/llama.json", &text, &n));
    cJSON *all = cJSON_ParseWithLength(text, n);
    char *one = cJSON_Print(cJSON_GetObjectItem(all, "llama2"));
    ok(xt_write_file(in_dir("config.json"), one, strlen(one)));
    cJSON_free(one);
    cJSON_Delete(all);
    xt_text_free(text);
    ok(llama_read_config(in_dir("config.json"), &config));
    if (!weights)
        ok(xt_convert_weights(PARITY_DIR "/llama.safetensors", in_dir("model.safetensors"), .keep = "llama2/w/*",
                              .rename = "llama2/w/*=*"));
    xt_module *net = xt_module_new(llama, &config);
    ok(llama_load(net, weights ? weights : in_dir("model.safetensors")));
    return net;
}

static void logits_are(xt_module *net, const parity_file *f, double rtol) {
    const parity_tensor *x = parity_find(f, "adapter/x0");
    xt_eval(net);
    xt_tensor y = xt_keep(xt_forward(net, xt_from_array((const int64_t *)x->data, XT_I64, 2, 9)));
    assert_true(xt_mark_step());
    parity_close(f, "adapter/y0", y, rtol, 1e-5);
    xt_drop(y);
}

static void pefts_adapter_is_read(void **state) {
    (void)state;
    parity_file *f = parity_open("lora");
    xt_module *net = base_model(NULL);
    ok(xt_lora_load(net, PARITY_DIR "/lora_adapter"));
    logits_are(net, f, 1e-5);
    const parity_tensor *x = parity_find(f, "adapter/x0"), *y = parity_find(f, "adapter/labels");
    xt_tensor loss = xt_cross_entropy(xt_forward(net, xt_from_array((const int64_t *)x->data, XT_I64, 2, 9)),
                                      xt_from_array((const int64_t *)y->data, XT_I64, 2, 9), .axis = -1);
    xt_backward(loss);
    loss = xt_keep(loss);
    assert_true(xt_mark_step());
    parity_close(f, "adapter/loss", loss, 1e-5, 1e-6);
    xt_drop(loss);
    int adapted = 0;
    for (int i = 0; i < xt_module_tensors(net); i++) {
        const char *name = xt_module_tensor_name(net, i);
        char want[200];
        snprintf(want, sizeof want, "adapter/g/%s", name);
        xt_tensor g = xt_grad(xt_module_tensor(net, i));
        if (strstr(name, "lora_"))
            parity_close(f, want, g, 1e-4, 1e-6);
        else if (!xt_is_none(g))
            fail_msg("%s is frozen and has a gradient", name);
        adapted += strstr(name, "lora_") != NULL;
    }
    assert_int_equal(adapted, 2 * 2 * 3);
    xt_module_free(net);
    parity_close_file(f);
}

static void ours_is_read_again_and_merged(void **state) {
    (void)state;
    parity_file *f = parity_open("lora");
    xt_module *net = base_model(NULL);
    char *text;
    size_t n;
    ok(xt_lora_load(net, PARITY_DIR "/lora_adapter"));
    logits_are(net, f, 1e-5);
    ok(xt_lora_save(net, in_dir("new/adapter"), .base_model = "tiny"));
    xt_module_free(net);
    /* what peft reads: names of layers that are all adapted, and the numbers of those that differ */
    ok(xt_read_file(in_dir("new/adapter/adapter_config.json"), &text, &n));
    cJSON *json = cJSON_ParseWithLength(text, n);
    xt_text_free(text);
    const cJSON *targets = cJSON_GetObjectItem(json, "target_modules");
    assert_int_equal(cJSON_GetArraySize(targets), 3);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(targets, 0)), "q_proj");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(json, "rank_pattern")), 2);
    assert_int_equal(cJSON_GetNumberValue(cJSON_GetObjectItem(json, "r")), 4);
    assert_true(cJSON_GetNumberValue(cJSON_GetObjectItem(json, "lora_dropout")) == 0.1);
    cJSON_Delete(json);
    net = base_model(NULL);
    ok(xt_lora_load(net, in_dir("new/adapter")));
    logits_are(net, f, 1e-5);
    ok(xt_lora_load(net, PARITY_DIR "/lora_adapter")); /* over one that is there */
    logits_are(net, f, 1e-5);
    xt_module_free(net);
    ok(xt_convert_weights(in_dir("model.safetensors"), in_dir("merged.safetensors"), .merge = in_dir("new/adapter")));
    net = base_model(in_dir("merged.safetensors"));
    assert_int_equal(xt_module_next(net, "*lora*", 0), -1);
    logits_are(net, f, 1e-4);
    xt_module_free(net);
    parity_close_file(f);
}

/* Training moves the matrices alone, with dropout, beside weights of bf16: these stay what they are and the others are
 * f32; so are moments, where it is asked for. */
static void only_matrices_are_trained(void **state) {
    (void)state;
    for (int bf16 = 0; bf16 < 2; bf16++) {
        xt_module *net = base_model(NULL);
        uint16_t before[19 * 8], after[19 * 8];
        if (bf16) {
            xt_module_free(net);
            net = xt_module_new(llama, &config);
            ok(xt_module_set_dtype(net, XT_BF16));
            ok(llama_load(net, in_dir("model.safetensors")));
        }
        size_t size = bf16 ? sizeof before : 19 * 8 * 4;
        float wide[2][19 * 8];
        xt_tensor head = xt_module_find(net, "lm_head.weight");
        assert_true(xt_read(head, bf16 ? (void *)before : wide[0], size));
        assert_true(xt_lora(net, "*_proj.weight", .r = 2, .dropout = 0.2));
        xt_optimizer *opt = xt_adamw(net, .lr = 0.01);
        int64_t tokens[6] = {1, 2, 3, 4, 5, 6};
        float first = 0, last = 0;
        for (int i = 0; i < 12; i++) {
            xt_tensor x = xt_from_array(tokens, XT_I64, 1, 6);
            xt_tensor loss = xt_cross_entropy(xt_forward(net, x), x, .axis = -1);
            xt_backward(loss);
            xt_optimizer_step(opt);
            last = (float)xt_item(loss);
            if (!i) first = last;
        }
        assert_true(last < first);
        assert_int_equal(xt_optimizer_tensors(opt) - 1, 2 * 2 * 2 * 7); /* moments of A and B of 7 layers, twice */
        int a = xt_module_next(net, "*.lora_A.weight", 0);
        assert_int_equal(xt_dtype_of(xt_module_tensor(net, a)), XT_F32);
        assert_true(xt_read(head, bf16 ? (void *)after : wide[1], size));
        assert_memory_equal(bf16 ? (void *)before : wide[0], bf16 ? (void *)after : wide[1], size);
        xt_optimizer_free(opt);
        xt_module_free(net);
    }
}

static xt_tensor one_linear(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", xt_cast(x, xt_dtype_of(x)), 3);
}

static void moments_are_wider(void **state) {
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        xt_module *net = xt_module_new(one_linear, NULL);
        ok(xt_module_set_dtype(net, XT_BF16));
        xt_optimizer *opt = xt_adamw(net, .lr = 1e-3);
        if (wide) xt_optimizer_set_state_dtype(opt, XT_F32);
        xt_tensor x = xt_cast(xt_from_array(((float[]){1, 2, 3, 4}), XT_F32, 2, 2), XT_BF16);
        xt_backward(xt_mean(xt_square(xt_forward(net, x))));
        xt_optimizer_step(opt);
        assert_true(xt_mark_step());
        char name[64];
        int moments = 0;
        for (int i = 0; i < xt_optimizer_tensors(opt); i++) {
            snprintf(name, sizeof name, "%s", xt_optimizer_tensor_name(opt, i));
            if (!strstr(name, "exp_avg")) continue;
            assert_int_equal(xt_dtype_of(xt_optimizer_tensor(opt, i)), wide ? XT_F32 : XT_BF16);
            moments++;
        }
        assert_int_equal(moments, 4);
        assert_int_equal(xt_dtype_of(xt_module_find(net, "fc.weight")), XT_BF16);
        xt_optimizer_set_state_dtype(opt, XT_F32);
        assert_non_null(xt_error());
        assert_non_null(strstr(xt_status_message(xt_error()), "is there already; call it before the first step"));
        xt_clear_error();
        xt_optimizer_set_state_dtype(opt, XT_I32);
        assert_non_null(strstr(xt_status_message(xt_error()), "no float dtype"));
        xt_clear_error();
        xt_optimizer_free(opt);
        xt_module_free(net);
    }
}

/* --- what does not fit --- */
/* The adapter's folder again, with one thing changed. */
static void spoiled(const char *entry, const char *value, const char *keep, const char *rename) {
    char *text;
    size_t n;
    ok(xt_read_file(PARITY_DIR "/lora_adapter/adapter_config.json", &text, &n));
    cJSON *json = cJSON_ParseWithLength(text, n);
    xt_text_free(text);
    if (entry) cJSON_ReplaceItemInObjectCaseSensitive(json, entry, cJSON_Parse(value));
    text = cJSON_Print(json);
    ok(xt_write_file(in_dir("spoiled/adapter_config.json"), text, strlen(text)));
    cJSON_free(text);
    cJSON_Delete(json);
    ok(xt_convert_weights(PARITY_DIR "/lora_adapter/adapter_model.safetensors",
                          in_dir("spoiled/adapter_model.safetensors"), .leave_out = keep, .rename = rename));
}

static void what_does_not_fit_is_told(void **state) {
    (void)state;
    static const struct {
        const char *entry, *value, *leave_out, *rename, *said;
    } rows[] = {
        {"peft_type", "\"LOHA\"", NULL, NULL, "\"peft_type\" is \"LOHA\"; LORA is known"},
        {"use_dora", "true", NULL, NULL, "\"use_dora\" is set"},
        {"alora_invocation_tokens", "[1,2]", NULL, NULL, "\"alora_invocation_tokens\" is set"},
        {"init_lora_weights", "\"pissa\"", NULL, NULL, "\"init_lora_weights\" is \"pissa\""},
        {"r", "5", NULL, NULL, "\"r\" is 5"},
        {"lora_alpha", "null", NULL, NULL, "\"lora_alpha\" nan"},
        {"lora_dropout", "1.5", NULL, NULL, "\"lora_dropout\" is 1.5"},
        {"rank_pattern", "{\"mlp.down_proj\":3,\"down_proj\":2}", NULL, NULL, "\"r\" is 3"}, /* the first that fits */
        {"rank_pattern", "{\".*down_proj\":2}", NULL, NULL, "\"rank_pattern\" has \".*down_proj\"; names"},
        {"alpha_pattern", "{\"\":2}", NULL, NULL, "\"alpha_pattern\" has \"\"; names"},
        {NULL, NULL, "*0.self_attn.q_proj.lora_B*", NULL,
         "layers.0.self_attn.q_proj has a lora_A.weight and no lora_B"},
        {NULL, NULL, NULL, "*q_proj.lora_A.weight=*q_proj.lora_embedding_A", "q_proj.lora_embedding_A is neither"},
        {NULL, NULL, NULL, "*.layers.1.*=*.layers.7.*", "the module has no model.layers.7."},
        {NULL, NULL, NULL, "*q_proj.lora_A.weight=*q_proj.lora_B.weight,*q_proj.lora_B.weight=*q_proj.lora_A.weight",
         "its lora_A.weight has 8 rows"}};
    xt_module *net = base_model(NULL);
    ok(file_make_dirs(in_dir("spoiled"), 0777));
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        spoiled(rows[i].entry, rows[i].value, rows[i].leave_out, rows[i].rename);
        int before = xt_module_tensors(net);
        refused(xt_lora_load(net, in_dir("spoiled")), rows[i].said);
        assert_int_equal(xt_module_tensors(net), before);
    }
    spoiled(NULL, NULL, NULL, "*.layers.1.*=*.layers.7.*");
    refused(xt_convert_weights(in_dir("model.safetensors"), in_dir("none.safetensors"), .merge = in_dir("spoiled")),
            "is it another model's?");
    assert_int_equal(access(in_dir("none.safetensors"), F_OK), -1);
    refused(xt_lora_save(net, in_dir("none")), "no layer has an adapter");
    spoiled("rank_pattern", "{\"down_proj\":2,\"mlp.down_proj\":3,\"own_proj\":5,\".down_proj\":6}", NULL, NULL);
    ok(xt_lora_load(net, in_dir("spoiled")));
    xt_module_free(net);
    net = base_model(NULL);
    ok(xt_lora_load(net, PARITY_DIR "/lora_adapter"));
    xt_drop(xt_keep(xt_forward(net, xt_zeros(XT_I64, 1, 2))));
    spoiled("r", "4", NULL, "*.q_proj.*=*.k_proj.*");
    ok(xt_lora_load(net, in_dir("spoiled"))); /* other layers too */
    assert_false(xt_lora(net, "*", .r = 0));
    assert_non_null(strstr(xt_status_message(xt_error()), ".r = 0"));
    xt_clear_error();
    assert_false(xt_lora(net, "*", .dropout = 1));
    xt_clear_error();
    xt_module_free(net);
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A number of their own for each of many layers costs no more than the layers do. */
static void patterns_are_looked_up(void **state) {
    (void)state;
    enum { N = 30000 };
    str weights = STR_INIT, numbers = STR_INIT;
    str_append(&weights, "{");
    for (int i = 0; i < 2 * N; i++)
        str_printf(&weights, "%s\"l%d.lora_%c.weight\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[%d,%d]}",
                   i ? "," : "", i / 2, "AB"[i % 2], 4 * i, 4 * i + 4);
    str_append(&weights, "}");
    uint64_t header = weights.len;
    char *file = calloc(1, 8 + header + 8 * N);
    memcpy(file, &header, 8);
    memcpy(file + 8, weights.data, header);
    str_append(&numbers, "{\"peft_type\":\"LORA\",\"r\":2,\"lora_alpha\":2,\"rank_pattern\":{");
    for (int i = 0; i < N; i++) str_printf(&numbers, "%s\"l%d\":1", i ? "," : "", i);
    str_append(&numbers, "},\"alpha_pattern\":{");
    for (int i = 0; i < N; i++) str_printf(&numbers, "%s\"l%d\":3", i ? "," : "", i);
    str_append(&numbers, "}}");
    ok(file_make_dirs(in_dir("many"), 0777));
    ok(xt_write_file(in_dir("many/adapter_model.safetensors"), file, 8 + header + 8 * N));
    ok(xt_write_file(in_dir("many/adapter_config.json"), numbers.data, numbers.len));
    free(file);
    str_free(&weights);
    str_free(&numbers);
    xt_module *net = base_model(NULL);
    double began = seconds();
    refused(xt_lora_load(net, in_dir("many")), "the module has no l0.weight");
    double took = seconds() - began;
    if (took > 2) fail_msg("%d patterns for as many layers took %.1f s", 2 * N, took);
    xt_module_free(net);
}

/* A pattern that adapts nothing is warned of, and one that names a layer of another kind too. */
static xt_tensor with_norm(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", xt_layer_norm(m, "norm", x), 3);
}
static char told[2048];
static void sink(xt_severity severity, const char *message, size_t n, void *user) {
    (void)severity;
    (void)user;
    snprintf(told + strlen(told), sizeof told - strlen(told), "%.*s\n", (int)n, message);
}

static void patterns_that_adapt_nothing_are_told(void **state) {
    (void)state;
    static const char *const patterns[] = {"norm.weight", "fd.weight", "fc.weight"};
    for (int i = 0; i < 3; i++) {
        xt_module *net = xt_module_new(with_norm, NULL);
        told[0] = 0;
        xt_set_sink(sink, NULL);
        assert_true(xt_lora(net, patterns[i], .r = 2));
        ok(xt_module_build(net, (xt_spec){XT_F32, {2, 4}}));
        xt_set_sink(NULL, NULL);
        assert_true(!strstr(told, "no linear layer's weight has a name that fits") == (i == 2));
        xt_module_free(net);
    }
}

/* Of one whose layer no pass has called yet its own pattern is told, and nothing that the program has not said. */
static void layers_to_come(void **state) {
    (void)state;
    xt_module *net = xt_module_new(with_norm, NULL);
    told[0] = 0;
    xt_set_sink(sink, NULL);
    ok(xt_module_build(net, (xt_spec){XT_F32, {2, 4}}));
    assert_true(xt_lora(net, "out.weight", .r = 2));
    ok(xt_module_build(net, (xt_spec){XT_F32, {2, 4}}));
    xt_set_sink(NULL, NULL);
    if (!strstr(told, "xt_lora at ") || strstr(told, "xt_unfreeze")) fail_msg("%s", told);
    xt_tensor y = xt_linear(net, "out", xt_ones(XT_F32, 2, 4), 3);
    assert_true(isfinite(xt_item(xt_sum(y))));
    xt_mark_step();
    xt_module_free(net);
}

/* --- the pretrained model and the adapters, in any order --- */
enum { LOAD, ADAPT, PASS };
static xt_tensor two_linear(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "out", xt_relu(xt_linear(m, "fc", x, 64)), 4);
}
static double sum_of_pass(xt_module *m) {
    float x[2 * 64];
    for (int i = 0; i < 128; i++) x[i] = (float)(i * 7 % 11) / 11;
    double sum = xt_item(xt_sum(xt_forward(m, xt_from_array(x, XT_F32, 2, 64))));
    xt_mark_step();
    return sum;
}
static void in_order(xt_module *m, const int *calls, const char *path) {
    for (int i = 0; i < 4 && calls[i] >= 0; i++) {
        if (calls[i] == LOAD) ok(xt_load(m, path));
        if (calls[i] == ADAPT) assert_true(xt_lora(m, "fc.weight", .r = 2));
        if (calls[i] == PASS) sum_of_pass(m);
    }
}

static void adapters_begin_beside_what_is_loaded(void **state) {
    (void)state;
    static const int orders[][4] = {{LOAD, ADAPT, -1},       {ADAPT, LOAD, -1},       {LOAD, PASS, ADAPT, -1},
                                    {LOAD, ADAPT, PASS, -1}, {ADAPT, PASS, LOAD, -1}, {PASS, LOAD, ADAPT, -1},
                                    {PASS, ADAPT, LOAD, -1}, {ADAPT, LOAD, PASS, -1}};
    for (int narrow = 0; narrow < 2; narrow++) {
        xt_seed(5);
        xt_module *base = xt_module_new(two_linear, NULL);
        sum_of_pass(base);
        if (narrow) assert_int_equal(xt_quantize(base, "*.weight"), 2);
        double has = sum_of_pass(base);
        ok(xt_save(base, in_dir("base")));
        xt_module_free(base);
        for (size_t i = 0; i < BASE_COUNT(orders); i++) {
            xt_seed(9);
            xt_module *m = xt_module_new(two_linear, NULL);
            in_order(m, orders[i], in_dir("base"));
            double sum = sum_of_pass(m);
            if (sum != has) fail_msg("order %zu gives %.9g, not %.9g", i, sum, has);
            xt_optimizer *o = xt_sgd(m, .lr = 0.01);
            xt_backward(xt_mean(xt_square(xt_forward(m, xt_ones(XT_F32, 2, 64)))));
            xt_optimizer_step(o);
            xt_mark_step();
            assert_true(sum_of_pass(m) != has);
            assert_true(xt_item(xt_sum(xt_abs(xt_module_find(m, "fc.lora_B.weight")))) > 0);
            double trained = sum_of_pass(m);
            ok(xt_save(m, in_dir("adapted")));
            xt_optimizer_free(o);
            xt_module_free(m);
            if (orders[i][0] == PASS && orders[i][1] == LOAD) continue; /* what is there has no place for adapters */
            m = xt_module_new(two_linear, NULL); /* what is written with adapters is read with them */
            in_order(m, orders[i], in_dir("adapted"));
            if (sum_of_pass(m) != trained) fail_msg("order %zu does not read the adapters", i);
            xt_module_free(m);
        }
    }
    /* a file with adapters of another layer alone is of another model than this */
    xt_module *m = xt_module_new(two_linear, NULL);
    assert_true(xt_lora(m, "*.weight", .r = 2));
    ok(xt_load(m, in_dir("adapted")));
    xt_forward(m, xt_ones(XT_F32, 2, 64));
    assert_non_null(xt_error());
    assert_non_null(strstr(xt_status_message(xt_error()), "holds no tensor out.lora_A.weight"));
    xt_clear_error();
    xt_module_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layer_is_pefts),
        cmocka_unit_test(pefts_adapter_is_read),
        cmocka_unit_test(ours_is_read_again_and_merged),
        cmocka_unit_test(only_matrices_are_trained),
        cmocka_unit_test(moments_are_wider),
        cmocka_unit_test(what_does_not_fit_is_told),
        cmocka_unit_test(patterns_that_adapt_nothing_are_told),
        cmocka_unit_test(layers_to_come),
        cmocka_unit_test(adapters_begin_beside_what_is_loaded),
        cmocka_unit_test(patterns_are_looked_up),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
