/* Which model a tokenizer.json has, and what all of them read: the vocabulary, the unknown token, bytes. */
#include "models/tokenizers/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tok_model_free(tok_model *m) {
    tok_vocab_free(&m->vocab);
    tok_prefixes_free(&m->prefixes);
    free(m->prefix);
    free(m->suffix);
    free(m->merges);
    free(m->scores);
    *m = (tok_model){0};
}

static xt_status read_vocab(tok_model *m, const cJSON *vocab) {
    const cJSON *e;
    int64_t n = 0;
    if (!cJSON_IsObject(vocab))
        return xt_status_new(XT_DATA_LOSS, "the model's \"vocab\" is no object of tokens and their numbers");
    cJSON_ArrayForEach(e, vocab) {
        if (!cJSON_IsNumber(e) || !(e->valuedouble >= 0 && e->valuedouble < TOK_MOST_IDS))
            return xt_status_new(XT_DATA_LOSS, "the token \"%.60s\" has no number from 0 to %d", e->string,
                                 TOK_MOST_IDS - 1);
        if ((int64_t)e->valuedouble >= n) n = (int64_t)e->valuedouble + 1;
    }
    XT_TRY(tok_vocab_begin(&m->vocab, n));
    cJSON_ArrayForEach(e, vocab) XT_TRY(tok_vocab_put(&m->vocab, (int64_t)e->valuedouble, e->string));
    return NULL;
}

static xt_status read_scored(tok_model *m, const cJSON *vocab) {
    const cJSON *e;
    int64_t id = 0;
    if (!cJSON_IsArray(vocab)) return xt_status_new(XT_DATA_LOSS, "a Unigram's \"vocab\" is no list");
    XT_TRY(tok_vocab_begin(&m->vocab, cJSON_GetArraySize(vocab)));
    m->scores = calloc((size_t)m->vocab.n + 1, sizeof *m->scores);
    if (!m->scores) return xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for a vocabulary");
    m->least_score = 1e300;
    cJSON_ArrayForEach(e, vocab) {
        const cJSON *score = cJSON_GetArrayItem(e, 1);
        const char *text = cJSON_GetStringValue(cJSON_GetArrayItem(e, 0));
        if (!text || !cJSON_IsNumber(score))
            return xt_status_new(XT_DATA_LOSS, "entry %lld of a Unigram's vocabulary is no pair of a text and a score",
                                 (long long)id);
        m->scores[id] = score->valuedouble;
        if (score->valuedouble < m->least_score) m->least_score = score->valuedouble;
        XT_TRY(tok_vocab_put(&m->vocab, id++, text));
    }
    return NULL;
}

static xt_status read_unknown(tok_model *m, const cJSON *json) {
    const cJSON *token = cJSON_GetObjectItemCaseSensitive(json, "unk_token"),
                *id = cJSON_GetObjectItemCaseSensitive(json, "unk_id");
    m->unknown = -1;
    if (cJSON_IsString(token)) {
        m->unknown = tok_vocab_find(&m->vocab, token->valuestring, strlen(token->valuestring));
        if (m->unknown < 0)
            return xt_status_new(XT_DATA_LOSS, "the unknown token \"%.60s\" is not in the vocabulary",
                                 token->valuestring);
    } else if (cJSON_IsNumber(id)) {
        if (!(id->valuedouble >= 0 && id->valuedouble < (double)m->vocab.n))
            return xt_status_new(XT_DATA_LOSS, "unk_id is %g; the vocabulary has %lld tokens", id->valuedouble,
                                 (long long)m->vocab.n);
        m->unknown = (int32_t)id->valuedouble;
    }
    return NULL;
}

bool tok_push_bytes(const tok_model *m, tok_text text, tok_ids *out) {
    if (!m->byte_fallback) return false;
    for (size_t i = 0; i < text.n; i++)
        if (m->byte_ids[(unsigned char)text.data[i]] < 0) return false;
    for (size_t i = 0; i < text.n; i++) tok_push_id(out, m->byte_ids[(unsigned char)text.data[i]]);
    return true;
}

static xt_status read_affix(char **out, const cJSON *json, const char *name) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, name));
    *out = strdup(text ? text : "");
    return *out ? NULL : xt_status_new(XT_RESOURCE_EXHAUSTED, "no memory for a tokenizer");
}

xt_status tok_model_read(tok_model *m, const cJSON *json) {
    static const struct {
        const char *type;
        xt_status (*read)(tok_model *m, const cJSON *json);
    } kinds[] = {{"BPE", tok_bpe_read},
                 {"WordPiece", tok_word_piece_read},
                 {"Unigram", tok_unigram_read},
                 {"WordLevel", tok_word_level_read}};
    const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "type"));
    const cJSON *vocab = cJSON_GetObjectItemCaseSensitive(json, "vocab");
    if (!type) /* older files do not say it */
        type = cJSON_GetObjectItemCaseSensitive(json, "merges")                     ? "BPE"
               : cJSON_IsArray(vocab)                                               ? "Unigram"
               : cJSON_GetObjectItemCaseSensitive(json, "max_input_chars_per_word") ? "WordPiece"
                                                                                    : "WordLevel";
    *m = (tok_model){.unknown = -1};
    XT_TRY(cJSON_IsArray(vocab) ? read_scored(m, vocab) : read_vocab(m, vocab));
    XT_TRY(read_unknown(m, json));
    XT_TRY(read_affix(&m->prefix, json, "continuing_subword_prefix"));
    XT_TRY(read_affix(&m->suffix, json, "end_of_word_suffix"));
    m->byte_fallback = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "byte_fallback"));
    m->fuse_unknown = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "fuse_unk"));
    m->ignore_merges = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "ignore_merges"));
    for (int i = 0; i < 256; i++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", i);
        m->byte_ids[i] = tok_vocab_find(&m->vocab, name, 6);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].type, type) == 0) return kinds[i].read(m, json);
    return xt_status_new(XT_UNIMPLEMENTED,
                         "the model \"%.40s\" is not known; BPE, WordPiece, Unigram and WordLevel are", type);
}
