/* BERT's vocab.txt, a token a line: what transformers' slow tokenizers save, with their settings in
 * tokenizer_config.json. From both comes the tokenizer.json that transformers itself makes of them, which says what
 * the tokenizer does. */
#include <stdio.h>
#include <string.h>

#include <xtrain/program.h>

#include "models/tokenizers/json.h"
#include "models/tokenizers/model.h"
#include "models/tokenizers/parts.h"

/* unk: "[UNK]", {"content": "[UNK]", ...} or nothing. */
static const char *token_of(const cJSON *config, const char *key, const char *usual) {
    const cJSON *e = cJSON_GetObjectItemCaseSensitive(config, key);
    const char *text = cJSON_GetStringValue(cJSON_IsObject(e) ? cJSON_GetObjectItemCaseSensitive(e, "content") : e);
    return text ? text : usual;
}

/* Other models have a vocab.txt too, and cut text in other ways. */
static xt_status check_class(const cJSON *config) {
    static const char *const known[] = {"Bert", "DistilBert", "Electra", "MobileBert"};
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(config, "tokenizer_class"));
    if (!name) return NULL;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        size_t n = strlen(known[i]);
        if (strncmp(name, known[i], n) == 0 &&
            (strcmp(name + n, "Tokenizer") == 0 || strcmp(name + n, "TokenizerFast") == 0))
            return NULL;
    }
    return xt_status_new(XT_UNIMPLEMENTED,
                         "the tokenizer_class \"%.60s\" with a vocab.txt is not known; BertTokenizer and those of "
                         "DistilBert, Electra and MobileBert are: save a tokenizer.json (use_fast=True) instead",
                         name);
}

static void read_lines(cJSON *vocab, char *text, size_t n) {
    int id = 0;
    for (char *line = text, *end = text + n; line < end; id++) {
        char *stop = memchr(line, '\n', (size_t)(end - line)), *next = stop ? stop + 1 : end;
        if (!stop) stop = end;
        if (stop > line && stop[-1] == '\r') stop--;
        *stop = 0; /* xt_read_file leaves a 0 behind the text */
        cJSON_AddNumberToObject(vocab, line, id);
        line = next;
    }
}

static void add_flag(cJSON *to, const char *name, const cJSON *config, const char *key) {
    cJSON_AddBoolToObject(to, name, tok_read_flag(config, key, true));
}

static void add_tokens(cJSON *list, const cJSON *vocab, const cJSON *config, const char *const *special, int n) {
    const cJSON *e;
    cJSON_ArrayForEach(e, vocab) for (int i = 0; i < n; i++) {
        if (strcmp(e->string, special[i]) != 0) continue;
        cJSON *one = cJSON_CreateObject();
        cJSON_AddNumberToObject(one, "id", e->valuedouble);
        cJSON_AddStringToObject(one, "content", e->string);
        cJSON_AddTrueToObject(one, "special");
        cJSON_AddItemToArray(list, one);
    }
    /* those that were added behind the vocabulary */
    cJSON_ArrayForEach(e, cJSON_GetObjectItemCaseSensitive(config, "added_tokens_decoder")) {
        cJSON *one = cJSON_Duplicate(e, true);
        const char *content = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(one, "content"));
        bool there = !one;
        for (int i = 0; content && i < n; i++) there |= strcmp(content, special[i]) == 0;
        if (there) {
            cJSON_Delete(one);
            continue;
        }
        int id;
        if (sscanf(e->string, "%d", &id) == 1) cJSON_AddNumberToObject(one, "id", id);
        cJSON_AddItemToArray(list, one);
    }
}

static void add_pair(cJSON *to, const char *name, const cJSON *vocab, const char *token) {
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(vocab, token);
    cJSON *pair = cJSON_AddArrayToObject(to, name);
    cJSON_AddItemToArray(pair, cJSON_CreateString(token));
    if (id) cJSON_AddItemToArray(pair, cJSON_CreateNumber(id->valuedouble));
}

static cJSON *add_part(cJSON *to, const char *name, const char *type) {
    cJSON *part = cJSON_AddObjectToObject(to, name);
    cJSON_AddStringToObject(part, "type", type);
    return part;
}

/* Without memory a part is missing, and whoever reads it says so. */
static cJSON *made_of(char *text, size_t n, const cJSON *config) {
    const char *special[] = {token_of(config, "unk_token", "[UNK]"), token_of(config, "sep_token", "[SEP]"),
                             token_of(config, "pad_token", "[PAD]"), token_of(config, "cls_token", "[CLS]"),
                             token_of(config, "mask_token", "[MASK]")};
    cJSON *json = cJSON_CreateObject(), *model = add_part(json, "model", "WordPiece");
    cJSON *vocab = cJSON_AddObjectToObject(model, "vocab");
    read_lines(vocab, text, n);
    cJSON_AddStringToObject(model, "unk_token", special[0]);
    cJSON_AddStringToObject(model, "continuing_subword_prefix", "##");
    cJSON *normalizer = add_part(json, "normalizer", "BertNormalizer");
    add_flag(normalizer, "lowercase", config, "do_lower_case");
    add_flag(normalizer, "handle_chinese_chars", config, "tokenize_chinese_chars");
    const cJSON *accents = cJSON_GetObjectItemCaseSensitive(config, "strip_accents");
    if (cJSON_IsBool(accents)) add_flag(normalizer, "strip_accents", config, "strip_accents");
    add_part(json, "pre_tokenizer", "BertPreTokenizer");
    cJSON_AddStringToObject(add_part(json, "decoder", "WordPiece"), "prefix", "##");
    add_tokens(cJSON_AddArrayToObject(json, "added_tokens"), vocab, config, special,
               (int)(sizeof special / sizeof special[0]));
    cJSON *around = add_part(json, "post_processor", "BertProcessing");
    add_pair(around, "cls", vocab, special[3]);
    add_pair(around, "sep", vocab, special[1]);
    return json;
}

xt_status tok_vocab_txt_open(const char *dir, tok_json **out) {
    char path[4200], beside[4200], *text = NULL, *settings = NULL;
    size_t n = 0, n_settings = 0;
    *out = NULL;
    snprintf(path, sizeof path, "%s/vocab.txt", dir);
    snprintf(beside, sizeof beside, "%s/tokenizer_config.json", dir);
    XT_TRY(xt_read_file(path, &text, &n));
    xt_status s = xt_read_file(beside, &settings, &n_settings);
    if (s && xt_status_code(s) == XT_NOT_FOUND) { /* the usual ones */
        xt_status_free(s);
        s = NULL;
    }
    cJSON *config = settings ? cJSON_ParseWithLength(settings, n_settings) : NULL;
    if (!s && settings && !cJSON_IsObject(config)) s = xt_status_new(XT_DATA_LOSS, "%s is no JSON object", beside);
    if (!s) s = check_class(config);
    if (!s) {
        cJSON *json = made_of(text, n, config);
        s = tok_json_of(json, path, out);
        cJSON_Delete(json);
    }
    cJSON_Delete(config);
    xt_text_free(settings);
    xt_text_free(text);
    return s;
}
