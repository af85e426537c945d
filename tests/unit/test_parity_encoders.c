/* BERT and ViT against transformers: logits and gradients with the config.json of each, and configurations that ask for
 * what is not known. */
#include "configs.h"

#include "models/encoder.h"

static int begin(void **state) {
    (void)state;
    return configs_open("encoders") ? 0 : -1;
}

static xt_status config_of(const cJSON *json, encoder_config *out) {
    xt_status s = config_write(json, NULL, NULL);
    return s ? s : encoder_read_config(config_path, out);
}
static xt_status read_any(const char *path) {
    encoder_config c;
    return encoder_read_config(path, &c);
}

static void whole(xt_module *m, const xt_tensor *x, xt_tensor *y, void *user) {
    const encoder_config *c = user;
    y[0] = (c->vit ? vit : bert)(m, x[0], user);
}

static void logits_and_gradients(void **state) {
    (void)state;
    parity_file *f = parity_open("encoders");
    const cJSON *e;
    int n = 0;
    cJSON_ArrayForEach(e, configs) {
        encoder_config c;
        assert_null(config_of(e, &c));
        for (int checkpoint = 0; checkpoint < 2; checkpoint++, n++) {
            c.checkpoint = checkpoint;
            parity_case(f, e->string, whole, &c, 1e-5, 1e-5);
        }
    }
    assert_int_equal(n, 10);
    parity_close_file(f);
}

static void what_is_not_known(void **state) {
    (void)state;
    static const config_row rows[] = {
        {"masked", "vocab_size", NULL, "\"vocab_size\" is missing"},
        {"masked", "hidden_size", "\"8\"", "\"hidden_size\" is \"8\""},
        {"masked", "num_attention_heads", "3", "does not divide"},
        {"masked", "hidden_dropout_prob", "1.5", "hidden_dropout_prob"},
        {"masked", "hidden_act", "\"swish\"", "\"hidden_act\" is \"swish\""},
        {"masked", "position_embedding_type", "\"relative_key\"", "position_embedding_type"},
        {"masked", "is_decoder", "true", "is_decoder"},
        {"masked", "tie_word_embeddings", "false", "tie_word_embeddings"},
        {"masked", "model_type", "\"roberta\"", "\"roberta\" is not known"},
        {"texts", "id2label", "[1]", "id2label"},
        {"images", "patch_size", "4", "does not divide"},
        {"images", "image_size", "0", "\"image_size\" is 0"},
        {"images", "qkv_bias", "1", "qkv_bias"}};
    configs_refused(rows, BASE_COUNT(rows), read_any);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(logits_and_gradients), cmocka_unit_test(what_is_not_known)};
    return cmocka_run_group_tests(tests, begin, configs_close);
}
