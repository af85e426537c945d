/* BERT and ViT against transformers: logits and gradients with the config.json of each, and configurations that ask for
 * what is not known. */
#include "parity.h"

#include <unistd.h>

#include <cjson/cJSON.h>
#include <xtrain/program.h>

#include "models/encoder.h"

static char path[64];
static cJSON *configs;

static int begin(void **state) {
    char *text;
    size_t n;
    (void)state;
    snprintf(path, sizeof path, "/tmp/xt_encoders_%d.json", (int)getpid());
    if (xt_read_file(PARITY_DIR "/encoders.json", &text, &n)) return -1;
    configs = cJSON_ParseWithLength(text, n);
    xt_text_free(text);
    return configs ? 0 : -1;
}
static int end(void **state) {
    (void)state;
    cJSON_Delete(configs);
    unlink(path);
    return xt_finish();
}

/* `entry` (NULL: none) with another value. */
static xt_status config_of(const cJSON *json, const char *entry, const char *value, encoder_config *out) {
    cJSON *copy = cJSON_Duplicate(json, true);
    if (entry) cJSON_DeleteItemFromObjectCaseSensitive(copy, entry);
    if (entry && value) cJSON_AddItemToObject(copy, entry, cJSON_Parse(value));
    char *text = cJSON_Print(copy);
    xt_status s = xt_write_file(path, text, strlen(text));
    cJSON_free(text);
    cJSON_Delete(copy);
    return s ? s : encoder_read_config(path, out);
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
        assert_null(config_of(e, NULL, NULL, &c));
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
    static const struct {
        const char *of, *entry, *value, *said;
    } rows[] = {{"masked", "vocab_size", NULL, "\"vocab_size\" is missing"},
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
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        encoder_config c;
        xt_status s =
            config_of(cJSON_GetObjectItemCaseSensitive(configs, rows[i].of), rows[i].entry, rows[i].value, &c);
        const char *said = s ? xt_status_message(s) : "no error";
        if (!s || !strstr(said, rows[i].said) || !strstr(said, path)) fail_msg("%s: %s", rows[i].entry, said);
        xt_status_free(s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(logits_and_gradients), cmocka_unit_test(what_is_not_known)};
    return cmocka_run_group_tests(tests, begin, end);
}
